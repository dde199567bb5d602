"""Statements that PostgreSQL plans once for each connection: what comes often is prepared, as psycopg 3 does by itself.

psycopg2 sends each statement as one text with its values in it, which the server has to read and plan anew: of most of
ours that takes as long as to carry it out (docs/decisions/0024-planned-once.md).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.pool import ConnectionPoolEntry

from shared.telemetry.logs import get_logger

log = get_logger("database")
OFTEN = 5
"""A statement is prepared when it comes so many times on a connection."""

MOST = 150
"""Statements that are prepared on a connection: the server keeps them in its memory."""

MOST_COUNTED = 1000
LONGEST = 10_000
"""Characters: what is longer says each row that it writes, and seldom comes again as it is."""

CAN_BE_PREPARED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
PARAMETER = re.compile(r"%(?:\((\w+)\)s|%)")
UNKNOWN_THERE = ("26000", "42P05", "0A000")
"""PostgreSQL's codes for what was prepared: it is not there, it is there already, it gives other columns now."""


@dataclass
class _Known:
    """How often each statement came on a connection, and how those that are prepared are asked for."""

    times: Counter[str] = field(default_factory=Counter)
    prepared: dict[str, str] = field(default_factory=dict)

    def is_due(self, statement: str) -> bool:
        """Count a statement; tell whether it is to be prepared now."""
        if len(self.times) > MOST_COUNTED:
            self.times.clear()
        self.times[statement] += 1
        return (
            self.times[statement] == OFTEN
            and len(self.prepared) < MOST
            and len(statement) <= LONGEST
            and statement.lstrip().startswith(CAN_BE_PREPARED)
        )


class PreparedStatements:
    """Prepares what comes often on those of an engine's connections that lead straight to PostgreSQL.

    Behind a pooler it prepares nothing, where one session's statements would be another's: there the process that
    answers is not the one whose number was told when the connection was made. Should a server all the same not know
    what was prepared, all connections are made anew and nothing is prepared on them.

    Args:
        engine: its connections are psycopg2's.
    """

    def __init__(self, engine: Engine) -> None:
        self._known = WeakKeyDictionary[extensions.connection, _Known]()
        self._is_off = False
        event.listen(engine, "connect", self._look_for_a_pooler)
        event.listen(engine, "do_execute", self._execute)
        event.listen(engine, "handle_error", self._give_up)

    def _look_for_a_pooler(self, connection: extensions.connection, _record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (answering,) = cursor.fetchone() or (None,)
        connection.rollback()
        if answering == connection.info.backend_pid and not self._is_off:
            self._known[connection] = _Known()

    def _execute(
        self, cursor: extensions.cursor, statement: str, parameters: Any, _context: object
    ) -> bool | None:
        """Carry out what is prepared; None: SQLAlchemy is to carry it out itself."""
        known = self._known.get(cursor.connection)
        if known is None or cursor.name or cursor.connection.autocommit or not isinstance(parameters, dict):
            return None
        asked = known.prepared.get(statement)
        if asked is None and known.is_due(statement):
            asked = _prepare(cursor, statement, f"deskbridge_{len(known.prepared)}")
            if asked is not None:
                known.prepared[statement] = asked
        if asked is None:
            return None
        cursor.execute(asked, parameters)
        return True

    def _give_up(self, failed: ExceptionContext) -> None:
        code = getattr(failed.original_exception, "pgcode", None)
        if code in UNKNOWN_THERE and not self._is_off:
            self._is_off = failed.is_disconnect = True
            log.warning("no statement is prepared any more", error=code)


def to_prepare(statement: str, name: str) -> tuple[str, str]:
    """Return what prepares a statement, and what carries it out then with the same parameters.

    Args:
        statement: as psycopg2 takes it, with named parameters.
        name: what it is to be called on its connection.
    """
    numbers = dict[str, int]()

    def numbered(found: re.Match[str]) -> str:
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}" if found[1] else "%"

    prepare = f"PREPARE {name} AS {PARAMETER.sub(numbered, statement)}"
    values = ", ".join(f"%({one})s" for one in numbers)
    return prepare, f"EXECUTE {name} ({values})" if numbers else f"EXECUTE {name}"


def _prepare(cursor: extensions.cursor, statement: str, name: str) -> str | None:
    """Prepare a statement; return what carries it out, None where the server cannot tell its parameters' types."""
    prepare, execute = to_prepare(statement, name)
    try:
        cursor.execute(f"SAVEPOINT preparing; {prepare}; RELEASE SAVEPOINT preparing")
    except psycopg2.ProgrammingError as error:
        cursor.execute("ROLLBACK TO SAVEPOINT preparing")
        log.warning("a statement is not prepared", error=error.pgcode, statement=statement[:60])
        return None
    return execute
