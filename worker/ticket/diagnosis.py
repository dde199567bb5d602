"""Explanations of a refusal: the tracker's own texts are in its language, and name no field."""

from __future__ import annotations

from shared.errors import BridgeError, NotStarted, TrackerRejected
from shared.events.payloads import Body
from shared.notices.faults import Detail
from shared.notices.hints import IGNORED
from shared.notices.notice import Notice
from shared.notices.steps import What
from shared.refusals.hints import explain
from shared.refusals.known import KnownMetadata, known_of
from shared.templating.operations import Operation
from worker.ticket.context import TicketContext
from worker.ticket.fresh_metadata import known_now


async def explained(
    ctx: TicketContext,
    operation: Operation,
    body: Body,
    project_id: int,
    refusal: TrackerRejected,
    task_id: int | None = None,
) -> TrackerRejected:
    """Return a refusal with hints that explain it, each with its article; record them in the ticket history too.

    Args:
        ctx: the ticket's context.
        operation: the refused operation.
        body: the request body.
        project_id: the tracker project that it was for.
        refusal: the tracker's answer.
        task_id: the ticket task that it is about.
    """
    known = await _known(ctx, operation, body, project_id)
    why = explain(operation, body, known, refusal.status or 422, said=bool(refusal.errors))
    found = [one for one in why if one.record != IGNORED]
    for hint in found:
        told = What.PERHAPS_REFUSED_FOR(field=hint.field, problem=hint.why, record=hint.record)
        ctx.warn(told, task_id=task_id)
    hints = [Detail.EXPLAINED_BY(field=one.field, problem=one.why, record=one.record) for one in found]
    if hints:
        refusal.notice = Notice(refusal.notice.code, {**refusal.notice.params, "hints": hints})
    return refusal


async def _known(ctx: TicketContext, operation: Operation, body: Body, project_id: int) -> KnownMetadata:
    """Return the current data of the tracker, or the cached data if it cannot be read.

    Raises:
        NotStarted: if nothing new may start.
    """
    ctx.people.clear()  # this may refresh the cached users too
    try:
        return await ctx.metadata(lambda store, lists: known_now(store, lists, operation, body, project_id))
    except NotStarted:
        raise
    except BridgeError:
        return await ctx.db.change(lambda tx: known_of(tx, project_id))
