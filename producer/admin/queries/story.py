"""Everything that happened to a ticket and why, from the journal, the ledger and the ticket history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from pydantic import AwareDatetime
from redis import Redis

from producer.admin.presenters.shapes import Answer, Reasoned, WithNotice, reason_json
from producer.admin.presenters.waiting import is_silent
from producer.admin.records.transaction import Store, Transaction
from shared.diagnosis.obstacle import obstacle
from shared.diagnosis.redis_facts import redis_facts
from shared.errors import NotFound
from shared.events.config import PluginConfig
from shared.events.event import Deletion, Event
from shared.events.place import place_of
from shared.events.snapshots import document_in
from shared.notices.kinds import ADDITIONS, Kind, RowId
from shared.notices.language import said
from shared.notices.notice import Notice, notice_json
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.notices.render import because, sentence
from shared.notices.steps import Arrival, What
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.metadata import MetadataKind
from shared.store.journal.due import content_of
from shared.store.journal.ticket_queries import Desired
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerRow, LedgerState

UNFINISHED = (EventState.PENDING, EventState.ON_HOLD, EventState.FAILED)
LATE_S = 120


class IssueOfTicket(Reasoned):
    """The issue of a ticket, or the state of its creation."""

    state: str
    tracker_issue_id: int | None
    tracker_project_id: int | None
    author_id: int | None
    author: str | None
    adopted: bool
    since: AwareDatetime
    reason: str | None
    candidates: list[int]

    printed_last = ("reason",)


class TicketTask(Reasoned):
    """A ticket task and its time entry; `has_wrong_author`: the time entry has another author than intended.

    `hours` is null for an imported link whose events are unknown.
    """

    task_id: int
    state: str
    time_entry_id: int | None
    hours: float | None
    reason: str | None
    has_wrong_author: bool = False


class TicketNote(Reasoned):
    """A follow-up or a solution, and its note."""

    kind: str
    key: int
    state: str
    note_id: int | None
    reason: str | None


class TicketDocument(Reasoned):
    """A document, and its attachment."""

    key: int
    document_id: int
    state: str
    attachment_id: int | None
    reason: str | None


class Step(WithNotice):
    """A step of a ticket's history; `call` is the request to Redmine with its answer."""

    at: AwareDatetime
    what: str
    why: str | None
    call: dict[str, Any] | None

    sentence_name = "what"

    @classmethod
    def of(cls, at: datetime, notice: Notice, call: dict[str, Any] | None = None) -> Self:
        """Return a step of a ticket's history."""
        return cls(at=at, what=sentence(notice), why=because(notice), call=call, **notice_json(notice))


@dataclass(frozen=True, slots=True)
class TicketTrace:
    """Everything known about a ticket, its steps oldest first.

    Attributes:
        state: the desired state, None before the first event is processed.
        open_events: events that are pending, on hold or failed; oldest first.
        last_event: the newest event, None if all have been pruned.
        hindered_by: why pending events without a reason of their own wait; None: nothing prevents them.
        has_wrong_author: whether its issue or a time entry has the wrong author.
    """

    ticket_id: int
    link: IssueOfTicket | None
    ticket_tasks: list[TicketTask]
    steps: list[Step]
    state: Desired | None
    open_events: list[JournalEvent]
    last_event: JournalEvent | None
    config: PluginConfig
    notes: list[TicketNote]
    documents: list[TicketDocument]
    hindered_by: Notice | None = None
    has_wrong_author: bool = False

    def why(self, row: JournalEvent) -> Notice | None:
        """Return the reason for the state of an event of the ticket."""
        return self.hindered_by if is_silent(row) else row.notice

    @property
    def unmapped_hours(self) -> float:
        """Hours of finished tasks that are not sent because neither the ticket's project nor its entity is mapped."""
        return sum(task.hours or 0 for task in self.ticket_tasks if task.code == Reason.NO_LINK)

    @property
    def refused_status(self) -> Notice | None:
        """Why the tracker refused the newest status, or None if it did not."""
        why = self.state.status_notice if self.state and not self.state.status_due else None
        return why if why and why.code == Reason.STATUS_REFUSED else None

    @property
    def replayable(self) -> list[int]:
        """Ids of the events that a person may replay: failed ones and a refused status, else a skipped last event."""
        failed = [row.id for row in self.open_events if row.state == EventState.FAILED]
        if self.refused_status and self.state and self.state.event_id not in failed:
            failed.append(self.state.event_id)
        last = self.last_event
        return failed or ([last.id] if last and last.state == EventState.SKIPPED else [])


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a ticket's issue is, or would be.

    Attributes:
        link: mapping that selects the project, or None if no mapping applies.
        project_id: the tracker project.
        project: its name, if the cache contains it.
        is_moved: whether the issue was moved there in Redmine.
        statuses: names of the status that the issue was given and of its desired status, by tracker id.
    """

    link: ProjectMapping | None
    project_id: int | None
    project: str | None
    is_moved: bool
    statuses: dict[int, str]


def destination(store: Store, found: TicketTrace) -> Destination:
    """Return where a ticket's issue is, or would be."""
    snapshot = found.state.snapshot if found.state else None
    with store.transaction() as tx:
        link = tx.mappings.of(place_of(snapshot)) if snapshot else None
        project_id = found.link.tracker_project_id if found.link else None
        if project_id is None and link is not None:
            project_id = link.tracker_project_id
        state = found.state
        status_ids = {state.given_status_id, found.config.status_map.get(state.status)} if state else set()
        names = tx.metadata.names_of({MetadataKind.PROJECT: {project_id}, MetadataKind.STATUS: status_ids})
    project = names[MetadataKind.PROJECT].get(project_id) if project_id else None
    moves = [one.params for one in found.steps if one.code == What.ISSUE_MOVED]
    is_moved = bool(moves) and moves[-1].get("tracker_project_id") == project_id
    return Destination(link, project_id, project, is_moved, names[MetadataKind.STATUS])


