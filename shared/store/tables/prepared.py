"""Hot statements: compiled once by SQLAlchemy, planned once by PostgreSQL, and executed by psycopg2 itself.

All other statements, and every statement on SQLite, go through SQLAlchemy (decision 25).
CPU time with this module, compared with the same statements through SQLAlchemy, on two shared cores (2026-11-26):
an event of a backlog takes 2.5 instead of 2.9 ms in the worker and 0.6 instead of 0.9 ms in PostgreSQL; a single event
takes 11.5 instead of 14 ms in the worker and 4.6 instead of 9 ms in PostgreSQL (medians of five rounds).
"""

from __future__ import annotations

import time
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Dialect, Engine, event
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import Connection, ExceptionContext
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from shared.telemetry.logs import get_logger

log = get_logger("database")
DIALECT: Dialect = PGDialect_psycopg2()  # type: ignore[no-untyped-call]
PREPARED, PLANNED_AT, FIRST = "prepared", "planned_at", "first"
"""Keys in a connection's info: prepared statements, time of their plans, and SQL to send with the next statement."""

PLANNED_FOR_S = 10.0
"""How long plans are used: a table that was small when they were made may have grown."""

OUT_OF_STEP = ("26000", "42P05", "0A000")
"""PostgreSQL's codes for an unknown prepared statement, a duplicate name, and a result with other columns."""


def execute_prepared(
    session: Session, statement: Any, parameters: Mapping[str, Any] | None = None
) -> Sequence[Any]:
    """Execute a statement of SQLAlchemy Core that is built once; return its rows as named tuples.

    Args:
        session: the transaction.
        statement: the same object each time; each of its parameters has a type.
        parameters: the values that are not part of the statement.

    Raises:
        DBAPIError: if the statement fails.
    """
    connection = session.connection()
    prepared: set[str] | None = connection.info.get(PREPARED)
    if prepared is not None:
        return _compiled(statement).execute(connection, prepared, parameters or {})
    result = connection.execute(statement, parameters or {})
    return result.all() if result.returns_rows else ()


def send_with_next(session: Session, statement: str) -> None:
    """Send a statement without results to PostgreSQL together with the next one, which saves a round trip.

    Args:
        session: the transaction, in which another statement must follow.
        statement: SQL without parameters.
    """
    connection = session.connection()
    if PREPARED in connection.info:
        connection.info[FIRST] = f"{connection.info.get(FIRST, '')}{statement}; "
    else:
        connection.exec_driver_sql(statement)


