"""Keeps the issue's status in step with the ticket's newest snapshot (SPEC section 3, "Ticket updated")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

from shared.bodies.contexts import RenderInput
from shared.errors import NotYet, OutcomeUnknown, TrackerError, TrackerFailing, TrackerRejected
from shared.events.payloads import Body, status_body
from shared.metadata.confirming import some_of
from shared.metadata.synchronisation import refresh
from shared.notices.faults import Detail
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.refusals.judging import as_integer
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.journal.ticket_queries import Desired
from shared.store.transaction import Transaction
from shared.templating.operations import Operation
from shared.values.ids import id_in
from worker.ticket import trial
from worker.ticket.bodies import body_for, built
from worker.ticket.confirmed import Transition
from worker.ticket.context import DbOp, TicketContext
from worker.ticket.diagnosis import explained
from worker.ticket.gone import issue_gone, issue_replaced
from worker.ticket.load import Work
from worker.ticket.results import Created, Result, Sent, Skipped, Waiting
from worker.ticket.retry import is_exhausted


async def give_status(ctx: TicketContext, work: Work, issue: Created) -> Result:
    """Set the newest status on the tracker as the API user, who may make any transition that some role may make.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket; its status is due.
        issue: the linked issue.

    Raises:
        TrackerRejected: if the tracker permanently refused the status, has no such status, did not apply it, or never
            gave a clear answer.
        Outdated, LockBusy: if the settings have changed, or the ticket's lock was lost; nothing was sent.
        TrackerError: on an outage.
    """
    state = work.state
    try:
        return await _given(ctx, work, issue)
    except TrackerRejected as rejection:
        reason = Reason.STATUS_REFUSED(because=rejection.notice)
        dropping = partial(drop, ctx, state, issue.tracker_id, reason, warning=True)
        is_of_deleted = work.deleted_status_id(ctx.config) is not None
        of_status = None if is_of_deleted else state.newest_mapped(ctx.config.status_map)[1]
        await ctx.db.change_if_current(dropping, of_status=of_status)
        raise
    except (NotYet, OutcomeUnknown) as unclear:
        return await _wait(ctx, work, unclear)
    except TrackerFailing as failing:
        await _wait(ctx, work, failing)
        raise


async def _given(ctx: TicketContext, work: Work, issue: Created) -> Result:
    state, issue_id = work.state, issue.tracker_id
    body = await built(ctx, _body, ctx, work, issue)
    if not body["issue"]:
        known = state.status in ctx.config.status_map
        lacks = Reason.STATUS_NOT_IN_TEMPLATE if known else Reason.STATUS_NOT_MAPPED
        reason = lacks(status=state.status)
        await ctx.db.change_if_current(partial(drop, ctx, state, issue_id, reason))
        return Skipped(reason, follows_from_settings=True)
    path, status_id = f"/issues/{issue_id}.json", body["issue"].get("status_id")
    if ctx.config.trial:
        return trial.planned(ctx, work.now, await trial.update(ctx, issue_id, status_id))
    if not _is_known(work, status_id) and not await _is_there(ctx, status_id):
        raise TrackerRejected("PUT", path, detail=Detail.STATUS_NOT_THERE(tracker_status_id=status_id))
    try:
        if replaced := await issue_replaced(ctx, work, issue):
            return replaced
        await ctx.call_unclaimed("PUT", path, body)
        wanted, ignored = as_integer(status_id), None
        transition = _transition(ctx, work, issue, wanted)
        if wanted is not None and not (transition and ctx.services.confirmed.is_known(transition)):
            ignored = await _ignored(ctx, issue.tracker_id, wanted, transition)
    except OutcomeUnknown as unclear:
        if is_exhausted(state.status_attempts + 1):
            detail = Detail.UNCLEAR_TOO_OFTEN()
            raise TrackerRejected(
                unclear.method, unclear.path, status=unclear.status, detail=detail
            ) from None
        raise
    except TrackerRejected as rejection:
        if rejection.status == 404 and (gone := await issue_gone(ctx, issue_id)):
            return gone
        operation = Operation.ISSUE_UPDATE_STATUS
        raise await explained(ctx, operation, body, issue.project_id, rejection) from None
    if ignored:
        raise ignored
    if work.deleted_status_id(ctx.config) is not None:
        await ctx.db.change(partial(_note_deleted, ctx, state, issue_id, status_id))
        return Sent(Reason.STATUS_SET(issue_id=issue_id, tracker_status_id=status_id))
    told, done = (
        (What.UPDATE_GIVEN, Reason.ISSUE_UPDATED)
        if status_id is None
        else (What.STATUS_GIVEN, Reason.STATUS_SET)
    )
    now = {"issue_id": issue_id, "tracker_status_id": status_id}
    event_id, status = state.newest_mapped(ctx.config.status_map)
    ctx.note(told(**now, status=status, event_id=event_id))
    await ctx.db.run(Given(ctx, state, ctx.config.status_map.get(status, status_id)))
    return Sent(done(**now))


def _note_deleted(ctx: TicketContext, state: Desired, issue_id: int, status_id: int, tx: Transaction) -> None:
    """Record that the issue has the status of a deleted ticket; the ticket's own is due once it is restored."""
    tx.statuses.record_set([(ctx.ticket_id, state.event_id, status_id)])
    drop(ctx, state, None, Reason.TICKET_DELETED(), tx)
    ctx.note(What.DELETED_STATUS_SET(issue_id=issue_id, tracker_status_id=status_id))


