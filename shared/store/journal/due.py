"""A ticket's due events, bounded in size and checked, since rows may come from another writer than the producer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from shared.errors import InvalidEvent
from shared.events.event import DELETIONS, Deletion, Event
from shared.events.stored import stored
from shared.store.tables.functions import among, size_of, unindexed
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.types import Key, moment
from shared.telemetry import traceparent

CLOCK_TOLERANCE = timedelta(minutes=5)
EARLIEST, LATEST = datetime(1969, 12, 31, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
MOST_ROWS = 200
MOST_BYTES = 4 * 1024 * 1024
"""Maximum number of rows, and of bytes of their payloads, that one ticket sync reads."""
FEW_ROWS = 8
FEW_BYTES = 256 * 1024
"""The same for each ticket if a batch of tickets is loaded: larger tickets would delay the others."""
LARGEST_PAYLOAD = 4 * 1024 * 1024
"""A request is at most 1 MiB; as ASCII JSON it may be three times as large."""
LARGEST_COMPLETION = 64 * 1024

ORDER = (JournalEvent.occurred_at, JournalEvent.sequence, JournalEvent.id)


@dataclass(frozen=True, slots=True)
class Due:
    """A pending event whose time has come.

    Attributes:
        occurred_at: the time of receipt if it is implausible, or more than five minutes later.
        payload: None if it is too large, or if `occurred_at` is implausible.
        completion: facts looked up because the event lacks them, as JSON; None if none were looked up yet.
        traceparent: the trace that the event belongs to.
    """

    id: int
    event: str
    key: str
    ticket_id: int
    task_id: int | None
    occurred_at: datetime
    sequence: int
    attempts: int
    payload: str | None
    completion: str | None
    delivery_id: str
    traceparent: str | None
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DueEvents:
    """A ticket's due events, oldest first.

    Attributes:
        is_complete: whether these are all of them.
        now: when they were read (database clock).
        newest: id and time of receipt of the last event that arrived.
    """

    rows: list[Due]
    is_complete: bool
    now: datetime | None = None
    newest: tuple[int, datetime] | None = None


def is_due() -> ColumnElement[bool]:
    """Match pending events whose time has come."""
    return and_(
        JournalEvent.state == EventState.PENDING,
        or_(JournalEvent.next_attempt_at.is_(None), JournalEvent.next_attempt_at <= moment()),
    )


def is_due_of_few() -> ColumnElement[bool]:
    """Match due events among a few rows that another condition selects, such as a ticket's (`unindexed`)."""
    is_to_come = JournalEvent.next_attempt_at > moment()
    return and_(is_pending_of_few(), is_to_come.is_not(True))


def is_pending_of_few() -> ColumnElement[bool]:
    """Match pending events among a few rows that another condition selects."""
    return unindexed(JournalEvent.state) == EventState.PENDING


def due_with_their_keys(ticket_id: int) -> ColumnElement[bool]:
    """Match a ticket's due events and all of its pending events with the same keys."""
    keys = select(JournalEvent.key).where(JournalEvent.ticket_id == ticket_id, is_due())
    return and_(
        JournalEvent.ticket_id == ticket_id,
        JournalEvent.state == EventState.PENDING,
        JournalEvent.key.in_(keys),
    )


