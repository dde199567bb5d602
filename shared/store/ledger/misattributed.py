"""Issues and time entries with another author than was meant: mostly none, so they are kept beside the ledger."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select, tuple_
from sqlalchemy.orm import Session

from shared.notices.kinds import ATTRIBUTED, Kind
from shared.notices.notice import Notice
from shared.store.tables.explained import keeping
from shared.store.tables.ledger import (
    MODELS,
    LedgerState,
    Misattributed,
    TaskTimeLink,
    TicketIssueLink,
)
from shared.store.tables.types import clock, put_row

Place = tuple[datetime, str, int]
"""Where one stands in the list: when it was noticed, its kind and key."""


class MisattributedObjects:
    """Reads and writes the list within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, kind: Kind, key: int, ticket_id: int, tracker_id: int, why: Notice) -> None:
        """Note the wrong author of what a ledger row is linked to.

        Args:
            kind: issue or time entry.
            key: ticket id or ticket-task id.
            ticket_id: the ticket.
            tracker_id: the object.
            why: a `Misattribution`.
        """
        values = {
            "ticket_id": ticket_id,
            "tracker_id": tracker_id,
            "at": clock(),
            **keeping(why),
        }
        put_row(self._session, Misattributed, {"kind": str(kind), "key": key}, values)

    def get(self, kind: Kind, key: int) -> Misattributed | None:
        """Return what is noted of a ledger row."""
        return self._session.get(Misattributed, (str(kind), key))

    def find(
        self, *, limit: int | None = None, below: Place | None = None
    ) -> list[tuple[Misattributed, int | None]]:
        """Return what is noted and linked still, the newest first, and who has it on the tracker.

        Args:
            limit: how many; None: all.
            below: where the page before ended.
        """
        issues, times = _join(Kind.TICKET), _join(Kind.TICKET_TASK)
        statement = (
            select(Misattributed, func.coalesce(TicketIssueLink.author_id, TaskTimeLink.author_id))
            .outerjoin(TicketIssueLink, issues)
            .outerjoin(TaskTimeLink, times)
            .where(or_(TicketIssueLink.ticket_id.is_not(None), TaskTimeLink.task_id.is_not(None)))
        )
        place = (Misattributed.at, Misattributed.kind, Misattributed.key)
        if below is not None:
            types = [one.type for one in place]
            statement = statement.where(tuple_(*place) < tuple_(*below, types=types))
        newest_first = statement.order_by(*(one.desc() for one in place)).limit(limit)
        return [(one, author_id) for one, author_id in self._session.execute(newest_first)]

    def of_ticket(self, ticket_id: int) -> bool:
        """Return whether anything of a ticket is noted and linked still."""
        found = wrong_authors().where(Misattributed.ticket_id == ticket_id).limit(1)
        return self._session.scalar(found) is not None

    def count(self) -> int:
        """Return how many that are."""
        return self._session.scalar(select(func.count()).select_from(wrong_authors().subquery())) or 0

    def remove(self, kind: Kind, key: int) -> None:
        """Forget it: it was corrected."""
        where = (Misattributed.kind == str(kind), Misattributed.key == key)
        self._session.execute(delete(Misattributed).where(*where))


def wrong_authors() -> Select[Any]:
    """Return the statement for what is noted and linked still.

    It looks each row of the ledger up by its key. Of `EXISTS` PostgreSQL makes a hash of the whole ledger.
    """
    linked = (
        select(MODELS[kind].key).where(_join(kind)).correlate(Misattributed).scalar_subquery()
        for kind in ATTRIBUTED
    )
    return select(Misattributed.key).where(or_(*(one.is_not(None) for one in linked)))


def _join(kind: Kind) -> ColumnElement[bool]:
    """Return what joins it to the ledger's row that is linked to the very object."""
    model = MODELS[kind]
    return and_(
        Misattributed.kind == str(kind),
        model.key == Misattributed.key,
        model.tracker_id == Misattributed.tracker_id,
        model.state == LedgerState.LINKED,
    )
