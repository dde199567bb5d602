"""Resolves rows in doubt by searching the tracker."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.errors import OutcomeUnknown, TrackerError, TrackerRejected
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import NotUnique, Transaction
from worker.ticket.context import TicketContext
from worker.ticket.match import (
    Candidate,
    Doubt,
    Resolution,
    candidates,
    fingerprint,
    fits_but_for_text,
    resolve,
    sent_essence,
    unheld,
)
from worker.ticket.retry import backoff, is_given_up, is_undecidable, round_delay
from worker.ticket.search import look_up, was_created_in

# the tracker's clock may have been corrected since it dated the object that we look for (decision 6)
CLOCK_MARGIN = timedelta(minutes=15)
BUSY_S = 2.0
Times = Mapping[int, datetime]
"""Tracker id to the time at which its object was created."""


async def reconcile(ctx: TicketContext, kind: Kind, row: LedgerRow) -> None:
    """Resolve a row in doubt to `linked`, `free` or `on_hold`, together with rows that may be indistinguishable.

    Args:
        ctx: the ticket's context.
        kind: the kind of the row.
        row: the row in doubt, whose settling time is over.

    Raises:
        TrackerError: on an outage; nothing was decided.
        LockBusy: if another worker is resolving these rows; they stay due.
    """
    shared = fingerprint(kind, row.body or {}, row.issue_id)
    async with ctx.redis.hold(f"settle:{shared}"):
        await _settle_alike(ctx, kind, row, shared)


async def _settle_alike(ctx: TicketContext, kind: Kind, row: LedgerRow, shared: str) -> None:

    def read(tx: Transaction) -> tuple[datetime, list[LedgerRow]]:
        return tx.now(), list(tx.ledger(kind).in_doubt_like(shared))

    moment, alike = await ctx.db.change(read)
    if not alike:
        return
    if ctx.config.in_doubt_policy == "hold":
        await _hold_all(ctx, alike, Reason.POLICY_IS_HOLD())
        return
    try:
        await _look(ctx, kind, row, shared, moment, alike)
    except (OutcomeUnknown, TrackerRejected) as failure:
        await _another_round(ctx, alike, failure)


async def _look(
    ctx: TicketContext, kind: Kind, row: LedgerRow, shared: str, moment: datetime, alike: list[LedgerRow]
) -> None:
    sent = {_id(one): sent_essence(kind, one.body or {}, one.issue_id) for one in alike}
    within = row.issue_id if kind.is_on_issue else row.tracker_project_id
    since = min(_since(one) for one in alike)
    tried = [sent_essence(kind, body, one.issue_id) for one in alike for body in one.earlier or ()]
    listed, offset = await look_up(ctx, kind, within, since, [*sent.values(), *tried], moved=True)
    before = {
        _id(one): await _of_earlier(ctx, kind, one, within, listed, since) for one in alike if one.earlier
    }

    def read_others(tx: Transaction) -> tuple[set[int], list[LedgerRow], list[LedgerRow], Times]:
        ledger = tx.ledger(kind)
        unlinked = list(ledger.unlinked_at(within or 0))
        times = ledger.created_on({one.newest_before for one in (*alike, *unlinked)})
        return ledger.holders(listed), list(ledger.unsettleable_like(shared, moment)), unlinked, times

    held, others, unlinked, times = await ctx.db.change(read_others)
    found = candidates(kind, listed, sent.values(), held)
    if found and others:
        await _wait_for(ctx, alike, others)
        return
    doubts = [_doubt(ctx, one, offset, times) for one in alike]
    created = [await _as_created(ctx, one, within, doubts) for one in unheld(kind, listed, held)]
    odd = of_no_row([one for one in created if one], unlinked)
    verdict = resolve(doubts, found, before, odd)
    if verdict.other_text and (busy := _claimed_for(ctx, verdict, unlinked, offset, times)):
        await _wait_for(ctx, alike, busy)
        return
    await _apply(ctx, alike, verdict)


async def _as_created(
    ctx: TicketContext, one: Candidate, within: int | None, doubts: Sequence[Doubt]
) -> Candidate | None:
    """Return an object at the place at which it was created; None if that is another one, or if it is not wanted."""
    if one.essence is None or one.essence.place == within:
        return one
    here = replace(one, essence=replace(one.essence, place=within))
    is_wanted = any(fits_but_for_text(doubt, here) for doubt in doubts)
    return here if is_wanted and await was_created_in(ctx, one.tracker_id, within) else None


def _doubt(ctx: TicketContext, row: LedgerRow, offset: timedelta, times: Times) -> Doubt:
    """Return what matching needs of a row, with times by the tracker's clock, which is ahead by `offset`."""
    settling = timedelta(seconds=ctx.settings.settling_time)
    return Doubt(
        _id(row),
        tuple(row.authors or ()),
        _since(row) + offset,
        refused=tuple(row.candidates or ()),
        essence=sent_essence(row.kind, row.body or {}, row.issue_id),
        newest_before=row.newest_before or 0,
        newest_at=times.get(row.newest_before or 0),
        until=row.lease_until + settling + CLOCK_MARGIN + offset if row.lease_until else None,
    )


