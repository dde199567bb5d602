"""Issues and time entries with an unintended author; they are rare, so they have a table of their own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, tuple_
from sqlalchemy.orm import Session

from shared.notices.kinds import ATTRIBUTED, Kind, RowId
from shared.notices.notice import Notice
from shared.store.tables.explained import reason_columns
from shared.store.tables.ledger import (
    MODELS,
    LedgerState,
    Misattributed,
    TaskTimeLink,
    TicketIssueLink,
)
from shared.store.tables.types import clock, put_row
from shared.values.ids import LARGEST, SAMPLES

NO_SAMPLE = Misattributed.ticket_id <= LARGEST - SAMPLES
"""A sample of no person belongs to no one else."""

Place = tuple[datetime, str, int]
"""Position in the list: when the wrong author was recorded, kind and key."""


class MisattributedObjects:
    """Reads and writes the list within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, kind: Kind, key: int, ticket_id: int, tracker_id: int, why: Notice) -> None:
        """Record that a ledger row's object has the wrong author.

        Args:
            kind: what the row creates.
            key: the row's key.
            ticket_id: the ticket.
            tracker_id: the object.
            why: a `Misattribution`.
        """
        values = {
            "ticket_id": ticket_id,
            "tracker_id": tracker_id,
            "at": clock(),
            **reason_columns(why),
        }
        put_row(self._session, Misattributed, {"kind": str(kind), "key": key}, values)

    def get(self, kind: Kind, key: int) -> Misattributed | None:
        """Return the entry of a ledger row, or None."""
        return self._session.get(Misattributed, (str(kind), key))

    def find(
        self, *, limit: int | None = None, below: Place | None = None
    ) -> list[tuple[Misattributed, int | None]]:
        """Return the entries whose objects are still linked, newest first, each with the actual author's id.

        Args:
            limit: maximum number; None returns all.
            below: position of the previous page's last entry.
        """
        issues, times = _join(Kind.TICKET), _join(Kind.TICKET_TASK)
        statement = (
            select(Misattributed, func.coalesce(TicketIssueLink.author_id, TaskTimeLink.author_id))
            .outerjoin(TicketIssueLink, issues)
            .outerjoin(TaskTimeLink, times)
            .where(NO_SAMPLE, or_(TicketIssueLink.ticket_id.is_not(None), TaskTimeLink.task_id.is_not(None)))
        )
        place = (Misattributed.at, Misattributed.kind, Misattributed.key)
        if below is not None:
            types = [one.type for one in place]
            statement = statement.where(tuple_(*place) < tuple_(*below, types=types))
        newest_first = statement.order_by(*(one.desc() for one in place)).limit(limit)
        return [(one, author_id) for one, author_id in self._session.execute(newest_first)]

    def of_ticket(self, ticket_id: int) -> set[RowId]:
        """Return the ledger rows of a ticket whose objects have the wrong author and are still linked."""
        found = wrong_authors().with_only_columns(Misattributed.kind, Misattributed.key)
        rows = self._session.execute(found.where(Misattributed.ticket_id == ticket_id))
        return {(Kind(kind), key) for kind, key in rows}

    def count(self) -> int:
        """Return the number of entries whose objects are still linked."""
        return self._session.scalar(select(func.count()).select_from(wrong_authors().subquery())) or 0

    def remove(self, kind: Kind, key: int) -> None:
        """Delete an entry, because the author was corrected."""
        where = (Misattributed.kind == str(kind), Misattributed.key == key)
        self._session.execute(delete(Misattributed).where(*where))


def wrong_authors() -> Select[Any]:
    """Return the statement for the entries whose objects are still linked, except those of samples.

    It looks up each ledger row by key; for `EXISTS` PostgreSQL would hash the whole ledger.
    """
    linked = (
        select(MODELS[kind].key).where(_join(kind)).correlate(Misattributed).scalar_subquery()
        for kind in ATTRIBUTED
    )
    return select(Misattributed.key).where(NO_SAMPLE, or_(*(one.is_not(None) for one in linked)))


def _join(kind: Kind) -> ColumnElement[bool]:
    """Return the condition that joins an entry with the ledger row that is linked to the same object."""
    model = MODELS[kind]
    return and_(
        Misattributed.kind == str(kind),
        model.key == Misattributed.key,
        model.tracker_id == Misattributed.tracker_id,
        model.state == LedgerState.LINKED,
    )
