"""Finds out whether an issue no longer exists on the tracker."""

from __future__ import annotations

from shared.errors import TrackerRejected
from shared.notices.kinds import Kind
from shared.tracker.lists import Params
from worker.ticket.context import TicketContext
from worker.ticket.results import Waiting

ISSUE_MAY_BE_GONE = (404, 422)
"""The tracker's answers if the issue of a request no longer exists; they have other causes too."""


async def issue_gone(ctx: TicketContext, issue_id: int) -> Waiting | None:
    """Mark the ticket's issue as gone if it no longer exists, and return the wait for a decision; else return None.

    Args:
        ctx: the ticket's context.
        issue_id: the issue that the ticket's row is linked to.

    Raises:
        TrackerError: on an outage, or without a clear answer.
    """
    if not await _is_gone(ctx, issue_id):
        return None
    reason = await ctx.db.change(lambda tx: ctx.decisions(tx, Kind.TICKET).gone(ctx.ticket_id, issue_id))
    return Waiting(reason, on_hold=(Kind.TICKET, ctx.ticket_id))


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