@cache
def due_of_tickets() -> Select[Any]:
    """Return the statement that reads the due events of `ticket_ids`, of each within `most_rows` and `most_bytes`.

    It is built once, because building it takes longer than executing it. If a ticket has more, its newest event and
    its deletions take precedence, then the newest event of each key, then older ones.
    """
    ticket, key = JournalEvent.ticket_id, JournalEvent.key
    asked = among(ticket, "ticket_ids")
    due_keys = select(ticket, key).where(asked, is_due_of_few())
    newest_first = [column.desc() for column in ORDER]
    ranked = (
        select(
            JournalEvent.id,
            size_of(JournalEvent.payload).label("size"),
            ticket,
            func.row_number().over(partition_by=ticket, order_by=newest_first).label("recency"),
            or_(*(JournalEvent.event == one for one in DELETIONS)).label("is_deletion"),
            func.row_number().over(partition_by=(ticket, key), order_by=newest_first).label("rank"),
            func.row_number().over(partition_by=ticket, order_by=ORDER).label("place"),
        )
        .where(asked, is_pending_of_few(), tuple_(ticket, key).in_(due_keys))
        .subquery()
    )
    is_wanted_most = or_(ranked.c.recency == 1, ranked.c.is_deletion)
    wanted_first = [case((is_wanted_most, 0), else_=ranked.c.rank), ranked.c.place]
    of_ticket = ranked.c.ticket_id
    measured = select(
        ranked.c.id,
        func.row_number().over(partition_by=of_ticket, order_by=wanted_first).label("number"),
        func.sum(ranked.c.size).over(partition_by=of_ticket, order_by=wanted_first).label("total"),
        func.count().over(partition_by=of_ticket).label("of_all"),
        ranked.c.size,
    ).subquery()
    is_within = and_(
        measured.c.number <= bindparam("most_rows", type_=Key),
        measured.c.total <= bindparam("most_bytes", type_=Key),
    )
    return (
        select(
            JournalEvent.id,
            JournalEvent.event,
            JournalEvent.key,
            JournalEvent.ticket_id,
            JournalEvent.task_id,
            case((_is_sane(JournalEvent.occurred_at), JournalEvent.occurred_at)).label("occurred_at"),
            case((_is_sane(JournalEvent.received_at), JournalEvent.received_at)).label("received_at"),
            JournalEvent.sequence,
            JournalEvent.attempts,
            case((measured.c.size <= bindparam("largest", type_=Key), JournalEvent.payload)).label("payload"),
            case((size_of(JournalEvent.completion) <= LARGEST_COMPLETION, JournalEvent.completion)).label(
                "completion"
            ),
            measured.c.size,
            JournalEvent.delivery_id,
            JournalEvent.traceparent,
            measured.c.of_all,
            moment().label("now"),
        )
        .join(measured, measured.c.id == JournalEvent.id)
        .where(or_(measured.c.number == 1, is_within))
    )


def due_parameters(ticket_ids: Collection[int], *, few: bool = False) -> dict[str, Any]:
    """Return the parameters of `due_of_tickets`."""
    rows, size = (FEW_ROWS, FEW_BYTES) if few else (MOST_ROWS, MOST_BYTES)
    largest = _largest(few=few)
    return {"ticket_ids": list(ticket_ids), "most_rows": rows, "most_bytes": size, "largest": largest}


def due_events(found: Sequence[Any], *, few: bool = False) -> DueEvents:
    """Return the events that `due_of_tickets` has read of one ticket, oldest first.

    With `few`, large payloads were not read, even if the ticket has only one event.
    """
    rows = sorted(map(_due, found), key=lambda row: (row.occurred_at, row.sequence, row.id))
    if not found:
        return DueEvents(rows, is_complete=True)
    is_left_out = few and any(row.size > _largest(few=few) for row in found)
    is_complete = found[0].of_all == len(found) and not is_left_out
    last = max(found, key=lambda row: row.id)
    newest = None if last.received_at is None else (last.id, last.received_at)
    return DueEvents(rows, is_complete=is_complete, now=found[0].now, newest=newest)


def _largest(*, few: bool) -> int:
    """Return the largest size of a payload that is read."""
    return FEW_BYTES if few else LARGEST_PAYLOAD


def snapshot_of(row: JournalEvent | Due) -> Event | None:
    """Return the event in a row; None if `content_of` returns None, or if it is a deletion and has no snapshot."""
    event = content_of(row)
    return event if isinstance(event, Event) else None


def content_of(row: JournalEvent | Due) -> Event | Deletion | None:
    """Return the event in a row, or None if its payload is missing, unreadable or contradicts the row's columns."""
    if row.payload is None:
        return None
    try:
        event = stored(row.payload, row.completion)
    except InvalidEvent:
        return None
    said = (event.event, event.key, event.ticket.id, event.task.id if event.task else None)
    return event if said == (row.event, row.key, row.ticket_id, row.task_id) else None


def _due(row: Any) -> Due:
    """Return a row as a due event, its time corrected again: a time far ahead would win over every later update."""
    received_at = row.now if row.received_at is None else min(row.received_at, row.now)
    makes_sense = row.occurred_at is not None
    is_trusted = makes_sense and row.occurred_at <= received_at + CLOCK_TOLERANCE
    return Due(
        row.id,
        row.event,
        row.key,
        row.ticket_id,
        row.task_id,
        row.occurred_at if is_trusted else received_at,
        row.sequence,
        row.attempts,
        row.payload if makes_sense else None,
        row.completion,
        row.delivery_id,
        traceparent.read(row.traceparent),
        received_at,
    )


def _is_sane(column: InstrumentedAttribute[datetime]) -> ColumnElement[bool]:
    """Match times that Python can represent: in PostgreSQL a time may be infinite or in the year 200000."""
    return column.between(EARLIEST, LATEST)
