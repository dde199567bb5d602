"""Adds notes and attachments to a ticket's issue: each once, and in the order of their events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from shared.events.attachments import attachment_name, shown_documents
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.filter import why_addition_filtered
from shared.events.snapshots import Document
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.journal.due import content_of
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import Transaction
from worker.ticket import trial
from worker.ticket.additions import Addition
from worker.ticket.bodies import built
from worker.ticket.context import TicketContext
from worker.ticket.create import create
from worker.ticket.documents import DocumentCreation
from worker.ticket.finish import EventFinisher
from worker.ticket.load import Work
from worker.ticket.notes import FollowupCreation, SolutionCreation
from worker.ticket.plan import Pending
from worker.ticket.resolve import noted_author, resolve_row
from worker.ticket.results import AlreadyDone, Created, Result, Sent, Skipped, Waiting

ADDITION_OF: Mapping[Kind, type[Addition]] = {
    one.kind: one for one in (FollowupCreation, SolutionCreation, DocumentCreation)
}


class Additions:
    """Adds the notes and attachments that the events of one ticket ask for.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
        events: ends events, or makes them wait.
    """

    def __init__(self, ctx: TicketContext, work: Work, events: EventFinisher) -> None:
        self._ctx, self._work, self._events = ctx, work, events

    async def end_what_is_there(self) -> None:
        """End the events whose note or attachment was added earlier."""
        work = self._work
        kinds = {one.id: one.row_id for one in work.addition_events}
        for event_id, tracker_id in work.plan.added.items():
            (kind, key), row = kinds[event_id], work.rows[kinds[event_id]]
            wrong = await noted_author(self._ctx, kind, key, tracker_id) if row.event_id == event_id else None
            if wrong is not None:
                done = ADDITION_OF[kind].sent(wrong, tracker_id, row.issue_id)
            elif kind is Kind.DOCUMENT:
                done = Reason.ATTACHED_BEFORE(attachment_id=tracker_id)
            else:
                done = Reason.NOTED_BEFORE(note_id=tracker_id)
            await self._events.end([event_id], AlreadyDone(done))

    async def name_pictures(self) -> None:
        """Record the file names of pictures in the ticket's text that will be attached to its new issue."""
        can_be_fetched = self._ctx.services.completion.lookup is not None
        if not can_be_fetched or not self._ctx.config.sends_documents:
            return
        shown = shown_documents(self._work.ticket.content, self._work.ticket.helpdesk_url)
        if not shown:
            return
        rows = await self._ctx.db.change(
            lambda tx: tx.journal.find(ticket_id=self._ctx.ticket_id, limit=None)
        )
        for row in sorted(rows, key=lambda one: (one.occurred_at, one.sequence, one.id)):
            event = content_of(row)
            document = event.document if event else None
            if document is None or document.id not in shown:
                continue
            if isinstance(event, Event) and isinstance(document, Document):
                if _will_be_attached(row, event, self._ctx.config):
                    self._ctx.attached[document.id] = attachment_name(document)
            else:
                self._ctx.attached.pop(document.id, None)

    async def first(self, issue: Created, additions: list[Pending]) -> list[Pending]:
        """Return the additions to send now; none overtakes an earlier one that waits, or that lacked the issue.

        Exception: none waits for a document that the help desk does not have.
        """
        ids = {one.id for one in additions}

        if self._ctx.config.trial:
            return additions  # none is sent

        def look(tx: Transaction) -> list[tuple[int, datetime | None, str | None]]:
            state = tx.statuses.get(self._ctx.ticket_id)
            if state is not None and state.notes_wait:
                self._process_again(tx)
            return tx.journal.pending_additions(self._ctx.ticket_id)

        pending = await self._ctx.db.change(look)
        if issue.now:
            return []  # its first time entry is claimed, so it is sent at once; additions follow in the next pass
        blocks = [one not in ids and code != Reason.DOCUMENT_MISSING for one, _, code in pending]
        before = blocks.index(True) if any(blocks) else None
        if before is None:
            return additions
        first = {event_id for event_id, *_ in pending[:before]}
        later = [one for one in additions if one.id not in first]
        event_id, until, _ = pending[before]
        if until is not None and until > self._work.now:
            await self._events.end(
                _ids(later), Waiting(Reason.EARLIER_NOTE_FIRST(event_id=event_id), until=until)
            )
        return [one for one in additions if one.id in first]

    def _process_again(self, tx: Transaction) -> None:
        """Replay the additions that were skipped because there was no issue."""
        ticket_id = self._ctx.ticket_id
        tx.statuses.note_waiting([ticket_id], wait=False)
        tx.journal.replay_skipped([ticket_id], Reason.NO_ISSUE_FOR_NOTE, Reason.ISSUE_IS_THERE())

    async def end(self, additions: list[Pending], issue: Waiting | None) -> None:
        """End the additions of a ticket without an issue: they wait with it, or are replayed once there is one.

        If this worker has lost the lock, another one may create the issue meanwhile. So the mark is set first, and the
        ledger is read afterwards: one of the two workers sees what the other has done.
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

    async def addition(self, asking: Pending, issue: Created) -> Result:
        """Add a follow-up, a solution or a document to the ticket's issue, once."""
        ctx, work, (kind, key) = self._ctx, self._work, asking.row_id
        row, made = work.rows.get(asking.row_id), ADDITION_OF[kind]
        outcome: Created | Waiting | Skipped | None
        outcome = await resolve_row(ctx, kind, key, row, work.now)
        if outcome is None:
            creation = await built(ctx, made.of, ctx, work, asking, issue)
            outcome = await self._created(creation, row)
        if isinstance(outcome, Waiting | Skipped):
            return outcome
        wrong = (
            outcome.wrong_author if outcome.now else await noted_author(ctx, kind, key, outcome.tracker_id)
        )
        done = made.sent(wrong, outcome.tracker_id, issue.tracker_id)
        return Sent(done) if outcome.now else AlreadyDone(done)

    async def _created(self, creation: Addition, row: LedgerRow | None) -> Created | Waiting | Skipped:
        ctx = self._ctx
        if nothing := creation.why_nothing():
            return Skipped(nothing)
        if ctx.config.trial:
            return trial.planned(ctx, self._work.now, creation.trial_notice())
        async with creation.ready() as ready:
            if isinstance(ready, Waiting | Skipped):
                return ready
            outcome, _ = await create(ready, row)
        if isinstance(outcome, Created):
            creation.remember()
        return outcome


def _will_be_attached(row: JournalEvent, event: Event, config: PluginConfig) -> bool:
    """Return whether an event's document will be attached to an issue that is about to be created, or was already."""
    waits = row.state == EventState.PENDING or row.has_code(Reason.NO_ISSUE_FOR_NOTE)
    return (waits or row.state == EventState.DONE) and why_addition_filtered(event, config) is None


def _ids(events: list[Pending]) -> list[int]:
    return [one.id for one in events]
