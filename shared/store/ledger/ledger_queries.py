"""Queries on the ledger; `shared.store.ledger.ledger` changes its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    Table,
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    text,
    union_all,
)
from sqlalchemy.orm import Session

from shared.notices.kinds import Kind
from shared.store.ledger.transitions import FOR_A_PERSON, IN_FLIGHT
from shared.store.tables.functions import among
from shared.store.tables.ledger import (
    GONE,
    LEDGERS,
    MODELS,
    OPEN_ROWS,
    LedgerRow,
    LedgerState,
    key_column,
    own,
)
from shared.store.tables.types import Key, moment
from shared.values.identity import Identity
from shared.values.ids import is_id

MOST_SETTLED = 200
NOT_LINKED = text(OPEN_ROWS)
"""Literal SQL, so that both databases use the small partial index of open rows."""


def unsettled_tickets() -> Select[tuple[int]]:
    """Return the query for the tickets with at least one row that is not linked."""
    some = (select(model.ticket_id).where(NOT_LINKED) for model in LEDGERS)
    return select(union_all(*some).subquery().c.ticket_id)


def undecided_count() -> ScalarSelect[int]:
    """Return the query that counts the creations that wait for a person's decision."""
    waiting = (
        select(literal(1)).select_from(model).where(NOT_LINKED, model.state.in_(FOR_A_PERSON))
        for model in LEDGERS
    )
    return select(func.count()).select_from(union_all(*waiting).subquery()).scalar_subquery()


def table_of(kind: Kind) -> type[LedgerRow]:
    """Return the model of a kind's whole table, which may hold rows of other kinds too."""
    return next(one for one in LEDGERS if issubclass(MODELS[kind], one))


