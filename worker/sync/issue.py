"""One issue per ticket (SPEC section 3, first row): created the first time a Done ticket task has time."""

from __future__ import annotations

from typing import Any

from shared.events import Event
from shared.kinds import Kind
from shared.payloads import issue_body
from shared.store import Transaction
from worker.sync.attribution import Sender
from worker.sync.creation import Creation, ensure
from worker.sync.results import Created, Waiting
from worker.sync.run import Run
from worker.sync.work import Work, as_of


def ensure_issue(run: Run, work: Work, event_id: int | None) -> Created | Waiting | None:
    """Return the ticket's issue, creating it from the newest snapshot where an event asks for it.

    Args:
        run: the drain.
        work: what is known of the ticket.
        event_id: the journal event that asks for the issue; None: only what was begun is settled.

    Returns:
        The issue, what it waits for, or None where there is none and none is wanted.

    Raises:
        TrackerError: an outage, or the administrator's call was refused.
    """

    def prepare(asking: int, work: Work = work) -> Creation:
        link = work.link
        assert link is not None, "the project rule comes before any creation"  # noqa: S101
        return Creation(
            kind=Kind.TICKET,
            key=run.ticket_id,
            event_id=asking,
            issue_id=None,
            body=issue_body(work.ticket, link.tracker_project_id, link.default_category_id, run.config),
            sender=Sender(
                run,
                work.technician,
                link.tracker_project_id,
                work.is_technician_member,
                work.administrators,
            ),
            on_linked=linked,
            as_of=lambda event: prepare(asking, _as_of(run, work, event)),
        )

    def linked(tx: Transaction, issue: dict[str, Any]) -> None:
        status = issue.get("status") or {}
        tx.tickets.owe(run.ticket_id, run.config.status_map, status.get("id"))
        link = work.link
        run.note(
            f"Issue #{issue.get('id')} created in tracker project {link.tracker_project_id if link else '?'}",
            f"first finished ticket task of a ticket linked by {link}; {work.technician.why}",
        )

    wanted = None if event_id is None else lambda: prepare(event_id)
    return ensure(run, Kind.TICKET, run.ticket_id, work.issue_row, work.now, wanted)


def _as_of(run: Run, work: Work, event: Event) -> Work:
    with run.store.transaction() as tx:
        return as_of(tx, work, event)
