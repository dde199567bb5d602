"""One time entry per ticket task that is Done (SPEC section 3), attributed to who logged it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from shared.bodies.contexts import About
from shared.codes.coded import Coded
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.errors import TrackerRejected
from shared.events import Event
from shared.kinds import Kind
from shared.payloads import time_entry_body
from shared.store import Transaction
from shared.store.ledger import Row
from shared.templating import Operation
from worker.sync.attribution import Sender
from worker.sync.bodies import choose_body
from worker.sync.creation import Creation
from worker.sync.ensure import ensure
from worker.sync.gates import TimeWanted
from worker.sync.probes import is_gone
from worker.sync.results import AlreadyDone, Created, Result, Sent, Waiting
from worker.sync.run import Run
from worker.sync.work import Work

ISSUE_MAY_BE_GONE = (404, 422)


def log_time(run: Run, work: Work, wanted: TimeWanted, issue: Created) -> Result:
    """Log a ticket task's time on the ticket's issue, once.

    Args:
        run: the drain.
        work: what is known of the ticket.
        wanted: the ticket task, with its newest Done snapshot.
        issue: the issue it belongs to; its project is the one the issue was created in.

    Raises:
        TrackerError: an outage, or the administrator's call was refused.
    """
    task = wanted.newest.task

    def prepare() -> Creation:
        return _creation(run, work, wanted, issue, wanted.newest.event)

    try:
        outcome = ensure(run, Kind.TICKET_TASK, task.id, work.time_rows.get(task.id), work.now, prepare)
    except TrackerRejected as rejection:
        if rejection.status in ISSUE_MAY_BE_GONE and is_gone(run, issue.tracker_id):
            return mark_gone(run, issue.tracker_id)
        raise
    if isinstance(outcome, Created):
        wrong = outcome.wrong_author or issue.wrong_author
        if not outcome.now:
            with run.store.transaction() as tx:
                noted = tx.misattributed.get(Kind.TICKET_TASK, task.id)
            wrong = noted.coded if noted else wrong
        reason = _logged(wrong, time_entry_id=outcome.tracker_id, issue_id=issue.tracker_id)
        return Sent(reason) if outcome.now else AlreadyDone(reason)
    return outcome or Waiting(Reason.ROW_CHANGED())


def _logged(wrong: Coded | None, **made: object) -> Coded:
    """Return how an event ended that logged time: also that it, or its new issue, has another author than was meant."""
    if wrong is None:
        return Reason.TIME_LOGGED(**made)
    return Reason.TIME_LOGGED_AS_ANOTHER(**made, because=wrong)


def _creation(run: Run, work: Work, wanted: TimeWanted, issue: Created, event: Event) -> Creation:
    """Return the creation as an event of the ticket task asks for it: the newest, or an earlier one."""
    task, event_id = wanted.newest.task, wanted.newest.id
    issue = replace(issue, project_id=run.moved.get(issue.tracker_id, issue.project_id))
    done = event.task or task
    with run.store.transaction() as tx:
        match = tx.people.pin(done.user, administrators=run.config.match_administrators)
        is_member = tx.people.is_member(issue.project_id, match)
    about = About(
        ticket=work.ticket,
        task=done,
        occurred_at=event.occurred_at,
        event_name=event.event,
        link=work.link,
        project_id=issue.project_id,
        issue_id=issue.tracker_id,
        person=match.person,
    )
    plain = partial(time_entry_body, run.ticket_id, done, issue.tracker_id, run.config)

    def linked(tx: Transaction, entry: dict[str, Any], wrong: Coded | None) -> None:
        made = {"time_entry_id": entry.get("id"), "issue_id": issue.tracker_id}
        tx.journal.done(event_id, _logged(wrong or issue.wrong_author, **made))
        tx.journal.supersede_failed(wanted.newest.event.key, Reason.LOGGED_BY_EVENT(event_id=event_id))
        run.note(What.HOURS_LOGGED(**made, hours=task.actiontime / 3600, task_id=task.id), task_id=task.id)

    return Creation(
        kind=Kind.TICKET_TASK,
        key=task.id,
        event_id=event_id,
        issue_id=issue.tracker_id,
        chosen=choose_body(run, Operation.TIME_ENTRY_CREATE, about, plain),
        sender=Sender(run, match, about, is_member, work.administrators),
        on_linked=linked,
        as_of=partial(_creation, run, work, wanted, issue),
    )


def settle_time(run: Run, work: Work, row: Row, task_id: int) -> None:
    """Settle a time entry that was begun earlier and that no pending event asks for."""
    ensure(run, Kind.TICKET_TASK, task_id, row, work.now, None)


def mark_gone(run: Run, issue_id: int) -> Waiting:
    """Mark the ticket's issue as no longer there, for a person to decide on."""
    with run.transaction() as tx:
        reason = run.verdicts(tx, Kind.TICKET).gone(run.ticket_id, issue_id)
    return Waiting(reason, held=(Kind.TICKET, run.ticket_id))