def of_no_row(found: Iterable[Candidate], rows: Sequence[LedgerRow]) -> list[Candidate]:
    """Return the objects whose text none of the rows has sent."""
    bodies = [(row, body) for row in rows for body in (row.body, *(row.earlier or ())) if body]
    sent = [sent_essence(row.kind, body, row.issue_id) for row, body in bodies]
    return [one for one in found if one.essence and not any(one.essence.meets(essence) for essence in sent)]


def _claimed_for(
    ctx: TicketContext,
    verdict: Resolution,
    unlinked: Sequence[LedgerRow],
    offset: timedelta,
    times: Times,
) -> list[LedgerRow]:
    """Return the rows that are claimed, and whose answers may name one of the objects with another text."""
    odd = [one for many in verdict.other_text.values() for one in many]
    claimed = [row for row in unlinked if row.state == LedgerState.CLAIMED]
    return [
        row for row in claimed if any(fits_but_for_text(_doubt(ctx, row, offset, times), one) for one in odd)
    ]


def _id(row: LedgerRow) -> tuple[Kind, int]:
    """Return the unique id of a row: rows with the same text may be of two kinds."""
    return row.kind, row.key


async def _of_earlier(
    ctx: TicketContext,
    kind: Kind,
    row: LedgerRow,
    within: int | None,
    listed: Sequence[Mapping[str, Any]],
    since: datetime,
) -> list[Candidate]:
    """Return the objects that earlier attempts of a row may have created, with the text that it had then."""
    found: list[Candidate] = []
    for body in row.earlier or ():
        essence = sent_essence(kind, body, row.issue_id)
        place = essence.place
        rows = listed if place == within else (await look_up(ctx, kind, place, since, [essence]))[0]
        held = await ctx.db.change(partial(_holders, kind=kind, listed=rows))
        # already compared here, with the text of that attempt
        found += [replace(one, essence=None) for one in candidates(kind, rows, [essence], held)]
    return found


def _holders(tx: Transaction, kind: Kind, listed: Sequence[Mapping[str, Any]]) -> set[int]:
    return tx.ledger(kind).holders(listed)


async def _wait_for(ctx: TicketContext, alike: Sequence[LedgerRow], others: Sequence[LedgerRow]) -> None:
    """Wait for rows with the same text that are still in progress: the objects that were found may be theirs.

    All rows become due at the same moment, so that no two rows wait for each other.
    """

    def wait(tx: Transaction) -> None:
        soon = tx.now() + timedelta(seconds=BUSY_S)
        due = max((one.settle_after or soon for one in others), default=soon)
        for row in alike:
            ledger = tx.ledger(row.kind)
            ledger.another_round(row.key, row.attempt, due, Reason.EQUAL_UNDER_WAY(), count=False)

    await ctx.db.change(wait)


def _since(row: LedgerRow) -> datetime:
    claimed_at = row.first_claimed_at or row.claimed_at or datetime.fromtimestamp(0, UTC)
    return claimed_at - CLOCK_MARGIN


async def _apply(ctx: TicketContext, alike: Sequence[LedgerRow], verdict: Resolution) -> None:
    def apply(tx: Transaction, row: LedgerRow) -> None:
        decisions, row_id = ctx.decisions(tx, row.kind), _id(row)
        if row_id in verdict.adopted:
            decisions.adopt(row, verdict.adopted[row_id])
        elif row_id in verdict.unclear:
            may_be = [one.tracker_id for one in verdict.unclear[row_id]]
            decisions.hold(row, Reason.UNEXPECTED_AUTHOR(), may_be)
        elif row_id in verdict.other_text:
            may_be = [one.tracker_id for one in verdict.other_text[row_id]]
            decisions.hold(row, Reason.OTHER_TEXT(), may_be)
        elif is_given_up(row.unclear or 0):
            decisions.hold(row, Reason.NEVER_CLEAR(count=row.unclear))
        else:
            decisions.free(row, backoff(row.unclear or 0, random.random()))  # noqa: S311 (jitter)

    for row in alike:
        try:
            await ctx.db.change(partial(apply, row=row))
        except NotUnique:
            continue  # the candidate's own creator linked it meanwhile; this row stays in doubt
        if row.ticket_id != ctx.ticket_id:
            ctx.to_notify.add(row.ticket_id)


async def _hold_all(ctx: TicketContext, alike: Sequence[LedgerRow], because: Notice) -> None:
    def hold(tx: Transaction) -> None:
        for row in alike:
            ctx.decisions(tx, row.kind).hold(row, because)

    await ctx.db.change(hold)


async def _another_round(ctx: TicketContext, alike: Sequence[LedgerRow], failure: TrackerError) -> None:
    refused = isinstance(failure, TrackerRejected)
    undecided = [row for row in alike if is_undecidable(row.rounds + 1, refused=refused)]
    if undecided:
        rounds = max(row.rounds for row in undecided) + 1
        await _hold_all(ctx, undecided, Reason.NO_VERDICT(count=rounds, because=failure.notice))
    rounds = max((row.rounds for row in alike), default=0)
    delay = timedelta(seconds=round_delay(rounds, random.random()))  # noqa: S311 (jitter)

    def wait(tx: Transaction) -> None:
        due = tx.now() + delay
        for row in alike:
            if row not in undecided:
                tx.ledger(row.kind).another_round(row.key, row.attempt, due, failure.notice)

    await ctx.db.change(wait)
