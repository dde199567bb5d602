"""Questions to the tracker that change nothing, what they find gone, and the administrator's calls, which need one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from shared.codes.faults import Detail, Fault
from shared.codes.kinds import Kind
from shared.errors import NotYet, OutcomeUnknown, TrackerRejected
from shared.events.payloads import Body
from shared.tracker.answers import Answer
from shared.tracker.client import Exchange
from worker.sync.drain import TicketContext
from worker.sync.results import Waiting


def call_as_administrator(
    ctx: TicketContext,
    method: str,
    path: str,
    body: Body,
    before_send: Callable[[], None] | None = None,
    expected: Collection[int] = (),
    begun: Exchange | None = None,
) -> Answer:
    """Make a call as the administrator; a 403 counts only when it comes again while the tracker is open.

    A REST API that is off answers 403, too, and it may be on again by the time that anybody asks.

    Raises:
        NotYet: refused, and whether the tracker was open is not known.
        TrackerClosed: the key or the REST API is off.
        TrackerError: as any call.
    """
    try:
        return ctx.tracker.call(
            method,
            path,
            body=body,
            before_send=before_send,
            observe=ctx.observe,
            expected=expected,
            begun=begun,
        )
    except TrackerRejected as rejection:
        if rejection.status != 403:
            raise
        refusal = rejection
    try:
        ctx.lists.ask_whether_open()
    except OutcomeUnknown as unclear:
        raise NotYet(Fault.OPENNESS_UNKNOWN(refusal=refusal.coded, because=unclear.coded)) from None
    return ctx.tracker.call(method, path, body=body, before_send=before_send, observe=ctx.observe)


def read_issue(ctx: TicketContext, issue_id: int, include: str | None = None) -> dict[str, Any]:
    """Return an issue as the tracker has it now.

    Args:
        ctx: the drain.
        issue_id: the issue.
        include: what more of it than its fields.

    Raises:
        OutcomeUnknown: the answer names no issue.
        TrackerError: as any call.
    """
    path = f"/issues/{issue_id}.json"
    found = ctx.lists.get(path, {"include": include} if include else None).data
    issue = found.get("issue") if isinstance(found, dict) else None
    if not isinstance(issue, dict):
        raise OutcomeUnknown("GET", path, detail=Detail.NO_OBJECT(kind=Kind.TICKET))
    return issue


def found_gone(ctx: TicketContext, issue_id: int) -> Waiting | None:
    """Mark the ticket's issue as no longer there where it is not, for a person to decide on; else None.

    Raises:
        TrackerError: an outage, or no clear answer.
    """
    if not _is_gone(ctx, issue_id):
        return None
    with ctx.transaction() as tx:
        reason = ctx.verdicts(tx, Kind.TICKET).gone(ctx.ticket_id, issue_id)
    return Waiting(reason, held=(Kind.TICKET, ctx.ticket_id))


def _is_gone(ctx: TicketContext, issue_id: int) -> bool:
    """Tell whether an issue no longer exists: an empty PUT answers 404, and the list does not have it.

    An issue of an archived project is in no list either, but its PUT answers 403.
    """
    path = f"/issues/{issue_id}.json"
    try:
        ctx.tracker.call("PUT", path, body={"issue": {}}, observe=ctx.observe)
    except TrackerRejected as rejection:
        if rejection.status == 403:
            ctx.lists.ask_whether_open()
        if rejection.status != 404:
            return False
    else:
        return False
    kind = Kind.TICKET
    params: dict[str, str | int] = {"issue_id": issue_id, "status_id": "*"}
    return ctx.lists.find(kind.path, kind.list_name, issue_id, params) is None
