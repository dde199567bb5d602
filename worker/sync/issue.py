"""One issue per ticket (SPEC section 3, first row): created the first time a Done ticket task has time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.bodies.contexts import About
from shared.bodies.precedence import Chosen
from shared.codes.coded import Coded
from shared.codes.steps import What
from shared.events import Event
from shared.kinds import Kind
from shared.payloads import issue_body
from shared.store import Transaction
from shared.templating import Operation
from worker.sync.attribution import Sender
from worker.sync.bodies import choose_body
from worker.sync.creation import Creation
from worker.sync.ensure import ensure
from worker.sync.gates import Pending
from worker.sync.results import Created, Waiting
from worker.sync.run import Run
from worker.sync.work import Work, as_of


def ensure_issue(run: Run, work: Work, asking: Pending | None) -> Created | Waiting | None:
    """Return the ticket's issue, creating it from the newest snapshot where an event asks for it.

    Args:
        run: the drain.
        work: what is known of the ticket.
        asking: the event that asks for the issue; None: only what was begun is settled.

    Returns:
        The issue, what it waits for, or None where there is none and none is wanted.

    Raises:
        TrackerError: an outage, or the administrator's call was refused.
    """
    wanted = None if asking is None else lambda: _creation(run, work, asking)
    return ensure(run, Kind.TICKET, run.ticket_id, work.issue_row, work.now, wanted)


def _creation(run: Run, work: Work, asking: Pending) -> Creation:
    link = work.link
    assert link is not None, "the project rule comes before any creation"  # noqa: S101
    about = About(
        ticket=work.ticket,
        task=asking.event.task,
        occurred_at=asking.event.occurred_at,
        event_name=asking.event.event,
        link=link,
        project_id=link.tracker_project_id,
        person=work.technician.person,
    )
    chosen = choose_body(
        run,
        Operation.ISSUE_CREATE,
        about,
        lambda: issue_body(work.ticket, link.tracker_project_id, link.default_category_id, run.config),
    )
    project_id = chosen.body["issue"]["project_id"]  # a template may send it elsewhere than the link
    is_member = work.is_technician_member and project_id == link.tracker_project_id

    def linked(tx: Transaction, issue: dict[str, Any], _: Coded | None) -> None:
        _settle_status(tx, run, work, chosen, issue)
        run.note(
            What.ISSUE_CREATED(
                issue_id=issue.get("id"),
                tracker_project_id=project_id,
                link=str(link),
                match=work.technician.why,
            )
        )

    return Creation(
        kind=Kind.TICKET,
        key=run.ticket_id,
        event_id=asking.id,
        issue_id=None,
        chosen=chosen,
        sender=Sender(
            run, work.technician, replace(about, project_id=project_id), is_member, work.administrators
        ),
        on_linked=linked,
        as_of=lambda event: _creation(run, _as_of(run, work, event), Pending(asking.id, event)),
    )


def _settle_status(tx: Transaction, run: Run, work: Work, chosen: Chosen, issue: dict[str, Any]) -> None:
    """Note which status is still owed; a template's own choice stands until the ticket changes."""
    has = (issue.get("status") or {}).get("id")
    mapped, by_template = run.config.status_map, Operation.ISSUE_UPDATE_STATUS in run.templates
    if by_template and not chosen.template and work.ticket.status not in mapped:
        return  # it stays due: the template may know what status_map lacks
    if chosen.template and chosen.body["issue"].get("status_id") in (None, has):
        tx.tickets.given(run.ticket_id, work.state.event_id, mapped.get(work.ticket.status, has))
    else:
        tx.tickets.owe(run.ticket_id, mapped, has)


def _as_of(run: Run, work: Work, event: Event) -> Work:
    with run.store.transaction() as tx:
        return as_of(tx, work, event, administrators=run.config.match_administrators)
