"""Statements that are made once and come with each event: each is compiled once, too.

On those connections on which statements are prepared they go to the driver as they are. What SQLAlchemy does for a
statement each time takes longer there than all the rest (decision 25).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg2
from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeEngine

from shared.store.tables.prepared import KNOWN, MOST, WITH_NEXT, Known

DIALECT: Dialect = PGDialect_psycopg2()  # type: ignore[no-untyped-call]


def carry_out(session: Session, statement: Any, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    """Carry out a statement that is made once; return the rows that come back, each a named tuple.

    Args:
        session: the transaction; nothing that was added to it waits to be written.
        statement: SQLAlchemy's, the same object each time.
        parameters: what it has no values for itself.

    Raises:
        DBAPIError: it failed.
    """
    connection = session.connection()
    known: Known | None = connection.info.get(KNOWN)
    if known is not None:
        return _compiled(statement).carry_out(connection, known, parameters or {})
    result = connection.execute(statement, parameters or {})
    return result.all() if result.returns_rows else ()


class Compiled:
    """A statement as psycopg2 takes it.

    Args:
        statement: SQLAlchemy's.
    """

    def __init__(self, statement: Any) -> None:
        compiled = statement.compile(dialect=DIALECT)
        self._text = str(compiled)
        self._bind = {
            name: bind
            for parameter, name in compiled.bind_names.items()
            if (bind := _as_here(parameter.type).bind_processor(DIALECT))
        }
        own = {name: one.effective_value for one, name in compiled.bind_names.items() if not one.required}
        self._own = self._bound(own)
        columns = statement.exported_columns
        kind: Any = namedtuple("Row", columns.keys(), rename=True)  # type: ignore[misc]
        self._as_row = kind._make
        self._has_rows = bool(columns)
        self._read = [
            (place, read)
            for place, column in enumerate(columns)
            if (read := _as_here(column.type).result_processor(DIALECT, None))
        ]

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        bind = self._bind
        return {name: bind[name](value) if name in bind else value for name, value in values.items()}

    def carry_out(self, connection: Connection, known: Known, parameters: Mapping[str, Any]) -> Sequence[Any]:
        """Carry it out; return what comes back.

        Args:
            connection: where.
            known: what is prepared there.
            parameters: as for `carry_out`.

        Raises:
            DBAPIError: it failed.
        """
        values = self._own | self._bound(parameters)
        try:
            cursor: Any = connection.connection.cursor()
            for hear in connection.engine.dispatch.before_cursor_execute:
                hear(connection, cursor, self._text, values, None, False)
            known.carry_out(cursor, self._text, values, connection.info.pop(WITH_NEXT, ""))
            found = cursor.fetchall() if self._has_rows else ()
        except psycopg2.Error as error:
            raise _failed(connection, known, self._text, error) from error
        return [self._as_row(self._as_read(one)) for one in found]

    def _as_read(self, row: tuple[Any, ...]) -> Sequence[Any]:
        if not self._read:
            return row
        values = list(row)
        for place, read in self._read:
            values[place] = read(values[place])
        return values


@lru_cache(maxsize=MOST)
def _compiled(statement: Any) -> Compiled:
    return Compiled(statement)


def _as_here(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    return kind.dialect_impl(DIALECT)


def _failed(connection: Connection, known: Known, statement: str, error: psycopg2.Error) -> BaseException:
    """Return an error as SQLAlchemy raises it; where the connection broke, all those of that time are, as it does."""
    dialect: Any = connection.dialect
    driver = connection.connection.driver_connection
    is_broken = known.by.gives_up(error) or dialect.is_disconnect(error, driver, None)
    if is_broken:
        connection.engine.pool._invalidate(connection.connection, error)
        connection.invalidate(error)
    return DBAPIError.instance(
        statement,
        None,
        error,
        psycopg2.Error,
        hide_parameters=True,
        connection_invalidated=is_broken,
        dialect=dialect,
    )
