"""A ticket's history: where its hours are, why, and what to do."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.backfill import replay as events
from producer.admin.queries.story import destination, names_of, trace_ticket
from producer.admin.review.forgotten_links import forget_link
from producer.admin.review.undo import take_back, unused_adoptions
from producer.console.auth.answers import Id, WithServices
from producer.console.pages.parts import Form, fixes, go, page_router, show
from producer.console.rendering.attempts import attempts, is_bad, is_probe
from producer.http.problems import Problem
from shared.errors import NotFound
from shared.events.config import HELPDESK_STATUSES
from shared.events.place import place_of
from shared.notices.access import AccessRefusal
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.steps import What
from shared.store.configuration.mappings import ProjectMapping
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState

router = page_router()


@router.get("/tickets/{ticket_id}")
def ticket(request: Request, services: WithServices, ticket_id: Id) -> Response:
    """Show everything that is known about a ticket."""
    try:
        found = trace_ticket(services.store, ticket_id, services.redis)
    except NotFound:
        return show(request, "ticket_unknown", status=404, ticket_id=ticket_id)
    snapshot: dict[str, Any] = found.state.snapshot if found.state else {}
    place = destination(services.store, found)
    body = next(
        (one.notice for one in reversed(found.steps) if one.notice.code == What.BODY_FROM_TEMPLATE), None
    )
    person = next((one for one in map(_person, reversed(found.steps)) if one), None)
    return show(
        request,
        "ticket",
        found=found,
        title=snapshot.get("title") or "",
        page=_page(snapshot, services.settings.glpi_api_url, ticket_id),
        names=names_of(snapshot),
        base_url=found.config.base_url,
        resolved=place.link,
        is_moved=place.is_moved,
        project_id=place.project_id,
        project=place.project,
        statuses=place.statuses,
        status_names=HELPDESK_STATUSES,
        mapped=found.config.status_map.get(found.state.status) if found.state else None,
        template=body,
        person=person,
        entity=place_of(snapshot).entity_id if snapshot else None,
        missing=_missing(found.open_events),
        replayable=found.replayable,
        on_hold=[(Kind.TICKET, ticket_id)]
        if found.link and found.link.state in (LedgerState.ON_HOLD, LedgerState.GONE)
        else [
            *(
                (Kind.TICKET_TASK, one.task_id)
                for one in found.ticket_tasks
                if one.state in (LedgerState.ON_HOLD, LedgerState.GONE)
            ),
            *((Kind(one.kind), one.key) for one in found.notes if one.state == LedgerState.ON_HOLD),
            *((Kind.DOCUMENT, one.key) for one in found.documents if one.state == LedgerState.ON_HOLD),
        ],
        adoptions=unused_adoptions(found.steps),
        fix=fixes(request, _mapping(snapshot, place.link)),
        attempts=attempts(found.steps)[::-1],
        is_bad=is_bad,
        is_probe=is_probe,
    )


@router.post("/tickets/{ticket_id}/replay")
def replay(services: WithServices, ticket_id: Id) -> Response:
    """Replay those of a ticket's events that can be replayed."""
    wanted = trace_ticket(services.store, ticket_id).replayable
    if wanted:
        events.replay(services, wanted)
    return go(f"/console/tickets/{ticket_id}", "replayed" if wanted else "nothing")


@router.post("/tickets/{ticket_id}/forget-link")
def forget(services: WithServices, ticket_id: Id, form: Form) -> Response:
    """Remove the link of the ticket to its issue, or of one of its tasks to a time entry."""
    task_id = form.number("task_id")
    kind, key = (Kind.TICKET_TASK, task_id) if task_id else (Kind.TICKET, ticket_id)
    try:
        forget_link(services.store, kind, key)
    except NotFound:
        return go(f"/console/tickets/{ticket_id}", "unchanged")
    return go(f"/console/tickets/{ticket_id}", "forgotten")


@router.post("/tickets/{ticket_id}/take-back")
def undo(services: WithServices, ticket_id: Id, form: Form) -> Response:
    """Undo an adoption; the row waits for a decision again."""
    try:
        kind = Kind(form.text("kind"))
        done = take_back(services, kind, form.number("key") or 0)
    except ValueError:
        raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR()) from None
    except NotFound:
        return go(f"/console/tickets/{ticket_id}", "unchanged")
    return go(f"/console/held/{done.kind}/{done.key}", "taken-back")


def _page(snapshot: dict[str, Any], helpdesk: str | None, ticket_id: int) -> str | None:
    """Return the address of the ticket's page in the help desk: from the snapshot, else built like GLPI's."""
    given: str | None = snapshot.get("url")
    return given or (helpdesk and f"{helpdesk.rstrip('/')}/front/ticket.form.php?id={ticket_id}")


def _mapping(snapshot: dict[str, Any], link: ProjectMapping | None) -> tuple[str, int] | None:
    """Return the mapping that selects the ticket's project, or the one that could: its entity's."""
    if link:
        return str(link.kind), link.helpdesk_id
    return ("entity", place_of(snapshot).entity_id) if snapshot else None


def _missing(open_events: list[Any]) -> list[Any]:
    """Return the newest failed event of each ticket task and ticket."""
    failed = {row.key: row for row in open_events if row.state == EventState.FAILED}
    return list(failed.values())


def _person(step: Any) -> Notice | None:
    """Return on whose behalf a step was done and why, or None."""
    match = step.notice.params.get("match")
    return match if isinstance(match, Notice) else None
