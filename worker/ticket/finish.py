"""The place in which the events of a sync pass end or wait.

Exception: the event of a new time entry or addition ends in the commit of its link (`Creation.all_linked`).
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
    """Ends events or makes them wait, and collects the results of the sync pass.

    Args:
        ctx: the ticket's context.
        now: the database's clock when the pass began.

    Attributes:
        results: the results of the work, in order.
    """

    def __init__(self, ctx: TicketContext, now: datetime) -> None:
        self._ctx, self._now = ctx, now
        self.results: list[Result] = []

    async def end(self, event_ids: Collection[int], result: Result) -> None:
        """End events as done or skipped, or make them wait, depending on the result.

        Raises:
            Outdated: if they would be skipped or wait because of settings that have changed.
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
        """End events that another event has replaced."""
        await self._close(event_ids, EventState.SUPERSEDED, reason)

    async def fail(self, event_ids: Collection[int], reason: Notice, *, of_status: int | None = None) -> None:
        """End events as failed; they can be replayed.

        Args:
            event_ids: the events.
            reason: why.
            of_status: the help desk status whose mapping caused the failure; None if no setting did.

        Raises:
            Outdated: if they would fail because of a status map that has changed.
        """
        if of_status is None:
            await self._close(event_ids, EventState.FAILED, reason)
        else:
            await self._conclude(event_ids, EventState.FAILED, reason, of_status)

    async def _conclude(
        self, event_ids: Collection[int], state: EventState, reason: Notice, of_status: int | None = None
    ) -> None:
        """End events for a reason that follows from the settings."""

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
        """Put events on hold, unless a person has decided since the row was read: then they are due at once."""

        def hold(tx: Transaction) -> None:
            if self._ctx.decisions(tx, kind).let_wait(key, event_ids, reason):
                self._tell(event_ids, EventState.ON_HOLD, reason)

        await self._ctx.db.change(hold)

    def _tell(self, event_ids: Collection[int], state: EventState, reason: Notice) -> None:
        ids = list(event_ids)
        self._ctx.note(What.EVENTS_ENDED(count=len(ids), events=ids, state=state, because=reason))
