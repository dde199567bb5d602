"""/api/events, /api/changes, /api/held, /api/misattributed, /api/trace: events, problems, and a ticket's history."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime

from producer.admin.people.misattributed import WrongAuthor, with_names
from producer.admin.people.misattributed import misattributed as find_misattributed
from producer.admin.presenters.shapes import EventAbout, OnHoldAbout
from producer.admin.queries.changes import Change, codes_of, latest_changes
from producer.admin.queries.events import EventFilter, event_about, latest_events
from producer.admin.queries.story import Trace, trace_ticket
from producer.admin.review.held import on_hold_about
from producer.console.api.routes import Newest, api_router
from producer.console.auth.answers import Id, WithServices
from producer.http.problems import refusals
from shared.store.configuration.changes import WantedChanges

router = api_router("/api", "journal")


@router.get("/events")
def events(
    services: WithServices, asked: Annotated[EventFilter, Query()], page: Annotated[Newest, Query()]
) -> list[EventAbout]:
    """List events and their results, newest first."""
    found = latest_events(services, asked.wanted(), limit=page.limit, below=page.below)
    return [event_about(*one) for one in found]


@router.get("/changes")
def changes(
    services: WithServices,
    *,
    who: Annotated[str, Query(max_length=200, description="Part of the user's name.")] = "",
    what: Annotated[
        str,
        Query(max_length=64, description="A code, or a subject such as settings, links, people or accounts."),
    ] = "",
    since: Annotated[AwareDatetime | None, Query(description="At this time or later.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="At this time or earlier.")] = None,
    page: Annotated[Newest, Query()],
) -> list[Change]:
    """List changes by users, newest first: who, what, and the values before and after."""
    codes = codes_of(what)
    if what and not codes:
        return []
    wanted = WantedChanges(who, codes, since, until)
    found = latest_changes(services.store, limit=page.limit, below=page.below, wanted=wanted)
    return [Change.of(one) for one in found]


@router.get("/held")
def held(services: WithServices) -> list[OnHoldAbout]:
    """List the creations on hold, oldest first."""
    return on_hold_about(services)


@router.get("/misattributed")
def misattributed(services: WithServices) -> list[WrongAuthor]:
    """List issues and time entries with another author in Redmine than intended, newest first."""
    return with_names(services.names, find_misattributed(services.store))


@router.get("/trace/{ticket_id}", responses=refusals(404))
def trace(services: WithServices, ticket_id: Id) -> Trace:
    """Show the history of a ticket: every step and its reason."""
    return Trace.of(trace_ticket(services.store, ticket_id, services.redis))
