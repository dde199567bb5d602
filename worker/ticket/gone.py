"""Finds out whether a ticket's issue no longer exists on the tracker, or its number belongs to another issue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from shared.errors import TrackerRejected
from shared.notices.kinds import Kind
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Transaction
from shared.tracker.lists import Params
from shared.values.identity import Identity
from worker.ticket.context import TicketContext
from worker.ticket.load import Work
from worker.ticket.results import Created, Waiting
from worker.ticket.rights import is_deleted
from worker.ticket.search import see_notes

ISSUE_MAY_BE_GONE = (404, 422)
"""The tracker's answers if the issue of a request no longer exists; they have other causes too."""
RECOGNISED_S = 30.0
"""For how many seconds an issue counts as recognised: a pass may wait long for a call, or with a suspended machine."""


async def issue_replaced(
    ctx: TicketContext, work: Work, issue: Created, include: str | None = None
) -> Waiting | None:
    """Make sure, before anything is written to an existing issue, that its number still belongs to the ticket's issue.

    A tracker that was restored gives numbers to new issues again. The issue is read once in a pass, again if the pass
    takes long, and not at all if the pass created or found it.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
        issue: the issue that the ticket is linked to.
        include: the associated data to read with it; the newest of its notes is remembered.

    Returns:
        The wait for a person's decision if it is another issue or gone, else None.

    Raises:
        TrackerError: if it cannot be read.
    """
    row, issue_id = work.issue_row, issue.tracker_id
    if row is None or row.state != LedgerState.LINKED or row.tracker_id != issue_id:
        return None
    if ctx.recognised and not ctx.recognised.is_over:
        return None
    recognised = SendWindow(RECOGNISED_S)
    # a tracker that refuses to write may still answer this
    tracker = replace(ctx.tracker, observe=partial(ctx.observe, is_proof=False))
    try:
        there = await tracker.issue(issue_id, include)
    except TrackerRejected as refused:
        if refused.status == 404:
            return await issue_gone(ctx, issue_id)
        if refused.status != 403:
            raise
        await ctx.tracker.check_access()
        return None  # it is in an archived project, where nothing can be written
    known, now = Identity(row.created_on, row.author_id), Identity.of(Kind.TICKET, there)
    is_by_another = known.is_by_another(now) and not await _is_deleted(ctx, known.author_id)
    if known.is_of_another_time(now) or is_by_another:
        return await _hold(ctx, issue_id, there)
    ctx.recognised = recognised
    see_notes(ctx, issue_id, there.get("journals"))
    if known.created_on is None:
        # a deleted author stays known: the doctor names what lost its author
        made = known.author_id or now.author_id, now.created_on
        await ctx.db.change(lambda tx: tx.issues.belongs_to(ctx.ticket_id, issue_id, *made))
    return None


async def _is_deleted(ctx: TicketContext, user_id: int | None) -> bool:
    """Return whether a user was deleted: the tracker then names another author of their issues."""
    return user_id is not None and await is_deleted(ctx, user_id)


async def issue_gone(ctx: TicketContext, issue_id: int) -> Waiting | None:
    """Mark the ticket's issue as gone if it no longer exists, and return the wait for a decision; else return None.

    Args:
        ctx: the ticket's context.
        issue_id: the issue that the ticket's row is linked to.

    Raises:
        TrackerError: on an outage, or without a clear answer.
    """
    return None if not await _is_gone(ctx, issue_id) else await _hold(ctx, issue_id)


async def _hold(ctx: TicketContext, issue_id: int, instead: Mapping[str, Any] | None = None) -> Waiting:
    """Let the ticket wait for a person; `instead` is the issue that has the number now."""

    def gone(tx: Transaction) -> Waiting:
        reason = ctx.decisions(tx, Kind.TICKET).gone(ctx.ticket_id, issue_id, instead)
        return Waiting(reason, on_hold=(Kind.TICKET, ctx.ticket_id))

    return await ctx.db.change(gone)


async def _is_gone(ctx: TicketContext, issue_id: int) -> bool:
    """Return whether an issue no longer exists: an empty PUT answers 404, and the list does not have it.

    An issue of an archived project is in no list either, but its PUT answers 403.
    """
    try:
        await ctx.tracker.call("PUT", f"/issues/{issue_id}.json", body={"issue": {}})
    except TrackerRejected as rejection:
        if rejection.status == 403:
            await ctx.tracker.check_access()
        if rejection.status != 404:
            return False
    else:
        return False
    kind = Kind.TICKET
    params: Params = {"issue_id": issue_id, "status_id": "*"}
    return await ctx.tracker.find(kind.path, kind.list_name, issue_id, params) is None