async def _ignored(
    ctx: TicketContext, issue_id: int, wanted: int, transition: Transition | None
) -> TrackerRejected | None:
    """Return an error if the tracker reported success for a status but did not apply it, else None.

    Raises:
        TrackerError: if the issue could not be read back.
    """
    found = await ctx.tracker.issue(issue_id, "allowed_statuses,children,relations")
    if id_in(found.get("status")) == wanted:
        if transition:
            ctx.services.confirmed.note(transition)
        return None
    known = await ctx.db.change(lambda tx: tx.metadata.get(MetadataKind.STATUS, wanted))
    ignored = TrackerRejected("PUT", f"/issues/{issue_id}.json", status=204)
    ignored.notice = _why_ignored(issue_id, found, wanted, known)
    return ignored


def _why_ignored(issue_id: int, found: dict[str, Any], wanted: int, known: Entry | None) -> Notice:
    """Return why an issue does not have the status that was sent, as far as the issue shows."""
    about = {
        "issue_id": issue_id,
        "kept": _named(found.get("status")),
        "wanted": str(known or wanted),
    }
    allowed = [one for one in _dicts(found, "allowed_statuses") if id_in(one) != id_in(found.get("status"))]
    if wanted in map(id_in, allowed):
        return Detail.STATUS_TAKEN_BACK(**about)
    before = [id_in(one) for one in _dicts(found, "children")]
    before += [
        one.get("issue_id")
        for one in _dicts(found, "relations")
        if one.get("relation_type") == "blocks" and one.get("issue_id") != issue_id
    ]
    closes = known is not None and known.details.get("is_closed")
    if closes and before and not any(one.get("is_closed") for one in allowed):
        return Detail.STATUS_HINDERED(**about, tracker_ids=before)
    return Detail.STATUS_NOT_TAKEN(**about, **some_of([_named(one) for one in allowed]))


