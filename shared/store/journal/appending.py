"""Appending to the journal: what the producer does with each delivery."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import String, literal, literal_column, select, true
from sqlalchemy.dialects.postgresql import insert as insert_on_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_on_sqlite
from sqlalchemy.orm import Session

from shared.events.config import ALL, SENT, PrivateTexts
from shared.events.delivery import Delivery
from shared.events.event import Deletion, Event
from shared.notices.invalid import Faults, faulty
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.store.journal.due import CLOCK_TOLERANCE
from shared.store.journal.journal_queries import JOURNAL, UNREADABLE
from shared.store.tables.configuration import PluginConfigRecord
from shared.store.tables.explained import reason_columns
from shared.store.tables.functions import Rows
from shared.store.tables.journal import NO_SEQUENCE, EventState
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import Insert, clock, insert_for, is_on_postgresql

NO_TICKET = 0
APPENDED = Rows(
    {
        name: JOURNAL.c[name].type
        for name in (
            "delivery_id",
            "digest",
            "event",
            "key",
            "ticket_id",
            "task_id",
            "occurred_at",
            "clamped",
            "sequence",
            "payload",
            "traceparent",
        )
    }
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The journal's answer to one delivery.

    Attributes:
        conflicting: whether this is a new event whose delivery id came before with another body.
    """

    event_id: int
    key: str
    ticket_id: int
    duplicate: bool
    conflicting: bool = False


class JournalAppender:
    """The part of `Journal` that appends events, within one transaction."""

    _session: Session

    def append(
        self,
        deliveries: Sequence[Delivery],
        received_at: datetime,
        *,
        private_text: PrivateTexts = PrivateTexts.NONE,
    ) -> list[Accepted]:
        """Append deliveries; a repeated delivery changes nothing.

        Args:
            deliveries: validated events, a few hundred at most.
            received_at: arrival time by the producer's clock, used to detect times in the future. The journal itself
                stores the database's time, with which the sweep compares.
            private_text: kinds of items whose private texts are stored (`keeps_private_text`).

        Returns:
            One answer per delivery, in the same order.
        """
        deliveries = [one.with_texts(private_text) for one in deliveries]
        new = self._insert(deliveries, received_at)
        fresh = {(row.delivery_id, row.digest) for row in new}
        came_before = any(row.came_before for row in new) or any(
            one.identity not in fresh for one in deliveries
        )
        known = self._known(deliveries) if came_before else _by_delivery_id(new)
        answers = []
        for one in deliveries:
            duplicate = one.identity not in fresh
            fresh.discard(one.identity)
            event_id = known[one.delivery_id][one.digest]
            conflicting = not duplicate and event_id > min(known[one.delivery_id].values())
            answers.append(Accepted(event_id, one.event.key, one.event.ticket.id, duplicate, conflicting))
        return answers

    def keeps_private_text(self) -> PrivateTexts:
        """Return the kinds of items whose private texts are kept; read only the values of the Redmine settings."""
        values = self._session.scalar(select(PluginConfigRecord.values)) or {}
        kept = PrivateTexts.TASKS if values.get("private_tasks") == SENT else PrivateTexts.NONE
        return kept | (PrivateTexts.FOLLOWUPS if values.get("sync_followups") == ALL else PrivateTexts.NONE)

    def park(self, delivery_id: str, source: str, body: bytes, faults: Faults) -> None:
        """Store an unreadable delivery as `failed`; a repeated delivery changes nothing.

        Args:
            delivery_id: the sender's id of the delivery.
            source: the sender; a replay uses it to choose the reader.
            body: the body, byte for byte.
            faults: path and description of each fault.
        """
        row = {
            "delivery_id": delivery_id,
            "digest": hashlib.sha256(body).hexdigest(),
            "event": UNREADABLE,
            "key": UNREADABLE,
            "ticket_id": NO_TICKET,
            "task_id": None,
            "occurred_at": clock(),
            "clamped": False,
            "sequence": NO_SEQUENCE,
            "received_at": clock(),
            "payload": json.dumps({"source": source, "body": body.decode("utf-8", "surrogateescape")}),
            "state": EventState.FAILED,
            "attempts": 0,
            **reason_columns(
                Reason.DELIVERY_UNREADABLE(source=source, **faulty(Refusal.EVENT_NOT_VALID, faults).params)
            ),
        }
        self._session.execute(insert_for(self._session)(JOURNAL).values(row).on_conflict_do_nothing())

    def _insert(self, deliveries: Sequence[Delivery], received_at: datetime) -> Sequence[Any]:
        """Insert new deliveries; return their rows, each with whether its delivery id came before."""
        statement = _appending(postgresql=is_on_postgresql(self._session))
        given = APPENDED.parameters(self._session, (_row(one, deliveries, received_at) for one in deliveries))
        return execute_prepared(self._session, statement, given)

    def _known(self, deliveries: Sequence[Delivery]) -> dict[str, dict[str, int]]:
        """Return the stored events of these delivery ids: for each id, digest to event id."""
        columns, ids = JOURNAL.c, {one.delivery_id for one in deliveries}
        found = select(columns.delivery_id, columns.digest, columns.id).where(columns.delivery_id.in_(ids))
        return _by_delivery_id(self._session.execute(found))


