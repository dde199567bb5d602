"""Finishes the events of a pass: the one place in which an event ends, or waits.

But for one: the event whose time entry was just created ends with its link (`TimeEntryCreation.linked`).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.steps import What
from shared.store.tables.journal import EventState
from shared.store.transaction import Transaction
from worker.ticket.context import TicketContext
from worker.ticket.results import Result, Skipped, Waiting

SOON = timedelta(seconds=2)


class EventFinisher:
    """Ends events, or has them wait, and keeps the results of the pass.

    Args:
        ctx: the ticket's context.
        now: the database's clock when the pass began.

    Attributes:
        results: what was done, in order.
    """

    def __init__(self, ctx: TicketContext, now: datetime) -> None:
        self._ctx, self._now = ctx, now
        self.results: list[Result] = []

    async def end(self, event_ids: Collection[int], result: Result) -> None:
        """End events as done or skipped; if the result is that they wait, they wait.

        Raises:
            Outdated: they would be skipped, or wait, by settings that were changed in the meantime.
        """
        if isinstance(result, Waiting):
            await self._wait(event_ids, result)
        elif isinstance(result, Skipped) and result.follows_from_settings:
            await self._conclude(event_ids, EventState.SKIPPED, result.reason)
        else:
            state = EventState.SKIPPED if isinstance(result, Skipped) else EventState.DONE
            await self._close(event_ids, state, result.reason)
        self.results.append(result)

    async def supersede(self, event_ids: Collection[int], reason: Notice) -> None:
        """End events that a newer one has made pointless."""
        await self._close(event_ids, EventState.SUPERSEDED, reason)

    async def fail(self, event_ids: Collection[int], reason: Notice, *, of_status: int | None = None) -> None:
        """End events as failed, replayable.

        Args:
            event_ids: the events.
            reason: why.
            of_status: that follows from what this helpdesk status is mapped to; None: from no setting.

        Raises:
            Outdated: they would be failed by a map that was changed in the meantime.
        """
        if of_status is None:
            await self._close(event_ids, EventState.FAILED, reason)
        else:
            await self._conclude(event_ids, EventState.FAILED, reason, of_status)

    async def _conclude(
        self, event_ids: Collection[int], state: EventState, reason: Notice, of_status: int | None = None
    ) -> None:
        """End events by the settings that are active."""

        def end(tx: Transaction) -> None:
            self._tell(event_ids, state, reason)
            tx.journal.end(event_ids, state, reason)

        if event_ids:
            await self._ctx.db.change_if_current(end, of_status=of_status)

    async def _close(self, event_ids: Collection[int], state: EventState, reason: Notice) -> None:
        if event_ids:
            self._tell(event_ids, state, reason)
            await self._ctx.db.change(lambda tx: tx.journal.end(event_ids, state, reason))

    async def _wait(self, event_ids: Collection[int], waiting: Waiting) -> None:
        if not event_ids:
            return
        if waiting.on_hold:
            await self._hold(event_ids, waiting.reason, *waiting.on_hold)
            return
        until = waiting.until or self._ctx.now(self._now) + SOON

        def wait(tx: Transaction) -> None:
            tx.journal.wait(event_ids, until, waiting.reason, attempt=waiting.attempt)

        if waiting.follows_from_settings:
            await self._ctx.db.change_if_current(wait)
        else:
            await self._ctx.db.change(wait)

    async def _hold(self, event_ids: Collection[int], reason: Notice, kind: Kind, key: int) -> None:
        """End events as on hold, unless the person has decided since the row was read: they are due at once then."""

        def hold(tx: Transaction) -> None:
            if self._ctx.decisions(tx, kind).let_wait(key, event_ids, reason):
                self._tell(event_ids, EventState.ON_HOLD, reason)

        await self._ctx.db.change(hold)

    def _tell(self, event_ids: Collection[int], state: EventState, reason: Notice) -> None:
        ids = list(event_ids)
        self._ctx.note(What.EVENTS_ENDED(count=len(ids), events=ids, state=state, because=reason))
