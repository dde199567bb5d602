"""Resolves creations that were started earlier, and puts in doubt those that have just got no clear answer."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from shared.errors import LockBusy, OutcomeUnknown, TrackerError
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.ledger.transitions import FOR_A_PERSON, LedgerEvent
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import Transaction
from shared.values.identity import is_another_item
from worker.ticket.context import TicketContext
from worker.ticket.reconcile import reconcile
from worker.ticket.requests import Creation
from worker.ticket.results import Created, Waiting
from worker.ticket.retry import backoff

MOST_TURNS = 4
SURE = 2
"""After this many attempts without a clear answer, a 5xx is about the text if other tickets succeed meanwhile."""
OF_THIS_TEXT = (Detail.REFUSED_ON_THE_WAY, Detail.TOO_LARGE_ON_THE_WAY, Detail.ONLY_THIS_TEXT)


async def resolve_row(
    ctx: TicketContext, kind: Kind, key: int, row: LedgerRow | None, now: datetime
) -> Created | Waiting | None:
    """Resolve a creation that was started earlier, if it is due.

    Args:
        ctx: the ticket's context.
        kind: the kind of the creation.
        key: the key of its row.
        row: its ledger row as just read.
        now: the database's clock.

    Returns:
        The linked object, what it waits for, or None if nothing was started or its row is free.

    Raises:
        TrackerError: on an outage.
    """
    because = row and row.notice
    for turn in range(MOST_TURNS):
        if turn and row is not None and row.state == LedgerState.FREE:
            # a request whose object was just not found may still arrive: it is never repeated in the same pass
            seconds = backoff(row.unclear or 0, random.random())  # noqa: S311 (jitter)
            return Waiting(Reason.ABSENT_ON_TRACKER(because=because), until=now + timedelta(seconds=seconds))
        if row is None or row.state == LedgerState.FREE:
            return None
        if row.state == LedgerState.LINKED and row.tracker_id is not None:
            created = ctx.created.get((kind, key))
            if created and is_another_item(row.item_created_at, created):
                return await _held(ctx, kind, row, created)
            return Created(row.tracker_id, row.tracker_project_id or 0)
        if row.state in FOR_A_PERSON:
            return Waiting(
                Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=row.notice), on_hold=(kind, key)
            )
        waiting = await _settle(ctx, kind, row, now)
        if waiting:
            return waiting
        row, now = await ctx.db.change(lambda tx: (tx.ledger(kind).get(key), tx.now()))
    return Waiting(Reason.BEING_WORKED_ON(kind=kind, key=key))


async def _held(ctx: TicketContext, kind: Kind, row: LedgerRow, created: datetime) -> Waiting:
    """Let a person decide, since the help desk created an item with the key of a linked row at another time."""
    reason = await ctx.db.change(lambda tx: ctx.decisions(tx, kind).reused(row, created))
    because = Reason.WAITS_FOR_PERSON(kind=kind, key=row.key, because=reason)
    return Waiting(because, on_hold=(kind, row.key))


async def noted_author(ctx: TicketContext, kind: Kind, key: int, tracker_id: int | None) -> Notice | None:
    """Return why an object that exists already does not have the intended author, if that was recorded."""
    noted = await ctx.db.change(lambda tx: tx.misattributed.get(kind, key))
    return noted.notice if noted and noted.tracker_id == tracker_id else None


async def _settle(ctx: TicketContext, kind: Kind, row: LedgerRow, now: datetime) -> Waiting | None:
    """Resolve a row that is claimed or in doubt if it is due; otherwise return what it waits for."""
    settling = ctx.settings.settling_time
    if row.state == LedgerState.CLAIMED:
        due = row.lease_until + timedelta(seconds=settling) if row.lease_until else now
        if now < due:
            return Waiting(Reason.BEING_CREATED(kind=kind), until=due)
        key, attempt = row.key, row.attempt
        await ctx.db.change(lambda tx: tx.ledger(kind).expire(key, attempt, settling))
        return None
    if row.settle_after and now < row.settle_after:
        return Waiting(_in_doubt(kind, row.notice), until=row.settle_after)
    try:
        await reconcile(ctx, kind, row)
    except LockBusy as busy:
        return Waiting(_in_doubt(kind, busy.notice))
    return None


async def put_in_doubt(creation: Creation, attempt: int, unclear: TrackerError) -> Waiting:
    """Put a claim without a clear answer in doubt, or on hold at once if the policy requires that."""
    ctx, kind, key = creation.ctx, creation.kind, creation.key
    settling = ctx.settings.settling_time
    cause = await _cause(creation, unclear)
    is_held = ctx.config.in_doubt_policy == "hold"
    began = (
        What.DOUBT_HELD(kind=kind, because=cause)
        if is_held
        else What.DOUBT_BEGAN(kind=kind, because=cause, settling=settling)
    )
    ctx.warn(began, task_id=creation.task_id)
    if is_held:
        policy = LedgerEvent.ON_HOLD_BY_POLICY
        await ctx.db.change(lambda tx: tx.ledger(kind).hold(key, attempt, cause, event=policy))
        return Waiting(Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=cause), on_hold=(kind, key))

    def in_doubt(tx: Transaction) -> datetime:
        tx.ledger(kind).doubt(key, attempt, settling, cause)
        return tx.now() + timedelta(seconds=settling)

    until = await ctx.db.change(in_doubt)
    return Waiting(_in_doubt(kind, cause), until=until, attempt=True)


async def _cause(creation: Creation, unclear: TrackerError) -> Notice:
    """Return why no clear answer came, including whether only this text fails while other tickets succeed."""
    said = unclear.notice
    if not isinstance(unclear, OutcomeUnknown) or unclear.status is None:
        return said
    ctx = creation.ctx

    def read(tx: Transaction) -> tuple[LedgerRow | None, int]:
        row = tx.ledger(creation.kind).get(creation.key)
        since = row and row.first_claimed_at
        return row, tx.journal.others_sent(ctx.ticket_id, since) if since else 0

    row, others = await ctx.db.change(read)
    detail = said.params.get("detail")
    if detail is None and unclear.status >= 500 and row and (row.unclear or 0) >= SURE:
        detail = Detail.ONLY_THIS_TEXT()
    if not others or not isinstance(detail, Notice) or detail.code not in OF_THIS_TEXT:
        return said
    return Notice(said.code, {**said.params, "detail": Notice(detail.code, {"others": others})})


def _in_doubt(kind: Kind, because: Notice | None) -> Notice:
    return Reason.CREATION_IN_DOUBT(kind=kind, because=because)
