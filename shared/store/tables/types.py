"""Column types, the base of all tables, and the database's own clock, for both SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    DateTime,
    Dialect,
    Integer,
    ScalarSelect,
    Select,
    Text,
    delete,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator

Key = BigInteger().with_variant(Integer, "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware date and time, stored in UTC; SQLite stores no time zone, so it is added on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite stores it without the zone."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return an aware UTC value."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Words(TypeDecorator[str]):
    """Text for people: without U+0000 and lone surrogates, which databases refuse."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Remove the characters of NOT_STORABLE; this is faster than applying its pattern to each row."""
        return None if value is None else value.encode("utf-8", "ignore").decode().replace("\x00", "")


class Json(TypeDecorator[Any]):
    """JSON as ASCII text, which preserves U+0000 and lone surrogates; PostgreSQL's own type refuses them."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Encode; None stays NULL."""
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {datetime: UtcDateTime, int: Key, dict[str, Any]: Json, list[int]: Json}  # noqa: RUF012


class clock(GenericFunction[datetime]):  # noqa: N801  (a SQL function)
    """The database's current time plus a number of seconds: one clock for all workers.

    Args:
        seconds: offset in seconds, may be negative; or a bound parameter for it.
    """

    type = UtcDateTime()
    inherit_cache = True

    def __init__(self, seconds: float | BindParameter[float] = 0) -> None:
        super().__init__(seconds if isinstance(seconds, BindParameter) else float(seconds))


def moment(seconds: float | BindParameter[float] = 0) -> ScalarSelect[datetime]:
    """Return the database's time as a subquery, evaluated once per statement, for comparisons with columns.

    PostgreSQL evaluates `clock_timestamp()` again for each row, so no index can be used for a comparison with it.

    Args:
        seconds: offset in seconds, may be negative.
    """
    return select(clock(seconds)).scalar_subquery()


@compiles(clock, "postgresql")
def _clock_postgresql(element: clock, compiler: SQLCompiler, **kw: Any) -> str:
    return f"(clock_timestamp() + make_interval(secs => {compiler.process(element.clauses, **kw)}))"


@compiles(clock, "sqlite")
def _clock_sqlite(element: clock, compiler: SQLCompiler, **kw: Any) -> str:
    seconds = compiler.process(element.clauses, **kw)
    return f"(strftime('%Y-%m-%d %H:%M:%f', 'now', {seconds} || ' seconds') || '000')"


Insert = Callable[[Any], Any]


def insert_for(session: Session) -> Insert:
    """Return the dialect's own INSERT, which supports ON CONFLICT."""
    return postgresql.insert if is_on_postgresql(session) else sqlite.insert


def put_row(
    session: Session,
    model: type[Base],
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    where: ColumnElement[bool] | None = None,
) -> bool:
    """Insert or update the row of a key; return whether anything was written.

    Args:
        session: the transaction.
        model: the table.
        key: the columns of the primary key.
        values: the other columns.
        where: condition under which an existing row is updated.
    """
    inserting = insert_for(session)(model).values(**key, **values)
    putting = inserting.on_conflict_do_update(index_elements=list(key), set_=dict(values), where=where)
    return session.scalar(putting.returning(literal(1))) is not None


def oldest(
    at: InstrumentedAttribute[Any], days: float, limit: int, *which: ColumnElement[bool]
) -> Select[tuple[int]]:
    """Return the query for the ids of the oldest rows that are past their retention.

    Args:
        at: the time column. Its index gives the oldest rows first, so that not all rows are read.
        days: the retention in days.
        limit: maximum number of rows.
        which: further conditions.
    """
    return select(at.class_.id).where(at < moment(-days * 86400), *which).order_by(at).limit(limit)


def delete_oldest(session: Session, at: InstrumentedAttribute[Any], days: float, limit: int) -> int:
    """Delete the oldest rows that are past their retention, as `oldest` finds them; return their number."""
    model, old = at.class_, oldest(at, days, limit)
    return len(session.execute(delete(model).where(model.id.in_(old)).returning(model.id)).all())


def is_on_postgresql(session: Session) -> bool:
    """Return whether a session uses PostgreSQL; otherwise it uses SQLite."""
    return session.get_bind().dialect.name == "postgresql"
