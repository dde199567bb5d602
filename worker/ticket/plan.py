"""Which events log time (SPEC section 3) or add something to the issue: pure decisions over loaded data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.events.config import PluginConfig
from shared.events.event import Deletion, Event, is_private
from shared.events.filter import why_addition_filtered, why_filtered
from shared.events.snapshots import Document, Note, TicketTask
from shared.notices.kinds import Kind, RowId
from shared.notices.notice import Notice
from shared.notices.reasons import Reason

BY_SETTINGS = (
    Reason.PRIVATE_TASK,
    Reason.FOLLOWUPS_OFF,
    Reason.PRIVATE_FOLLOWUP,
    Reason.PRIVATE_THERE,
    Reason.SOLUTIONS_OFF,
    Reason.DOCUMENTS_OFF,
    Reason.DOCUMENT_TOO_LARGE,
    Reason.DOCUMENT_TYPE_REFUSED,
)
"""Reasons that follow from the settings, so that an event is skipped only if these are still in force."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending event of the journal, with its content.

    Attributes:
        is_completed: whether the help desk's own webhook sent it, so that missing data was asked for.
    """

    id: int
    event: Event
    attempts: int = 0
    delivery_id: str = ""
    traceparent: str | None = None
    received_at: datetime | None = None
    is_completed: bool = False

    @property
    def task(self) -> TicketTask:
        """The ticket task of a ticket_task.* event."""
        if self.event.task is None:
            raise ValueError(f"event {self.id} has no ticket task")
        return self.event.task

    @property
    def addition(self) -> Note | Document:
        """The follow-up, solution or document of an event that is about one."""
        if self.event.addition is None:
            raise ValueError(f"event {self.id} has no follow-up, solution or document")
        return self.event.addition

    @property
    def row_id(self) -> RowId:
        """The id of the ledger row of the time entry, note or attachment that the event asks for."""
        if self.event.addition:
            return self.event.addition_kind, self.event.addition_key
        return Kind.TICKET_TASK, self.task.id


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """The newest event of a key in the journal, whatever its state and its ticket."""

    event_id: int
    event: Event | Deletion


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for the pending events of a ticket's tasks, follow-ups, solutions and documents.

    Attributes:
        wanted: events that ask for a time entry, the newest of each ticket task, in order.
        additions: events that ask for a note or an attachment, one for each, in event order.
        skipped: event id to the reason why it sends nothing.
        logged: event id to the time entry that was logged earlier.
        added: event id to the note or attachment that was sent earlier.
        superseded: event id to the event that replaces it, of the same ticket task, follow-up, solution or document.
    """

    wanted: list[Pending] = field(default_factory=list)
    additions: list[Pending] = field(default_factory=list)
    skipped: dict[int, Notice] = field(default_factory=dict)
    logged: dict[int, int] = field(default_factory=dict)
    added: dict[int, int] = field(default_factory=dict)
    superseded: dict[int, int] = field(default_factory=dict)


def plan_times(
    events: Sequence[Pending],
    logged: Mapping[RowId, int],
    config: PluginConfig,
    newest: Mapping[RowId, KnownEvent] | None = None,
    *,
    is_ticket_deleted: bool = False,
) -> Plan:
    """Decide what to do with each pending ticket-task event.

    The newest event of a ticket task decides whether the task is Done and which ticket it belongs to.

    Args:
        events: the ticket's pending ticket-task events, oldest first.
        logged: linked ledger row to its time entry.
        config: the Redmine settings.
        newest: ledger row to the newest known event of its key.
        is_ticket_deleted: whether the help desk has deleted the ticket.
    """
    plan = Plan()
    passing: dict[int, list[Pending]] = defaultdict(list)
    for pending in events:
        if closed := why_filtered(pending.event, config):
            plan.skipped[pending.id] = closed
        elif pending.row_id in logged:
            plan.logged[pending.id] = logged[pending.row_id]
        elif known := _overtaking(pending, newest or {}, config):
            if isinstance(known.event, Deletion):
                plan.skipped[pending.id] = Reason.DELETED_THERE()
            else:
                plan.superseded[pending.id] = known.event_id
        else:
            passing[pending.task.id].append(pending)
    for candidates in passing.values():
        latest = candidates[-1]
        if is_ticket_deleted:
            plan.skipped[latest.id] = Reason.TICKET_DELETED()
        else:
            plan.wanted.append(latest)
        plan.superseded.update({older.id: latest.id for older in candidates[:-1]})
    return plan


