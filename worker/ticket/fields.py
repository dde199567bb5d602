"""Sets the fields of an issue that the tracker did not accept when it was created, once, as the API user.

A tracker silently drops or replaces fields that a role may not set, and answers 201. Fields that still differ after
this update are named in the event, the ticket history and the doctor.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from shared.errors import NotYet, OutcomeUnknown, TrackerRejected
from shared.events.payloads import Body, not_taken, watchers_of
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.transaction import Transaction
from shared.telemetry import metrics
from shared.values.ids import id_in
from worker.ticket.confirmed import WATCHERS, Watchers
from worker.ticket.context import TicketContext
from worker.ticket.gone import issue_gone, issue_replaced
from worker.ticket.load import Work
from worker.ticket.results import Created
from worker.ticket.retry import is_exhausted


async def give_fields(ctx: TicketContext, work: Work, issue: Created) -> list[str]:
    """Send the fields of an issue that are still missing.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
        issue: the linked issue.

    Returns:
        The fields that the tracker still stores differently.

    Raises:
        TrackerError: on an outage; the fields stay due.
        Outdated, LockBusy: if the settings have changed, or the ticket's lock was lost; nothing was sent.
    """
    state = await ctx.db.change(lambda tx: tx.statuses.get(ctx.ticket_id))
    row = await ctx.db.change(lambda tx: tx.issues.get(ctx.ticket_id))
    if state is None or not state.fields_due or row is None or row.tracker_id != issue.tracker_id:
        return []
    if state.fields_at and state.fields_at > ctx.now(work.now):
        return []
    if work.mapping is None:
        return await _conclude(ctx, issue, state.fields_due, state.fields_due, Reason.NO_LINK())
    sent = (row.body or {}).get("issue", {})
    due = [name for name in state.fields_due if name in sent]
    body = {"issue": {name: sent[name] for name in due if name != WATCHERS}}
    path, attempts = f"/issues/{issue.tracker_id}.json", (state.fields_attempts or 0) + 1
    left, because = due, None
    try:
        if body["issue"]:
            if await issue_replaced(ctx, work, issue):
                return []
            await ctx.call_unclaimed("PUT", path, body)
        now = await ctx.tracker.issue(issue.tracker_id, "watchers" if WATCHERS in due else None)
        left = [
            *not_taken(body, now),
            *(_watchers_left_out(ctx, issue, row.body or {}, now) if WATCHERS in due else ()),
        ]
    except TrackerRejected as rejection:
        gone = await issue_gone(ctx, issue.tracker_id) if rejection.status == 404 else None
        if gone:
            return []
        because = rejection.notice
    except (NotYet, OutcomeUnknown) as unclear:
        if not is_exhausted(attempts):
            until = max(
                ctx.later(work.now, attempts),
                ctx.now(work.now) + timedelta(seconds=ctx.settings.settling_time),
            )
            await ctx.db.change(lambda tx: tx.statuses.fields_wait(ctx.ticket_id, until))
            return []
        because = unclear.notice
    return await _conclude(ctx, issue, list(body["issue"]), left, because)


def _watchers_left_out(ctx: TicketContext, issue: Created, body: Body, found: dict[str, Any]) -> list[str]:
    """Return the watchers' field if the tracker has dropped a watcher: an update of the issue cannot add any."""
    sent = Watchers(issue.project_id, watchers_of(body))
    shown = found.get("watchers")
    if isinstance(shown, list) and not sent.user_ids <= {id_in(one) for one in shown}:
        return [WATCHERS]
    ctx.services.confirmed.note(sent)
    return []


async def _conclude(
    ctx: TicketContext, issue: Created, due: Sequence[str], left: Sequence[str], because: Notice | None
) -> list[str]:
    given = [name for name in due if name not in left]
    if given:
        ctx.note(What.FIELDS_GIVEN(issue_id=issue.tracker_id, fields=given))
    if left:
        ctx.warn(What.FIELDS_KEPT(issue_id=issue.tracker_id, fields=list(left), because=because))
    for name in left:
        metrics.FIELDS_KEPT.labels(field=name).inc()
    await ctx.db.change(partial(_done, ctx.ticket_id, left))
    return list(left)


def _done(ticket_id: int, left: Sequence[str], tx: Transaction) -> None:
    tx.statuses.fields_done(ticket_id, left)
