"""Which events log time (SPEC section 3), or add something to the issue: pure decisions over what is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.events.config import PluginConfig
from shared.events.event import Deletion, Event
from shared.events.gate import closed_gate, closed_to_addition
from shared.events.snapshots import Document, Note, TicketTask
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason

AdditionId = tuple[Kind, int]
"""A follow-up or a solution, by its number in the help desk; a document, by its key (`document_key`)."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending event of the journal, with its content."""

    id: int
    event: Event
    attempts: int = 0
    delivery_id: str = ""
    traceparent: str | None = None

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
    def addition_id(self) -> AdditionId:
        """Which of them it is, and its key."""
        return self.event.addition_kind, self.event.addition_key


@dataclass(frozen=True, slots=True)
class Known:
    """The newest event that the journal has of a ticket task, whatever became of it, in whichever ticket."""

    event_id: int
    event: Event | Deletion


@dataclass(frozen=True, slots=True)
class TimeWanted:
    """Time that is to be logged for one ticket task, from the newest Done snapshot known."""

    task_id: int
    newest: Pending


@dataclass(frozen=True, slots=True)
class Plan:
    """What the pending events of a ticket's tasks, follow-ups, solutions and documents ask for.

    Attributes:
        wanted: time to log, one per ticket task, in the order of the events.
        additions: events that ask for a note or an attachment, one for each, in the order of the events.
        skipped: event id to the reason why it sends nothing.
        logged: event id to the time entry that was logged before.
        added: event id to the note or attachment that was sent before.
        superseded: event id to the newer event of the same ticket task.
        superseded_additions: event id to the newer event of the same follow-up, solution or document.
    """

    wanted: list[TimeWanted] = field(default_factory=list)
    additions: list[Pending] = field(default_factory=list)
    skipped: dict[int, Notice] = field(default_factory=dict)
    logged: dict[int, int] = field(default_factory=dict)
    added: dict[int, int] = field(default_factory=dict)
    superseded: dict[int, int] = field(default_factory=dict)
    superseded_additions: dict[int, int] = field(default_factory=dict)


def plan_times(
    events: Sequence[Pending],
    logged: Mapping[int, int],
    config: PluginConfig,
    newest: Mapping[int, Known] | None = None,
    *,
    is_ticket_deleted: bool = False,
) -> Plan:
    """Decide what each pending ticket-task event asks for.

    The newest event of a ticket task decides: whether it is Done now, and to which ticket it belongs now.

    Args:
        events: the ticket's pending ticket-task events, oldest first.
        logged: ticket-task id to the tracker's time entry, where time was logged.
        config: the plugin configuration.
        newest: ticket-task id to the newest event that is known of it.
        is_ticket_deleted: whether the helpdesk has deleted the ticket.
    """
    plan = Plan()
    passing: dict[int, list[Pending]] = defaultdict(list)
    for pending in events:
        if closed := closed_gate(pending.event, config):
            plan.skipped[pending.id] = closed
        elif pending.task.id in logged:
            plan.logged[pending.id] = logged[pending.task.id]
        elif known := _overtaking(pending, newest or {}, config):
            if isinstance(known.event, Deletion):
                plan.skipped[pending.id] = Reason.DELETED_THERE()
            else:
                plan.superseded[pending.id] = known.event_id
        else:
            passing[pending.task.id].append(pending)
    for task_id, candidates in passing.items():
        latest = candidates[-1]
        if is_ticket_deleted:
            plan.skipped[latest.id] = Reason.TICKET_DELETED()
        else:
            plan.wanted.append(TimeWanted(task_id, latest))
        plan.superseded.update({older.id: latest.id for older in candidates[:-1]})
    return plan


def plan_additions(
    plan: Plan,
    events: Sequence[Pending],
    added: Mapping[AdditionId, int],
    config: PluginConfig,
    *,
    is_ticket_deleted: bool = False,
) -> None:
    """Decide what each pending event of a follow-up, a solution or a document asks for, and add it to the plan.

    Args:
        plan: what the ticket's other events ask for.
        events: the ticket's pending events of these, oldest first.
        added: each to the tracker's note or attachment, if it was sent.
        config: the plugin configuration.
        is_ticket_deleted: whether the helpdesk has deleted the ticket.
    """
    newest = {one.addition_id: one.id for one in events}
    for pending in events:
        if closed := closed_to_addition(pending.event, config):
            plan.skipped[pending.id] = closed
        elif pending.addition_id in added:
            plan.added[pending.id] = added[pending.addition_id]
        elif pending.id != newest[pending.addition_id]:
            plan.superseded_additions[pending.id] = newest[pending.addition_id]
        elif is_ticket_deleted:
            plan.skipped[pending.id] = Reason.TICKET_DELETED()
        else:
            plan.additions.append(pending)


def _overtaking(pending: Pending, newest: Mapping[int, Known], config: PluginConfig) -> Known | None:
    """Return the newest event of a ticket task if the task has left Done, or its ticket, or GLPI since this event."""
    known = newest.get(pending.task.id)
    if known is None or known.event_id == pending.id:
        return None
    elsewhere = known.event.ticket.id != pending.event.ticket.id
    is_gone = isinstance(known.event, Deletion) or closed_gate(known.event, config) is not None
    return known if elsewhere or is_gone else None
