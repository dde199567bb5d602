"""Adds notes and attachments to a ticket's issue: each once, and in the order of their events."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from shared.errors import TrackerRejected
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import Transaction
from shared.tracker.uploads import UPLOADS
from worker.ticket import trial
from worker.ticket.additions import Addition
from worker.ticket.bodies import built
from worker.ticket.context import TicketContext
from worker.ticket.create import create
from worker.ticket.documents import DocumentCreation
from worker.ticket.finish import EventFinisher
from worker.ticket.gone import ISSUE_MAY_BE_GONE, issue_gone
from worker.ticket.load import Work
from worker.ticket.notes import NoteCreation
from worker.ticket.plan import AdditionId, Pending
from worker.ticket.resolve import settled
from worker.ticket.results import AlreadyDone, Created, Result, Sent, Skipped, Waiting
from worker.ticket.retry import is_exhausted

ADDITION_OF: Mapping[Kind, type[Addition]] = {
    Kind.FOLLOWUP: NoteCreation,
    Kind.SOLUTION: NoteCreation,
    Kind.DOCUMENT: DocumentCreation,
}

T = TypeVar("T")


class Attempt(Protocol):
    """Does something; an error does to its events what the table of errors says."""

    async def __call__(self, events: list[Pending], doing: Awaitable[T]) -> T | None:
        """Return the result; None: there is none, and the events have ended or wait."""


class Additions:
    """Adds what the events of one ticket ask for.

    Args:
        ctx: the ticket's context.
        work: what is known of the ticket.
        events: ends events, or has them wait.
        attempt: attempts something for some events.
    """

    def __init__(self, ctx: TicketContext, work: Work, events: EventFinisher, attempt: Attempt) -> None:
        self._ctx, self._work, self._events, self._attempt = ctx, work, events, attempt

    async def end_what_is_there(self) -> None:
        """End the events of what was added before, and of what newer events are about."""
        plan, documents = (
            self._work.plan,
            {one.id for one in self._work.addition_events if one.event.document},
        )
        for event_id, tracker_id in plan.added.items():
            if event_id in documents:
                done = Reason.ATTACHED_BEFORE(attachment_id=tracker_id)
            else:
                done = Reason.NOTED_BEFORE(note_id=tracker_id)
            await self._events.end([event_id], AlreadyDone(done))
        for event_id, newer_id in plan.superseded_additions.items():
            await self._events.supersede([event_id], Reason.NEWER_NOTE_EVENT(event_id=newer_id))

    async def with_attempts_left(self, additions: list[Pending]) -> list[Pending]:
        """Fail events that have used up their attempts, unless something that was begun is still in doubt."""
        left = []
        for one in additions:
            settling = one.addition_id in self._work.unsettled_additions
            if is_exhausted(one.attempts) and not settling and not self._ctx.config.trial:
                await self._events.fail([one.id], Reason.GAVE_UP(count=one.attempts))
            else:
                left.append(one)
        return left

    async def first(self, issue: Created, additions: list[Pending]) -> list[Pending]:
        """Return those that are next: an earlier one of the ticket may wait, or may have waited for the issue."""
        ids = {one.id for one in additions}

        if self._ctx.config.trial:
            return additions  # none is sent

        def look(tx: Transaction) -> list[tuple[int, datetime | None]]:
            state = tx.statuses.get(self._ctx.ticket_id)
            if state is not None and state.notes_wait:
                self._process_again(tx)
            return tx.journal.pending_additions(self._ctx.ticket_id)

        pending = await self._ctx.db.change(look)
        if issue.now:
            return []  # its first time entry is claimed, and sent at once; additions come in the next pass
        before = next((number for number, (event_id, _) in enumerate(pending) if event_id not in ids), None)
        if before is None:
            return additions
        first = {event_id for event_id, _ in pending[:before]}
        later = [one for one in additions if one.id not in first]
        event_id, until = pending[before]
        if until is not None and until > self._work.now:
            await self._events.end(
                _ids(later), Waiting(Reason.EARLIER_NOTE_FIRST(event_id=event_id), until=until)
            )
        return [one for one in additions if one.id in first]

    def _process_again(self, tx: Transaction) -> None:
        """Let those be sent that were skipped because there was no issue."""
        ticket_id = self._ctx.ticket_id
        tx.statuses.note_waiting([ticket_id], wait=False)
        tx.journal.replay_skipped([ticket_id], Reason.NO_ISSUE_FOR_NOTE, Reason.ISSUE_IS_THERE())

    async def end(self, additions: list[Pending], issue: Waiting | None) -> None:
        """End those of a ticket that has no issue: they wait with it, or are processed again once there is one.

        Another worker may create the issue meanwhile, if this one has lost the lock. So the mark is set before, and the
        ledger is looked at afterwards: one of both sees what the other has done.
        """
        ctx = self._ctx
        if issue is not None or not additions:
            await self._events.end(_ids(additions), issue or Skipped(Reason.NO_ISSUE_FOR_NOTE()))
            return
        await ctx.db.change(lambda tx: tx.statuses.note_waiting([ctx.ticket_id], wait=True))
        await self._events.end(_ids(additions), Skipped(Reason.NO_ISSUE_FOR_NOTE()))

        def look(tx: Transaction) -> None:
            row = tx.issues.get(ctx.ticket_id)
            if row is not None and row.state == LedgerState.LINKED:
                self._process_again(tx)

        await ctx.db.change(look)

    async def add(self, asking: Pending, issue: Created) -> bool:
        """Add a note or an attachment to the issue; tell whether it waits, so that later ones wait too."""
        before = len(self._events.results)
        result = await self._attempt([asking], self._addition(asking, issue))
        if isinstance(result, Sent):
            self._events.results.append(result)  # its event ended in the linking commit
        elif result is not None:
            await self._events.end([asking.id], result)
        return any(isinstance(one, Waiting) and one.held is None for one in self._events.results[before:])

    async def _addition(self, asking: Pending, issue: Created) -> Result:
        """Add a follow-up, a solution or a document to the ticket's issue, once."""
        ctx, work, (kind, key) = self._ctx, self._work, asking.addition_id
        row, made = work.addition_rows.get(asking.addition_id), ADDITION_OF[kind]
        outcome: Created | Waiting | Skipped | None
        try:
            outcome = await settled(ctx, kind, key, row, work.now)
            if outcome is None:
                creation = await built(ctx, made.of, ctx, work, asking, issue)
                outcome = await self._created(creation, row)
        except TrackerRejected as rejection:
            is_about_issue = rejection.path != UPLOADS and rejection.status in ISSUE_MAY_BE_GONE
            if is_about_issue and (gone := await issue_gone(ctx, issue.tracker_id)):
                return gone
            raise
        if isinstance(outcome, Waiting | Skipped):
            return outcome
        done = made.sent(outcome.wrong_author, outcome.tracker_id, issue.tracker_id)
        return Sent(done) if outcome.now else AlreadyDone(done)

    async def _created(self, creation: Addition, row: LedgerRow | None) -> Created | Waiting | Skipped:
        ctx = self._ctx
        if nothing := creation.nothing():
            return Skipped(nothing)
        if ctx.config.trial:
            return trial.planned(ctx, self._work.now, creation.would())
        async with creation.ready() as ready:
            if isinstance(ready, Waiting | Skipped):
                return ready
            outcome, _ = await create(ready, row)
        if isinstance(outcome, Created):
            creation.remember()
        return outcome

    async def settle(self, attempted: set[AdditionId]) -> None:
        """Resolve notes and attachments that were begun earlier and that no pending event asks for."""
        for (kind, key), row in self._work.unsettled_additions.items():
            if (kind, key) not in attempted:
                await self._attempt([], settled(self._ctx, kind, key, row, self._work.now))


def _ids(events: list[Pending]) -> list[int]:
    return [one.id for one in events]
