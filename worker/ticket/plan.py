"""Which events log time (SPEC section 3) or add something to the issue: pure decisions over loaded data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared.events.config import PluginConfig
from shared.events.event import Deletion, Event
from shared.events.filter import why_addition_filtered, why_filtered
from shared.events.snapshots import Document, Note, TicketTask
from shared.notices.kinds import Kind, RowId
from shared.notices.notice import Notice
from shared.notices.reasons import Reason


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending event of the journal, with its content."""

    id: int
    event: Event
    attempts: int = 0
    delivery_id: str = ""
    traceparent: str | None = None
    received_at: datetime | None = None

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
    """The newest event of a ticket task in the journal, whatever its state and its ticket."""

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
    newest: Mapping[int, KnownEvent] | None = None,
    *,
    is_ticket_deleted: bool = False,
) -> Plan:
    """Decide what to do with each pending ticket-task event.

    The newest event of a ticket task decides whether the task is Done and which ticket it belongs to.

    Args:
        events: the ticket's pending ticket-task events, oldest first.
        logged: linked ledger row to its time entry.
        config: the Redmine settings.
        newest: ticket-task id to its newest known event.
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
    *,
    is_ticket_deleted: bool = False,
) -> None:
    """Decide what to do with each pending event of a follow-up, solution or document, and add it to the plan.

    Of several events of one note the newest counts. Of a document the first counts, because later notes may show it.

    Args:
        plan: the plan for the ticket's other events.
        events: the ticket's pending events of follow-ups, solutions and documents, oldest first.
        added: linked ledger row to its note or attachment.
        config: the Redmine settings.
        is_ticket_deleted: whether the help desk has deleted the ticket.
    """
    passing: list[Pending] = []
    for pending in events:
        if closed := why_addition_filtered(pending.event, config):
            plan.skipped[pending.id] = closed
        elif pending.row_id in added:
            plan.added[pending.id] = added[pending.row_id]
        else:
            passing.append(pending)
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
    pending: Pending, newest: Mapping[int, KnownEvent], config: PluginConfig
) -> KnownEvent | None:
    """Return the task's newest event if the task has since left Done, changed its ticket or been deleted, else None."""
    known = newest.get(pending.task.id)
    if known is None or known.event_id == pending.id:
        return None
    elsewhere = known.event.ticket.id != pending.event.ticket.id
    is_gone = isinstance(known.event, Deletion) or why_filtered(known.event, config) is not None
    return known if elsewhere or is_gone else None