def _dicts(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    listed = found.get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _transition(ctx: TicketContext, work: Work, issue: Created, wanted: int | None) -> Transition | None:
    """Return the transition to a status, or None if the issue type that was sent or the status before is unknown."""
    state, row = work.state, work.issue_row
    is_before_known = state.given_event_id is None or state.given_status_id is not None
    if wanted is None or not is_before_known:
        return None
    if issue.now and Operation.ISSUE_CREATE not in ctx.templates:
        sent: object = ctx.config.default_tracker_id
    elif row is not None and row.body is not None and row.tracker_id == issue.tracker_id:
        sent = row.body["issue"].get("tracker_id")
    else:
        return None
    return Transition(issue.project_id, str(sent), state.given_status_id, wanted)


def _named(reference: object) -> str:
    """Return the id and the name of a status in the tracker's answer."""
    name = reference.get("name") if isinstance(reference, dict) else None
    return f"{id_in(reference)} ({name})"


@dataclass(frozen=True)
class Given(DbOp[None]):
    """The record that the tracker has a status."""

    ctx: TicketContext
    state: Desired
    tracker_status_id: int | None

    @property
    def locks_settings(self) -> bool:
        return True

    def owner(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[None]:
        """Record the statuses of several tickets."""
        given = [(one.ctx, one.state, one.tracker_status_id) for one in operations]
        note_given(tx, tx.configs.status_map(), given)
        return [None] * len(operations)


def note_given(
    tx: Transaction, status_map: Mapping[int, int], given: Sequence[tuple[TicketContext, Desired, int | None]]
) -> set[int]:
    """Record which statuses the tracker has, and that others are due if status_map has changed meanwhile.

    The person who changed it could not see what was being sent.

    Args:
        tx: an open transaction.
        status_map: the current status map (`Configs.status_map`).
        given: for each status the ticket's context, the state that it follows from, and its id on the tracker.

    Returns:
        The tickets for which no status is due.
    """
    newest = tx.statuses.record_set([(ctx.ticket_id, state.event_id, has) for ctx, state, has in given])
    owed = [
        ctx for ctx, state, has in given if status_map.get(state.newest_mapped(status_map)[1], has) != has
    ]
    tx.statuses.give([ctx.ticket_id for ctx in owed])
    for ctx in owed:
        ctx.note(What.STATUS_MAP_CHANGED())
        ctx.to_notify.add(ctx.ticket_id)
    return newest - {ctx.ticket_id for ctx in owed}


def drop(
    ctx: TicketContext,
    state: Desired,
    issue_id: int | None,
    reason: Notice,
    tx: Transaction,
    *,
    warning: bool = False,
) -> None:
    """Do not set a status any more, unless a newer one comes or a person requests it again."""
    tx.statuses.dropped(ctx.ticket_id, state.event_id, reason)
    if issue_id is not None:
        ctx.note(What.STATUS_KEPT(issue_id=issue_id, because=reason), warning=warning)


async def _wait(ctx: TicketContext, work: Work, unclear: TrackerError | NotYet) -> Waiting:
    """Retry the status later, when a call without a clear answer can no longer take effect."""
    state = work.state

    def wait(tx: Transaction) -> datetime:
        settled = tx.now() + timedelta(seconds=ctx.settings.settling_time)
        until = max(ctx.later(work.now, state.status_attempts), settled)
        tx.statuses.wait(ctx.ticket_id, state.event_id, until, unclear.notice, attempt=True)
        return until

    until = await ctx.db.change(wait)
    return Waiting(unclear.notice, until=until, attempt=True)


def _is_known(work: Work, status_id: object) -> bool:
    """Return whether the cache has a status; also True if it is empty, which proves nothing."""
    return not isinstance(status_id, int) or not work.statuses or status_id in work.statuses


async def _is_there(ctx: TicketContext, status_id: int) -> bool:
    """Return whether the tracker has a status: it answers 204 to a PUT of an unknown one, and does not apply it."""
    await ctx.metadata(lambda store, lists: refresh(store, lists, MetadataKind.STATUS))
    found = await ctx.db.change(lambda tx: tx.metadata.get(MetadataKind.STATUS, status_id))
    return found is not None


def _body(ctx: TicketContext, work: Work, issue: Created) -> Body:
    """Return the request body; its object is empty if the status is not mapped."""
    state, deleted_status_id = work.state, work.deleted_status_id(ctx.config)
    if deleted_status_id is not None:
        return status_body(deleted_status_id)
    owed = state.owes(ctx.config.status_map)
    about = RenderInput(
        ticket=work.ticket,
        task=None,
        occurred_at=state.occurred_at,
        event_name=next((one.event.event for one in work.events if one.id == state.event_id), None),
        link=work.mapping,
        project_id=issue.project_id,
        issue_id=issue.tracker_id,
        person=work.technician.person,
        status=None if owed is None else state.newest_mapped(ctx.config.status_map)[1],
    )
    plain = status_body(owed) if owed is not None else {"issue": {}}
    return body_for(ctx, Operation.ISSUE_UPDATE_STATUS, about, lambda: plain)