@cache
def _appending(*, postgresql: bool) -> Any:
    """Return the statement that appends rows and returns the new ones, each with whether its delivery id came before.

    Only on PostgreSQL can the statement see the table as it was before; on SQLite it always returns true.
    """
    insert: Insert = insert_on_postgresql if postgresql else insert_on_sqlite
    fixed = {
        "received_at": clock(),
        "state": literal(EventState.PENDING, JOURNAL.c.state.type),
        "attempts": literal(0),
    }
    given = APPENDED.table()
    # without a WHERE clause SQLite parses ON CONFLICT as a join condition
    rows = select(*given.c, *fixed.values()).where(true())
    before = JOURNAL.alias()
    own = literal_column(f"{JOURNAL.name}.delivery_id", String())  # the column itself would add a FROM
    earlier = select(true()).where(before.c.delivery_id == own).limit(1).scalar_subquery()
    came_before = (earlier if postgresql else true()).label("came_before")
    return (
        insert(JOURNAL)
        .from_select([*given.c.keys(), *fixed], rows)
        .on_conflict_do_nothing(index_elements=["delivery_id", "digest"])
        .returning(JOURNAL.c.delivery_id, JOURNAL.c.digest, JOURNAL.c.id, came_before)
    )


def _by_delivery_id(rows: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Return the event ids of rows, by delivery id and digest."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row.delivery_id, {})[row.digest] = row.id
    return found


def _occurred_at(event: Event | Deletion, together: Sequence[Delivery], received_at: datetime) -> datetime:
    """Return when an event occurred; if it is dated too far ahead, when it arrived.

    It comes before later events of its ticket that arrived together with it, as far as they are numbered.
    """
    if event.occurred_at <= received_at + CLOCK_TOLERANCE:
        return event.occurred_at
    own = event.sequence
    others = [one.event for one in together if one.event.ticket.id == event.ticket.id]
    later = [one.occurred_at for one in others if own is not None and (one.sequence or own) > own]
    return min([received_at, *later])


def _row(one: Delivery, together: Sequence[Delivery], received_at: datetime) -> dict[str, object]:
    event = one.event
    occurred_at = _occurred_at(event, together, received_at)
    return {
        "delivery_id": one.delivery_id,
        "digest": one.digest,
        "event": event.event,
        "key": event.key,
        "ticket_id": event.ticket.id,
        "task_id": event.task.id if event.task else None,
        "occurred_at": occurred_at,
        "clamped": occurred_at != event.occurred_at,
        "sequence": NO_SEQUENCE if event.sequence is None else event.sequence,
        "payload": one.payload,
        "traceparent": one.traceparent,
    }