class PreparedStatements:
    """Enables prepared statements on those connections of an engine that lead directly to PostgreSQL.

    Behind a pooler nothing is prepared, because another server process may run the next transaction. There is a pooler
    if the process that answers is not the one announced when the connection was made. If PostgreSQL still does not
    know a prepared statement, the transaction fails as if its connection had broken. Then all connections are replaced
    and preparing is switched off. A statement's name is a hash of its text, so no other statement can run in its place.

    Args:
        engine: an engine with psycopg2 connections.
    """

    def __init__(self, engine: Engine) -> None:
        self._is_off = False
        event.listen(engine, "connect", self._begin)
        event.listen(engine, "checkout", self._plan_anew)
        event.listen(engine, "before_cursor_execute", self._send_first)
        event.listen(engine, "handle_error", self._give_up)

    def _begin(self, connection: extensions.connection, record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            # else PostgreSQL would plan again for each list, since it assumes that a list has ten values
            cursor.execute(
                "SELECT pg_backend_pid(), set_config('plan_cache_mode', 'force_generic_plan', false)"
            )
            answering, _ = cursor.fetchone() or (None, None)
        connection.commit()
        if answering == connection.info.backend_pid and not self._is_off:
            record.info.update({PREPARED: set[str](), PLANNED_AT: time.monotonic()})

    def _plan_anew(self, connection: extensions.connection, record: ConnectionPoolEntry, _: object) -> None:
        """Discard PostgreSQL's plans from time to time; it plans each statement again when it is next used."""
        record.info.pop(FIRST, None)  # left by a transaction that ended without another statement
        now = time.monotonic()
        if not record.info.get(PREPARED) or now - record.info[PLANNED_AT] < PLANNED_FOR_S:
            return
        record.info[PLANNED_AT] = now
        try:
            with connection.cursor() as cursor:
                cursor.execute("DISCARD PLANS")
            connection.rollback()
        except psycopg2.Error as error:
            raise DisconnectionError from error

    def _send_first(self, connection: Connection, cursor: extensions.cursor, *_: object) -> None:
        """Send the deferred SQL by itself, because the next statement is not a hot one."""
        if first := connection.info.pop(FIRST, ""):
            with cursor.connection.cursor() as another:
                another.execute(first)

    def _give_up(self, failed: ExceptionContext) -> None:
        code = getattr(failed.original_exception, "pgcode", None)
        if code in OUT_OF_STEP and not self._is_off:
            self._is_off = failed.is_disconnect = True
            log.warning("no statement is prepared any more", error=code)


class HotStatement:
    """A hot statement in the form for PostgreSQL and psycopg2.

    Args:
        statement: the SQLAlchemy statement.

    Attributes:
        text: the statement's SQL, with named parameters.
        name, prepare, execution: its name on a connection, and the SQL that prepares and executes it.
    """

    def __init__(self, statement: Any) -> None:
        compiled = statement.compile(dialect=DIALECT)
        types = {name: one.type.dialect_impl(DIALECT) for one, name in compiled.bind_names.items()}
        self.text = str(compiled)
        self._bind = {name: bind for name, kind in types.items() if (bind := kind.bind_processor(DIALECT))}
        own = {name: one.effective_value for one, name in compiled.bind_names.items() if not one.required}
        self._own = self._bound(own)
        columns = statement.exported_columns
        self._has_rows = bool(columns)
        self._as_row: Any = namedtuple("Row", columns.keys(), rename=True)._make  # type: ignore[attr-defined]
        self._read = [
            (place, read)
            for place, column in enumerate(columns)
            if (read := column.type.dialect_impl(DIALECT).result_processor(DIALECT, None))
        ]
        self.name = f"deskbridge_{sha256(self.text.encode()).hexdigest()[:16]}"
        declared = ", ".join(map(DIALECT.type_compiler_instance.process, types.values()))
        numbered = self.text % {name: f"${number}" for number, name in enumerate(types, 1)}
        values = ", ".join(f"%({name})s" for name in types)
        self.prepare = f"PREPARE {self.name}{f' ({declared})' if types else ''} AS {numbered}"
        self.execution = f"EXECUTE {self.name}{f' ({values})' if types else ''}"

    def execute(
        self, connection: Connection, prepared: set[str], parameters: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Execute the statement and return its rows; prepare it first if it is not in `prepared`."""
        first, values = connection.info.pop(FIRST, ""), self._own | self._bound(parameters)
        cursor: Any = connection.connection.cursor()
        for listener in connection.dispatch.before_cursor_execute:
            listener(connection, cursor, self.text, values, None, False)
        try:
            if self.name not in prepared:
                cursor.execute(first + self.prepare)  # it waits for table locks, too
                prepared.add(self.name)
                first = ""
            cursor.execute(first + self.execution, values)
            rows = cursor.fetchall() if self._has_rows else ()
        except psycopg2.Error as error:
            connection._handle_dbapi_exception(error, self.text, values, cursor, None)
            raise
        return [self._as_row(self._converted(row)) for row in rows]

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        bind = self._bind
        return {name: bind[name](value) if name in bind else value for name, value in values.items()}

    def _converted(self, row: tuple[Any, ...]) -> list[Any]:
        values = list(row)
        for place, read in self._read:
            values[place] = read(values[place])
        return values


@lru_cache(maxsize=150)
def _compiled(statement: Any) -> HotStatement:
    return HotStatement(statement)