def plan_additions(
    plan: Plan,
    events: Sequence[Pending],
    added: Mapping[RowId, int],
    config: PluginConfig,
    newest: Mapping[RowId, KnownEvent] | None = None,
    *,
    is_ticket_deleted: bool = False,
) -> None:
    """Decide what to do with each pending event of a follow-up, solution or document, and add it to the plan.

    Of several events of one note the newest counts. Of a document the first counts, because later notes may show it,
    unless the document was deleted since.

    Args:
        plan: the plan for the ticket's other events.
        events: the ticket's pending events of follow-ups, solutions and documents, oldest first.
        added: linked ledger row to its note or attachment.
        config: the Redmine settings.
        newest: ledger row to the newest known event of its key; includes the items that documents are attached to.
        is_ticket_deleted: whether the help desk has deleted the ticket.
    """
    passing: list[Pending] = []
    for pending in events:
        if closed := why_addition_filtered(pending.event, config):
            plan.skipped[pending.id] = closed
        elif pending.row_id in added:
            plan.added[pending.id] = added[pending.row_id]
        else:
            known = newest.get(pending.row_id) if newest else None
            if known and _supersedes(known, pending, events, config):
                plan.superseded[pending.id] = known.event_id
            elif isinstance(now := _as_known(pending, newest or {}, config), Notice):
                plan.skipped[pending.id] = now
            else:
                passing.append(now)
    counting: dict[RowId, int] = {}
    for pending in passing:
        if pending.event.document is None or pending.row_id not in counting:
            counting[pending.row_id] = pending.id
    for pending in passing:
        if pending.id != counting[pending.row_id]:
            plan.superseded[pending.id] = counting[pending.row_id]
        elif is_ticket_deleted:
            plan.skipped[pending.id] = Reason.TICKET_DELETED()
        else:
            plan.additions.append(pending)


def _overtaking(
    pending: Pending, newest: Mapping[RowId, KnownEvent], config: PluginConfig
) -> KnownEvent | None:
    """Return the task's newest event if it logs no time, is of another ticket, or hides a text; else None."""
    known = newest.get(pending.row_id)
    if known is None or known.event_id == pending.id:
        return None
    elsewhere = known.event.ticket.id != pending.event.ticket.id
    is_gone = isinstance(known.event, Deletion) or why_filtered(known.event, config) is not None
    is_hidden = not pending.task.is_private and is_private(known.event)
    return known if elsewhere or is_gone or is_hidden else None


def _supersedes(known: KnownEvent, pending: Pending, events: Sequence[Pending], config: PluginConfig) -> bool:
    """Return whether the newest event of a note sends nothing or is not pending any more, so that none is sent."""
    if isinstance(known.event, Deletion) or pending.event.document or known.event_id == pending.id:
        return False
    is_pending = any(one.id == known.event_id for one in events)
    return not is_pending or why_addition_filtered(known.event, config) is not None


def _as_known(pending: Pending, newest: Mapping[RowId, KnownEvent], config: PluginConfig) -> Pending | Notice:
    """Return the event with what became of its item since, or the reason if the item may not be sent any more."""
    known, holder = (newest.get(one) if one else None for one in (pending.row_id, pending.event.holder))
    events = [one.event for one in (known, holder) if one]
    if any(isinstance(one, Deletion) and one.is_deleted for one in events):
        return Reason.DELETED_THERE()
    if holder and is_private(holder.event):
        return Reason.PRIVATE_DOCUMENT()
    if known is None or isinstance(known.event, Event):
        return pending
    return made_private(pending, config)


def made_private(pending: Pending, config: PluginConfig) -> Pending | Notice:
    """Return the event of a note as if it had been private, or the reason if it may not be sent then."""
    private = replace(pending, event=pending.event.as_private)
    return Reason.PRIVATE_THERE() if why_addition_filtered(private.event, config) else private