def trace_ticket(store: Store, ticket_id: int, redis: Redis | None = None) -> TicketTrace:
    """Collect everything known about a ticket.

    Args:
        store: where it is stored.
        ticket_id: the ticket.
        redis: queried for the reason if an event waits without one; None: not queried.

    Raises:
        NotFound: if nothing is known about it.
    """
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        rows = list(reversed(tx.journal.find(ticket_id=ticket_id, limit=None)))
        events = [(row, event) for row in rows if (event := content_of(row))]
        made = tx.rows_of_ticket(ticket_id)
        issue_row, time_rows = next(iter(made[Kind.TICKET]), None), made[Kind.TICKET_TASK]
        addition_rows = [row for kind in ADDITIONS for row in made[kind]]
        state, noted = tx.statuses.get(ticket_id), tx.trace.of_ticket(ticket_id)
        if not (rows or issue_row or time_rows or state or noted):
            raise NotFound(Refusal.TICKET_UNKNOWN(ticket_id=ticket_id))
        link, misattributed = _link(tx, issue_row), tx.misattributed.of_ticket(ticket_id)
    additions = _additions(addition_rows, [(row, one) for row, one in events if isinstance(one, Event)])
    happened = [Step.of(step.at, step.notice, step.call) for step in noted]
    arrived = [_arrival(row, event, config) for row, event in events]
    return TicketTrace(
        ticket_id,
        link,
        _tasks(time_rows, [(row, event) for row, event in events if isinstance(event, Event)], misattributed),
        sorted([*arrived, *happened], key=lambda one: one.at),
        state,
        [row for row in rows if row.state in UNFINISHED],
        rows[-1] if rows else None,
        config,
        [_note(*one) for one in additions if one[0] is not Kind.DOCUMENT],
        [_document(*one) for one in additions if one[0] is Kind.DOCUMENT],
        obstacle(redis_facts(redis)) if redis is not None and any(map(is_silent, rows)) else None,
        bool(misattributed),
    )


def _link(tx: Transaction, row: LedgerRow | None) -> IssueOfTicket | None:
    if row is None or row.state == LedgerState.FREE:
        return None
    login = tx.people.named([row.author_id]).get(row.author_id) if row.author_id else None
    return IssueOfTicket(
        state=row.state,
        tracker_issue_id=row.tracker_id,
        tracker_project_id=row.tracker_project_id,
        author_id=row.author_id,
        author=login,
        adopted=row.adopted,
        since=row.changed_at,
        candidates=list(row.candidates or ()),
        **reason_json(row.notice),
    )


def _tasks(
    time_rows: Sequence[LedgerRow],
    events: Sequence[tuple[JournalEvent, Event]],
    misattributed: Collection[RowId],
) -> list[TicketTask]:
    """Return the ticket's tasks by id, each with the state of its ledger row, else of an open or the newest event."""
    by_task: dict[int, list[tuple[JournalEvent, Event]]] = defaultdict(list)
    for row, event in sorted(events, key=lambda one: (one[0].occurred_at, one[0].sequence, one[0].id)):
        if event.task:
            by_task[event.task.id].append((row, event))
    begun = {row.key: row for row in time_rows if row.state != LedgerState.FREE}
    standings = []
    for task_id in sorted(by_task.keys() | begun.keys()):
        newest = by_task[task_id][-1][1].task if by_task[task_id] else None
        hours = newest.actiontime / 3600 if newest else None
        if task_id in begun:
            is_wrong = (Kind.TICKET_TASK, task_id) in misattributed
            standing = _begun(begun[task_id], hours)
            standings.append(standing.model_copy(update={"has_wrong_author": is_wrong}))
        else:
            told = [row for row, _ in by_task[task_id]]
            row = next((one for one in reversed(told) if one.state in UNFINISHED), told[-1])
            standings.append(_task(task_id, row.state, None, hours, row.notice))
    return standings


Standing = tuple[Kind, int, str, int | None, Notice | None]
"""The state of an addition: kind, key, state, tracker id and reason."""


