"""The drain: everything that is due for one ticket, in order: issue, then time entries, then status (DESIGN)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from shared.codes.coded import Coded
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.errors import LeaseOver, NotYet, OutcomeUnknown, TrackerOutage, TrackerRejected
from shared.kinds import Kind
from shared.store.models import EventState, TicketState
from worker.retry import is_exhausted
from worker.sync.gates import Pending, Plan, TimeWanted, plan_times
from worker.sync.issue import ensure_issue
from worker.sync.results import AlreadyDone, Created, Result, Sent, Skipped, Waiting
from worker.sync.run import Run
from worker.sync.status import sync_status
from worker.sync.time_entry import log_time, settle_time
from worker.sync.work import Work

SOON = timedelta(seconds=2)

T = TypeVar("T")


class Drain:
    """Carries out the work of one ticket.

    Args:
        run: the drain's collaborators.
        work: what is known of the ticket.
    """

    def __init__(self, run: Run, work: Work) -> None:
        self._run = run
        self._work = work
        self._results: list[Result] = []

    def carry_out(self) -> list[Result]:
        """Decide, then do: issue, time entries, status.

        Returns:
            What came of it, in order.

        Raises:
            TrackerError: an outage: the tracker is unreachable, busy or closed; what is left stays pending.
            LockBusy: the lock ran out meanwhile; whoever holds it now goes on.
        """
        work = self._work
        plan = plan_times(work.task_events, work.logged, self._run.config, work.newest)
        self._end_what_sends_nothing(plan)
        if not work.is_complete:
            self._supersede_unread(plan)
        wanted = [] if work.link is None else self._with_attempts_left(plan.wanted)
        issue = self._issue(wanted)
        if isinstance(issue, Created):
            for one in wanted:
                self._log_time(one, issue)
        self._settle_times({one.task_id for one in wanted})
        self._status(issue)
        return self._results

    def _end_what_sends_nothing(self, plan: Plan) -> None:
        for event_id, reason in plan.skipped.items():
            self._end([event_id], Skipped(reason))
        for event_id, entry_id in plan.logged.items():
            self._end([event_id], AlreadyDone(Reason.LOGGED_BEFORE(time_entry_id=entry_id)))
        for event_id, newer_id in plan.superseded.items():
            self._supersede([event_id], Reason.NEWER_TASK_EVENT(event_id=newer_id))
        if self._work.link is None:
            self._end(
                _ids([one.newest for one in plan.wanted] + self._work.ticket_events),
                Skipped(Reason.NO_LINK()),
            )

    def _supersede_unread(self, plan: Plan) -> None:
        """End what is older than what is worked on and was not read: left due, it would bring that up again at once."""
        with self._run.transaction() as tx:
            for one in plan.wanted:
                tx.journal.supersede_older(one.newest.id, Reason.NEWER_TASK_EVENT(event_id=one.newest.id))
            for newest in self._work.ticket_events[-1:]:
                tx.journal.supersede_older(newest.id, Reason.NEWER_TICKET_EVENT(event_id=newest.id))

    def _with_attempts_left(self, wanted: list[TimeWanted]) -> list[TimeWanted]:
        """Fail what has used up its attempts, unless something that was begun is still to be settled."""
        left = []
        for one in wanted:
            settling = self._work.is_issue_unsettled or one.task_id in self._work.unsettled_times
            if is_exhausted(one.newest.attempts) and not settling:
                self._fail([one.newest], Reason.GAVE_UP(count=one.newest.attempts))
            else:
                left.append(one)
        return left

    def _issue(self, wanted: list[TimeWanted]) -> Created | Waiting | None:
        asking = [one.newest for one in wanted]
        if not asking and self._work.issue_row is None:
            return None
        first = asking[0] if asking else None
        outcome = self._attempt(asking, lambda: ensure_issue(self._run, self._work, first))
        if isinstance(outcome, Waiting):
            self._wait(asking, outcome)
        return outcome

    def _log_time(self, wanted: TimeWanted, issue: Created) -> None:
        self._run.lock.renew()
        result = self._attempt([wanted.newest], lambda: log_time(self._run, self._work, wanted, issue))
        if isinstance(result, Sent):
            self._results.append(result)  # its event ended in the linking commit
        elif isinstance(result, Waiting):
            self._wait([wanted.newest], result)
        elif result is not None:
            self._end([wanted.newest.id], result)

    def _settle_times(self, attempted: set[int]) -> None:
        for task_id, row in self._work.unsettled_times.items():
            if task_id not in attempted:
                self._run.lock.renew()
                self._attempt([], lambda key=task_id, row=row: settle_time(self._run, self._work, row, key))  # type: ignore[misc]

    def _status(self, issue: Created | Waiting | None) -> None:
        self._run.lock.renew()
        if self._work.link is None:
            self._drop_status()
            return
        work = self._work = replace(self._work, state=self._current_state())
        state = work.state
        newest = [one for one in work.ticket_events if one.id == state.event_id]
        older = [one for one in work.ticket_events if one.id != state.event_id]
        self._supersede(_ids(older), Reason.NEWER_TICKET_EVENT(event_id=state.event_id))
        if isinstance(issue, Waiting):
            self._wait(newest, issue)
        elif issue is None:
            self._end(_ids(newest), Skipped(Reason.NO_ISSUE()))
        elif work.is_status_due:
            self._give_status(newest, issue)
        elif state.status_due:
            self._wait(
                newest, Waiting(state.status_coded or Reason.STATUS_WAITS(), until=state.status_next_at)
            )
        else:
            self._end(_ids(newest), AlreadyDone(Reason.STATUS_AS_IT_IS(issue_id=issue.tracker_id)))

    def _drop_status(self) -> None:
        state = self._work.state
        if state.status_due and self._work.issue_row is not None:
            with self._run.transaction() as tx:
                tx.tickets.dropped(self._run.ticket_id, state.event_id, Reason.NO_LINK())

    def _current_state(self) -> TicketState:
        """The desired state, read again where the issue came to be in this drain: that may have settled it."""
        if self._work.is_issue_linked:
            return self._work.state
        with self._run.store.transaction() as tx:
            return tx.tickets.get(self._run.ticket_id) or self._work.state

    def _give_status(self, newest: list[Pending], issue: Created) -> None:
        run, state = self._run, self._work.state
        try:
            result = sync_status(run, self._work, issue)
        except TrackerRejected as rejection:
            reason = Reason.STATUS_REFUSED(because=rejection.coded)
            run.warn(What.STATUS_KEPT(issue_id=issue.tracker_id, because=reason))
            with run.transaction() as tx:
                tx.tickets.dropped(run.ticket_id, state.event_id, reason)
            self._fail(newest, reason)
            return
        except (NotYet, OutcomeUnknown) as unclear:
            with run.transaction() as tx:
                settled = tx.now() + timedelta(seconds=run.settings.settling_time)
                until = max(run.later(self._work.now, state.status_attempts), settled)
                tx.tickets.wait(run.ticket_id, state.event_id, until, unclear.coded, attempt=True)
            result = Waiting(unclear.coded, until=until, attempt=True)
        if isinstance(result, Waiting):
            self._wait(newest, result)
        else:
            self._end(_ids(newest), result)

    def _attempt(self, events: list[Pending], step: Callable[[], T]) -> T | None:
        """Do a step; a refusal for good fails its events, no clear answer or a lease that ran out delays them."""
        attempts = self._run.attempts = max((one.attempts for one in events), default=0)
        try:
            return step()
        except TrackerRejected as rejection:
            self._fail(events, rejection.coded)
        except LeaseOver as over:
            until = self._run.later(self._work.now, 0)
            self._wait(events, Waiting(over.coded, until=until))
        except (NotYet, OutcomeUnknown) as unclear:
            until = self._run.later(self._work.now, attempts)
            self._wait(events, Waiting(unclear.coded, until=until, attempt=True))
        except TrackerOutage as outage:
            if outage.may_have_acted:
                self._wait(events, Waiting(outage.coded, attempt=True))
            raise
        return None

    def _end(self, event_ids: Sequence[int], result: Result) -> None:
        state = EventState.SKIPPED if isinstance(result, Skipped) else EventState.DONE
        self._close(event_ids, state, result.reason)
        self._results.append(result)

    def _supersede(self, event_ids: Sequence[int], reason: Coded) -> None:
        self._close(event_ids, EventState.SUPERSEDED, reason)

    def _fail(self, events: Sequence[Pending], reason: Coded) -> None:
        self._close(_ids(events), EventState.FAILED, reason)

    def _close(self, event_ids: Sequence[int], state: EventState, reason: Coded) -> None:
        if not event_ids:
            return
        self._tell_end(event_ids, state, reason)
        with self._run.transaction() as tx:
            tx.journal.end(event_ids, state, reason)

    def _tell_end(self, event_ids: Sequence[int], state: EventState, reason: Coded) -> None:
        ids = list(event_ids)
        self._run.note(What.EVENTS_ENDED(count=len(ids), events=ids, state=state, because=reason))

    def _hold(self, event_ids: list[int], waiting: Waiting, kind: Kind, key: int) -> None:
        """End events as held, unless the person has decided since the row was read: they are due at once then."""
        if not event_ids:
            return
        with self._run.transaction() as tx:
            if self._run.verdicts(tx, kind).let_wait(key, event_ids, waiting.reason):
                self._tell_end(event_ids, EventState.HELD, waiting.reason)

    def _wait(self, events: Sequence[Pending], waiting: Waiting) -> None:
        self._results.append(waiting)
        if waiting.held:
            self._hold(_ids(events), waiting, *waiting.held)
            return
        until = waiting.until or self._work.now + SOON
        if not events:
            return
        with self._run.transaction() as tx:
            tx.journal.wait(_ids(events), until, waiting.reason, attempt=waiting.attempt)


def _ids(events: Sequence[Pending]) -> list[int]:
    return [one.id for one in events]