class LedgerQueries:
    """Reads the rows of one kind within one transaction.

    Args:
        session: the transaction.
        kind: what the rows create.
    """

    def __init__(self, session: Session, kind: Kind) -> None:
        self._session = session
        self.kind = kind
        self._model = MODELS[kind]
        self._all = table_of(kind)
        self._table = cast(Table, self._model.__table__)

    def _is(self, key: int) -> ColumnElement[bool]:
        """Match the row of a key in its table."""
        return and_(self._model.key == key, *own(self._model))

    def _identity(self, key: int) -> dict[str, int | str]:
        """Return the values of the primary key of a row."""
        of_kind = {"kind": str(self.kind)} if own(self._model) else {}
        return {key_column(self._model): key, **of_kind}

    def get(self, key: int) -> LedgerRow | None:
        """Return the row of a key."""
        row: LedgerRow | None = self._session.scalar(_of_key(self._model), {"key": key})
        return row

    def lock(self, key: int) -> LedgerRow | None:
        """Return the row of a key, locked until the end of the transaction."""
        return self._session.scalar(select(self._model).where(self._model.key == key).with_for_update())

    def of_keys(self, keys: Collection[int]) -> dict[int, LedgerRow]:
        """Return the rows of several keys, by key."""
        if not keys:
            return {}
        rows = self._session.scalars(_of_keys(self._model), {"keys": keys})
        return {row.key: row for row in rows}

    def newest_projects(self, most: int) -> list[int]:
        """Return the distinct tracker projects of the `most` rows with the highest keys, newest first."""
        newest = select(self._model.tracker_project_id).order_by(self._model.key.desc()).limit(most)
        return list(dict.fromkeys(one for one in self._session.scalars(newest) if one is not None))

    def newest_authors(self, most: int) -> dict[int, int]:
        """Return the known authors of the `most` linked rows with the highest keys, by key, newest first."""
        made = select(self._model.key, self._model.author_id).where(self._model.state == LedgerState.LINKED)
        newest = self._session.execute(made.order_by(self._model.key.desc()).limit(most))
        return {key: author_id for key, author_id in newest if author_id is not None}

    def linked(self) -> Iterator[LedgerRow]:
        """Yield every linked row in the order of keys, fetched in chunks."""
        statement = select(self._model).where(self._model.state == LedgerState.LINKED)
        yield from self._session.scalars(statement.order_by(self._model.key).execution_options(yield_per=500))

    def linked_sample(self, most: int) -> list[LedgerRow]:
        """Return at most this many linked rows, spread evenly from the lowest tracker id to the highest."""
        linked = self._model.state == LedgerState.LINKED
        count = self._session.scalar(select(func.count()).select_from(self._model).where(linked)) or 0
        places = sorted({number * (count - 1) // (most - 1) for number in range(most if count else 0)})
        ordered = select(self._model).where(linked).order_by(self._model.tracker_id).limit(1)
        rows = (self._session.scalar(ordered.offset(place)) for place in places)
        return [row for row in rows if row is not None]

    def in_doubt_like(self, fingerprint: str, *, settleable: bool = True) -> Sequence[LedgerRow]:
        """Return the rows in doubt whose objects may be indistinguishable on the tracker, of any kind in the table.

        Args:
            fingerprint: the hash that they share.
            settleable: return only rows whose settling time is over.
        """
        statement = select(self._all).where(
            self._all.fingerprint == fingerprint, self._all.state == LedgerState.IN_DOUBT
        )
        if settleable:
            statement = statement.where(self._all.settle_after <= moment())
        oldest_first = statement.order_by(self._all.claimed_at, self._all.key).limit(MOST_SETTLED)
        return self._session.scalars(oldest_first).all()

    def unsettleable_like(self, fingerprint: str, moment: datetime) -> Sequence[LedgerRow]:
        """Return the claimed rows with this fingerprint, and those in doubt that could not be resolved at a given time.

        Args:
            fingerprint: the hash that they share.
            moment: the database's clock when the rows in doubt were read.
        """
        settleable = and_(self._all.state == LedgerState.IN_DOUBT, self._all.settle_after <= moment)
        statement = select(self._all).where(
            self._all.fingerprint == fingerprint, self._all.state.in_(IN_FLIGHT), ~settleable
        )
        return self._session.scalars(statement.limit(MOST_SETTLED)).all()

    def is_alike_in_flight(self, fingerprint: str, key: int) -> bool:
        """Return whether another row with this fingerprint is claimed or in doubt."""
        statement = select(self._all.key).where(
            self._all.fingerprint == fingerprint, self._all.state.in_(IN_FLIGHT), ~self._is(key)
        )
        return self._session.scalar(statement.limit(1)) is not None

    def unlinked_at(self, place: int) -> Sequence[LedgerRow]:
        """Return the rows that are not linked and may have an object at a place, of any kind in the table.

        Args:
            place: tracker project of an issue; issue of a time entry or an addition.
        """
        where = self._all.issue_id if self.kind.is_on_issue else self._all.tracker_project_id
        ended = and_(self._all.state == LedgerState.FREE, func.coalesce(self._all.unclear, 0) == 0)
        statement = select(self._all).where(NOT_LINKED, where == place, self._all.state != GONE, ~ended)
        return self._session.scalars(statement).all()

    def of_issue(self, ticket_id: int, issue_id: int, *states: LedgerState) -> Sequence[LedgerRow]:
        """Return a ticket's rows in these states whose objects are on an issue, or were meant for it."""
        statement = select(self._model).where(
            self._model.ticket_id == ticket_id,
            self._model.issue_id == issue_id,
            self._model.state.in_(states),
        )
        return self._session.scalars(statement).all()

    def holders(self, listed: Sequence[Mapping[str, Any]]) -> set[int]:
        """Return the ids of those listed objects that live rows hold, of any kind in the table.

        A tracker that was restored gives ids again: a row does not hold an object of another time.
        """
        there = {one["id"]: Identity.of(self.kind, one) for one in listed if is_id(one.get("id"))}
        if not there:
            return set()
        held = select(self._all.tracker_id, self._all.created_on).where(
            self._all.tracker_id.in_(there), self._all.state != GONE
        )
        return {
            tracker_id
            for tracker_id, created_on in self._session.execute(held)
            if tracker_id is not None and not there[tracker_id].is_of_another_time(Identity(created_on))
        }

    def created_on(self, tracker_ids: Collection[int | None]) -> dict[int, datetime]:
        """Return when the objects that had these tracker ids were created, if known; of several, the oldest."""
        times = select(self._all.tracker_id, func.min(self._all.created_on)).where(
            self._all.tracker_id.in_(tracker_ids), self._all.created_on.is_not(None)
        )
        found = self._session.execute(times.group_by(self._all.tracker_id))
        return {tracker_id: moment for tracker_id, moment in found if tracker_id and moment}

    def linked_to(self, tracker_ids: Collection[int]) -> Sequence[LedgerRow]:
        """Return the live rows that hold some of the tracker ids, of any kind in the table."""
        where = self._all.tracker_id.in_(tracker_ids), self._all.state != GONE
        return self._session.scalars(select(self._all).where(*where)).all() if tracker_ids else []

    def holder(self, tracker_id: int) -> LedgerRow | None:
        """Return the live row that holds a tracker id, of any kind in the table."""
        return self._session.scalar(
            select(self._all).where(self._all.tracker_id == tracker_id, self._all.state != GONE)
        )

    def count_live(self) -> int:
        """Return the number of rows whose objects exist, or may exist, on the tracker."""
        ended = (LedgerState.FREE, LedgerState.GONE)
        statement = select(func.count()).select_from(self._model).where(self._model.state.not_in(ended))
        return self._session.scalar(statement) or 0

    def waiting_for_a_person(self) -> Sequence[LedgerRow]:
        """Return the rows that are on hold or gone, longest waiting first."""
        statement = select(self._model).where(NOT_LINKED, self._model.state.in_(FOR_A_PERSON))
        return self._session.scalars(statement.order_by(self._model.changed_at)).all()

    def due_tickets(self, limit: int, settling: float) -> list[int]:
        """Return tickets with a row that a worker must resolve now: in doubt or claimed, its settling time over."""
        due = (NOT_LINKED, self._settleable(settling))
        statement = select(self._model.ticket_id).where(*due).limit(limit)
        return list(dict.fromkeys(self._session.scalars(statement)))

    def _settleable(self, settling: float) -> ColumnElement[bool]:
        doubtful = and_(self._model.state == LedgerState.IN_DOUBT, self._model.settle_after <= moment())
        expired = and_(self._model.state == LedgerState.CLAIMED, self._model.lease_until <= moment(-settling))
        return or_(doubtful, expired)


@cache
def _of_key(model: type[LedgerRow]) -> Select[Any]:
    """Return the statement that reads the row of `key`; built once, as is the one below."""
    return select(model).where(model.key == bindparam("key", type_=Key))


@cache
def _of_keys(model: type[LedgerRow]) -> Select[Any]:
    """Return the statement that reads the rows of `keys`."""
    return select(model).where(among(model.key, "keys"))