def _additions(rows: Sequence[LedgerRow], events: Sequence[tuple[JournalEvent, Event]]) -> list[Standing]:
    """Return the ticket's follow-ups, solutions and documents in the order of events; the ledger takes precedence."""
    found: dict[tuple[Kind, int], Standing] = {}
    for row, event in events:
        if event.addition is not None:
            this = event.addition_kind, event.addition_key
            found[this] = (*this, row.state, None, row.notice)
    for one in rows:
        if one.state != LedgerState.FREE:
            found[one.kind, one.key] = (one.kind, one.key, one.state, one.tracker_id, one.notice)
    return list(found.values())


def _note(kind: Kind, key: int, state: str, note_id: int | None, why: Notice | None) -> TicketNote:
    return TicketNote(kind=str(kind), key=key, state=state, note_id=note_id, **reason_json(why))


def _document(_: Kind, key: int, state: str, tracker_id: int | None, why: Notice | None) -> TicketDocument:
    return TicketDocument(
        key=key, document_id=document_in(key), state=state, attachment_id=tracker_id, **reason_json(why)
    )


def _begun(row: LedgerRow, hours: float | None) -> TicketTask:
    sent = ((row.body or {}).get("time_entry") or {}).get("hours")
    logged = float(sent) if isinstance(sent, (int, float)) else hours
    return _task(row.key, row.state, row.tracker_id, logged, row.notice)


def _task(
    task_id: int, state: str, time_entry_id: int | None, hours: float | None, why: Notice | None
) -> TicketTask:
    told = reason_json(why)
    return TicketTask(task_id=task_id, state=state, time_entry_id=time_entry_id, hours=hours, **told)


def _arrival(row: JournalEvent, event: Event | Deletion, config: PluginConfig) -> Step:
    verb = event.event.split(".")[1]
    if isinstance(event, Deletion) and row.task_id is None and event.part:
        verb = verb if event.is_deleted else "made private"
        kind = event.key.partition(":")[0]
        gone = {"event_id": row.id, "kind": kind, "key": event.part.id, "verb": verb}
        return Step.of(row.received_at, Arrival.PART_WITHDRAWN(**gone, lateness=_lateness(row)))
    if isinstance(event, Deletion):
        about = {"event_id": row.id, "task_id": row.task_id, "verb": verb, "lateness": _lateness(row)}
        return Step.of(row.received_at, Arrival.DELETION_CAME_IN(**about))
    task = event.task
    common = {"event_id": row.id, "verb": verb, "status": event.ticket.status, "lateness": _lateness(row)}
    if event.document is not None:
        document_id = event.document.id
        return Step.of(row.received_at, Arrival.DOCUMENT_CAME_IN(**common, document_id=document_id))
    if event.note is not None:
        about = {"kind": event.addition_kind, "key": event.note.id}
        return Step.of(row.received_at, Arrival.NOTE_CAME_IN(**common, **about))
    if task is None:
        return Step.of(row.received_at, Arrival.TICKET_CAME_IN(**common))
    arrived = Arrival.DONE_TASK_CAME_IN if task.state == config.done_state else Arrival.OPEN_TASK_CAME_IN
    hours = task.actiontime / 3600
    return Step.of(row.received_at, arrived(**common, task_id=task.id, state=task.state, hours=hours))


def _lateness(row: JournalEvent) -> Notice | None:
    if row.clamped:
        return Arrival.FROM_THE_FUTURE()
    if (row.received_at - row.occurred_at).total_seconds() > LATE_S:
        at = row.occurred_at.strftime(said("%Y-%m-%d %H:%M:%S UTC"))
        return Arrival.CAME_LATE(occurred_at=at.removesuffix(" UTC"))
    return None


NAMED = (
    ("entity", "entity_name", "entity_id"),
    ("project", "project_name", "project_id"),
    ("technician", "technician", None),
    ("requester", "requester", None),
    ("category", "category", None),
    ("location", "location", None),
)
"""Names in a snapshot: a word, the field of the name or of an object that contains it, and the field of the number."""


def names_of(snapshot: Mapping[str, Any]) -> dict[str, str]:
    """Return the names in a ticket's snapshot with their numbers; objects without a name are left out."""
    found = {}
    for word, name, number in NAMED:
        part = snapshot.get(name)
        if isinstance(part, dict):
            called, own = part.get("name"), part.get("id")
        else:
            called, own = part, snapshot.get(number) if number else None
        if called:
            found[word] = f"{called} ({own})"
    return found


class Obstacle(Reasoned):
    """Why pending events without a reason of their own wait."""

    reason: str | None


class Trace(Answer):
    """Everything that is known about a ticket."""

    ticket_id: int
    link: IssueOfTicket | None
    waits_for: Obstacle | None
    ticket_tasks: list[TicketTask]
    notes: list[TicketNote]
    documents: list[TicketDocument]
    steps: list[Step]

    @classmethod
    def of(cls, found: TicketTrace) -> Self:
        """Return a ticket's history."""
        waits_for = Obstacle(**reason_json(found.hindered_by)) if found.hindered_by else None
        return cls(
            ticket_id=found.ticket_id,
            link=found.link,
            waits_for=waits_for,
            ticket_tasks=found.ticket_tasks,
            notes=found.notes,
            documents=found.documents,
            steps=found.steps,
        )
