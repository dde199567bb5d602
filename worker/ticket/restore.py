"""Restore mode: the tracker is searched before each creation, since the journal lost the events after the backup."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from shared.events.filter import why_nothing_is_sent
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.journal.due import snapshot_of
from shared.store.tables.ledger import LedgerRow
from shared.store.transaction import NotUnique, Transaction
from worker.ticket.match import Candidate, Doubt, fits_but_for_text, sent_essence, unheld
from worker.ticket.recall import Recalled, keeps_texts, recall
from worker.ticket.reconcile import of_no_row
from worker.ticket.requests import Creation
from worker.ticket.results import Created, Waiting
from worker.ticket.search import look_up

MOST_PAGES = 500
MARGIN = timedelta(minutes=15)


async def search_first(creation: Creation, since: datetime) -> Created | Waiting | None:
    """Search the tracker for an object that may have been created after the backup.

    Args:
        creation: the object to create.
        since: how far to look back (database clock).

    Returns:
        The object that was found, what it waits for, or None if the tracker does not have it.

    Raises:
        TrackerError: if the search failed; nothing was changed.
    """
    ctx, kind, key = creation.ctx, creation.kind, creation.key
    claim = creation.claim()
    if await ctx.db.change(lambda tx: tx.ledger(kind).is_alike_in_flight(claim.fingerprint, key)):
        return Waiting(Reason.EQUAL_SETTLED_FIRST(kind=kind))
    recalled = await _recall(creation, since)
    if recalled.own is not None and ctx.config.in_doubt_policy == "lookup":
        return await _adopt(creation, recalled.own)
    alike = [recalled.own] if recalled.own else recalled.alike
    if alike:
        return await _hold(creation, alike)
    ctx.note(What.NOT_THERE_YET(kind=kind), task_id=creation.task_id)
    return None


async def _recall(creation: Creation, since: datetime) -> Recalled:
    """Compare with every snapshot in the journal: it is no longer known which one was the newest at that time."""
    ctx, kind = creation.ctx, creation.kind
    forms = await _forms(creation)
    authors = {one for form in forms for one in form.claim().authors}
    anyone = any(not form.claim().authors for form in forms)
    places = dict.fromkeys(form.issue_id if kind.is_on_issue else form.sender.project_id for form in forms)
    sent = [sent_essence(kind, form.body, form.issue_id) for form in forms]
    listed, ahead = [], timedelta(0)
    for place in places:
        rows, offset = await look_up(ctx, kind, place, since - MARGIN, sent, most_pages=MOST_PAGES)
        listed += rows
        ahead = min(ahead, offset)
    held = await ctx.db.change(lambda tx: tx.ledger(kind).holders(listed))
    who = Doubt(creation.key, () if anyone else tuple(sorted(authors)), since - MARGIN + ahead)
    recalled = recall(kind, listed, [form.body for form in forms], who, held, creation.issue_id)
    if recalled.own or recalled.alike:
        return recalled

    def read(tx: Transaction) -> tuple[list[LedgerRow], list[LedgerRow]]:
        ledger = tx.ledger(kind)
        return list(ledger.linked_to(held)), [
            row for place in places for row in ledger.unlinked_at(place or 0)
        ]

    linked, unlinked = await ctx.db.change(read)
    bodies = {row.tracker_id: sent_essence(row.kind, row.body, row.issue_id) for row in linked if row.body}
    if keeps_texts(kind, listed, bodies):
        return recalled
    odd = of_no_row(unheld(kind, listed, held), unlinked)
    may_be = [replace(who, essence=essence) for essence in sent]
    return Recalled(None, [one for one in odd if any(fits_but_for_text(doubt, one) for doubt in may_be)])


async def _forms(creation: Creation) -> list[Creation]:
    """Return the creation, and how each event of the journal would have requested it, newest first."""
    ctx = creation.ctx
    rows = await ctx.db.change(lambda tx: tx.journal.find(ticket_id=ctx.ticket_id, limit=None))
    newest_first = sorted(rows, key=lambda row: row.occurred_at, reverse=True)
    events = [event for row in newest_first if (event := snapshot_of(row))]
    if creation.kind.is_on_issue:
        key = creation.asking.event.key
        events = [
            event for event in events if event.key == key and not why_nothing_is_sent(event, ctx.config)
        ]
    return await ctx.blocking(
        lambda: [form for one in (creation, *map(creation.as_of, events)) for form in one.forms()]
    )


async def _adopt(creation: Creation, own: Candidate) -> Created | Waiting:
    ctx, kind, claim = creation.ctx, creation.kind, creation.claim()
    lease = ctx.settings.claim_lease
    try:
        is_adopted = await ctx.db.change(
            lambda tx: ctx.decisions(tx, kind).adopt_after_restore(claim, lease, own)
        )
    except NotUnique:
        return Waiting(Reason.LINKED_ELSEWHERE(kind=kind, tracker_id=own.tracker_id))
    if not is_adopted:
        return Waiting(Reason.BEING_CREATED(kind=kind))
    return Created(own.tracker_id, creation.sender.project_id)


async def _hold(creation: Creation, alike: list[Candidate]) -> Waiting:
    ctx, kind, claim = creation.ctx, creation.kind, creation.claim()
    lease, may_be = ctx.settings.claim_lease, [one.tracker_id for one in alike]
    if not await ctx.db.change(lambda tx: ctx.decisions(tx, kind).hold_after_restore(claim, lease, may_be)):
        return Waiting(Reason.BEING_CREATED(kind=kind))
    because = Reason.ALIKE_AFTER_RESTORE()
    return Waiting(
        Reason.WAITS_FOR_PERSON(kind=kind, key=creation.key, because=because), on_hold=(kind, creation.key)
    )
