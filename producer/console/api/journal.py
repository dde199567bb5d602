"""/api/events, /api/held, /api/misattributed, /api/trace: what came in, waits, or went wrong; one ticket's story."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import AwareDatetime

from producer.admin.people.misattributed import WrongAuthor, with_names
from producer.admin.people.misattributed import misattributed as find_misattributed
from producer.admin.presenters.shapes import EventAbout, OnHoldAbout
from producer.admin.queries.changes import Change, codes_of, latest_changes
from producer.admin.queries.events import Last, event_about, latest_events, wanted_events
from producer.admin.queries.story import Trace, trace_ticket
from producer.admin.review.held import rows_on_hold
from producer.console.api.routes import api_router
from producer.console.auth.answers import Id, WithServices
from producer.http.problems import refusals
from shared.events.event import DeletionName, EventName
from shared.store.configuration.changes import WantedChanges
from shared.store.tables.journal import EventState
from shared.values.ids import LARGEST

router = api_router("/api", "journal")
EventKind = Literal[EventName, DeletionName, "unreadable"]


@router.get("/events")
def events(
    services: WithServices,
    state: Annotated[EventState | None, Query(description="Only events in this state.")] = None,
    ticket: Annotated[int | None, Query(ge=1, le=LARGEST, description="Only events of this ticket.")] = None,
    kind: Annotated[EventKind | None, Query(description="Only events of this kind.")] = None,
    person: Annotated[
        str, Query(max_length=200, description="Who is named: number, or part of the e-mail or name.")
    ] = "",
    place: Annotated[
        str,
        Query(
            max_length=200, description="Where the ticket is: `entity:77`, `project:9`, or part of a name."
        ),
    ] = "",
    cause: Annotated[str, Query(max_length=64, description="The code of the reason.")] = "",
    last: Annotated[Last | None, Query(description="Came in within this time.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Came in not before this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Came in not after this time.")] = None,
    below: Annotated[int | None, Query(ge=1, le=LARGEST, description="Only events with a lower id.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> list[EventAbout]:
    """List events, newest first, and what became of them."""
    wanted = wanted_events(
        state=state,
        ticket_id=ticket,
        kind=kind,
        person=person,
        place=place,
        cause=cause,
        last=last,
        since=since,
        until=until,
    )
    return [event_about(*one) for one in latest_events(services, wanted, limit=limit, below=below)]


@router.get("/changes")
def changes(
    services: WithServices,
    who: Annotated[str, Query(max_length=200, description="Part of the name of who made it.")] = "",
    what: Annotated[
        str, Query(max_length=64, description="A code, or a subject: settings, links, people, accounts …")
    ] = "",
    since: Annotated[AwareDatetime | None, Query(description="Not before this time.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Not after this time.")] = None,
    below: Annotated[int | None, Query(ge=1, le=LARGEST, description="Only changes with a lower id.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> list[Change]:
    """List what people changed, newest first: who, what, before and after."""
    codes = codes_of(what)
    if what and not codes:
        return []
    wanted = WantedChanges(who, codes, since, until)
    found = latest_changes(services.store, limit=limit, below=below, wanted=wanted)
    return [Change.of(one) for one in found]


@router.get("/held")
def held(services: WithServices) -> list[OnHoldAbout]:
    """List what waits for a person, those waiting longest first."""
    rows = rows_on_hold(services.store)
    titles = services.names.titles({row.ticket_id for _, row in rows})
    return [OnHoldAbout.named(kind, row, titles) for kind, row in rows]


@router.get("/misattributed")
def misattributed(services: WithServices) -> list[WrongAuthor]:
    """List issues and time entries that have another author on the tracker than was meant, the newest first."""
    return with_names(services.names, find_misattributed(services.store))


@router.get("/trace/{ticket_id}", responses=refusals(404))
def trace(services: WithServices, ticket_id: Id) -> Trace:
    """Return everything that happened to a ticket, and why."""
    return Trace.of(trace_ticket(services.store, ticket_id, services.redis))
