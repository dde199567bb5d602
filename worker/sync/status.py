"""Keeps the issue's status in step with the ticket's newest snapshot (SPEC section 3, "Ticket updated")."""

from __future__ import annotations

from shared.errors import OutcomeUnknown, TrackerRejected
from shared.payloads import status_body
from worker.retry import is_exhausted
from worker.sync.probes import call_as_administrator, is_gone
from worker.sync.results import Result, Sent, Skipped
from worker.sync.run import Run
from worker.sync.time_entry import mark_gone
from worker.sync.work import Work


def sync_status(run: Run, work: Work, issue_id: int) -> Result:
    """Give the tracker the newest status, as the administrator, who may make any transition.

    Args:
        run: the drain.
        work: what is known of the ticket; its status is due.
        issue_id: the linked issue.

    Raises:
        TrackerRejected: the tracker refused it for good, or never gave a clear answer.
        OutcomeUnknown, NotYet: no clear answer; it may be repeated.
        TrackerError: an outage.
    """
    state = work.state
    wanted = run.config.status_map.get(state.status)
    if wanted is None:
        reason = f"ticket status {state.status} is not in status_map"
        with run.transaction() as tx:
            tx.tickets.dropped(run.ticket_id, state.event_id, reason)
        return Skipped(reason)
    try:
        call_as_administrator(run, "PUT", f"/issues/{issue_id}.json", status_body(wanted))
    except OutcomeUnknown as unclear:
        if is_exhausted(state.status_attempts + 1):
            detail = "no clear answer, many times over"
            raise TrackerRejected(
                unclear.method, unclear.path, status=unclear.status, detail=detail
            ) from None
        raise
    except TrackerRejected as rejection:
        if rejection.status == 404 and is_gone(run, issue_id):
            return mark_gone(run, issue_id)
        raise
    run.note(
        f"Issue #{issue_id} set to tracker status {wanted}",
        f"the ticket's newest status is {state.status} (event {state.event_id})",
    )
    with run.transaction() as tx:
        tx.tickets.given(run.ticket_id, state.event_id)
    return Sent(f"issue #{issue_id} set to tracker status {wanted}")
