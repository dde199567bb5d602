"""Statements that PostgreSQL plans once for each connection: what comes often is prepared, as psycopg 3 does by itself.

psycopg2 sends each statement as one text with its values in it, which the server has to read and plan anew: of most of
ours that takes as long as to carry it out (decision 24).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.engine.interfaces import ExecutionContext
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.orm import Session
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

PLANNED_FOR_S = 10.0
"""How long plans are used: a table that was small when they were made may have grown since."""

KNOWN, WITH_NEXT = "known", "with_next"
"""What is noted with a connection: what is prepared on it, where it leads straight to PostgreSQL; what it is told with
the next statement."""

CAN_BE_PREPARED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
PARAMETER = re.compile(r"%(?:\((\w+)\)s|%)")
KINDS: Mapping[str, type] = {
    "text": str,
    "character varying": str,
    "integer": int,
    "bigint": int,
    "boolean": bool,
}
LARGEST_INTEGER = 2**31 - 1
UNKNOWN_THERE = ("26000", "42P05", "0A000")
"""PostgreSQL's codes for what was prepared: it is not there, it is there already, it gives other columns now."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that is prepared on a connection.

    Attributes:
        execute: what carries it out with the same parameters.
        kinds: what the server takes each parameter for, by name.
    """

    execute: str
    kinds: Mapping[str, str]

    def takes(self, parameters: Mapping[str, Any]) -> bool:
        """Tell whether values are what the server takes them for.

        By its place it says what each is: else `false` might come back as a text, and 0.5 be rounded.
        """
        return all(_is_of(kind, parameters[name]) for name, kind in self.kinds.items())


@dataclass
class Known:
    """How often each statement came on a connection, which are prepared there, and since when they are planned."""

    by: PreparedStatements
    times: Counter[str] = field(default_factory=Counter)
    prepared: dict[str, Prepared] = field(default_factory=dict)
    planned_at: float = field(default_factory=time.monotonic)

    def carry_out(
        self, cursor: extensions.cursor, statement: str, parameters: Mapping[str, Any], before: str
    ) -> None:
        """Carry a statement out: as it is prepared, or else as it is.

        Args:
            cursor: the connection's.
            statement: as psycopg2 takes it, with named parameters.
            parameters: its values, by name.
            before: what the server is told with it; or nothing.

        Raises:
            psycopg2.Error: it failed.
        """
        prepared = self.prepared.get(statement)
        if prepared is None and self._is_due(statement):
            prepared = _prepare(cursor, statement)
            if prepared is not None:
                self.prepared[statement] = prepared
        if prepared is not None and prepared.takes(parameters):
            statement = prepared.execute
        cursor.execute(before + statement, parameters)

    def _is_due(self, statement: str) -> bool:
        """Count a statement; tell whether it is to be prepared now."""
        is_one = statement.lstrip().startswith(CAN_BE_PREPARED) and ";" not in statement
        if not is_one or len(statement) > LONGEST or len(self.prepared) >= MOST:
            return False
        if len(self.times) > MOST_COUNTED:
            self.times.clear()
        self.times[statement] += 1
        return self.times[statement] == OFTEN


def say_with_next(session: Session, statement: str) -> None:
    """Have a statement that returns nothing of use carried out with the next one, in one round trip where that is safe.

    Args:
        session: the transaction, on PostgreSQL; it says something else before its end, and ends where that fails.
        statement: without parameters.
    """
    connection = session.connection()
    if KNOWN in connection.info:
        connection.info[WITH_NEXT] = f"{connection.info.get(WITH_NEXT, '')}{statement}; "
    else:
        connection.exec_driver_sql(statement)


class PreparedStatements:
    """Prepares what comes often on those of an engine's connections that lead straight to PostgreSQL.

    Behind a pooler it prepares nothing, where one session's statements would be another's: there the process that
    answers is not the one whose number was told when the connection was made. Should a server all the same not know
    what was prepared, all connections are made anew and nothing is prepared on them; that it carries out another one
    is out of the question, since a statement's name follows from its text.

    Args:
        engine: its connections are psycopg2's.
    """

    def __init__(self, engine: Engine) -> None:
        # beside what is noted with each, since SQLAlchemy notes nothing yet with the very first
        self._known = WeakKeyDictionary[extensions.connection, Known]()
        self._is_off = False
        event.listen(engine, "connect", self._look_for_a_pooler)
        event.listen(engine, "checkout", self._plan_anew)
        event.listen(engine, "do_execute", self._execute)
        event.listen(engine, "do_executemany", self._say_before)
        event.listen(engine, "handle_error", self._give_up)

    def _look_for_a_pooler(self, connection: extensions.connection, record: ConnectionPoolEntry) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (answering,) = cursor.fetchone() or (None,)
        connection.rollback()
        if answering == connection.info.backend_pid and not self._is_off:
            record.info[KNOWN] = self._known[connection] = Known(self)

    def _plan_anew(
        self, connection: extensions.connection, record: ConnectionPoolEntry, _proxy: object
    ) -> None:
        """Have the server forget its plans from time to time; it makes each anew when it is wanted."""
        record.info.pop(WITH_NEXT, None)  # of a transaction that said nothing more
        known, now = record.info.get(KNOWN), time.monotonic()
        if known is None or not known.prepared or now - known.planned_at < PLANNED_FOR_S:
            return
        known.planned_at = now
        try:
            with connection.cursor() as cursor:
                cursor.execute("DISCARD PLANS")
            connection.rollback()
        except psycopg2.Error as error:
            raise DisconnectionError from error

    def _execute(
        self, cursor: extensions.cursor, statement: str, parameters: Any, context: ExecutionContext
    ) -> bool | None:
        """Carry out what is prepared, and what is said with it; None: SQLAlchemy is to carry it out itself."""
        known = self._known.get(cursor.connection)
        if known is None:
            return None
        if cursor.name or cursor.connection.autocommit or not isinstance(parameters, dict):
            self._say_before(cursor, statement, parameters, context)
            return None
        known.carry_out(cursor, statement, parameters, context.root_connection.info.pop(WITH_NEXT, ""))
        return True

    def _say_before(
        self, cursor: extensions.cursor, _statement: str, _parameters: object, context: ExecutionContext
    ) -> None:
        """Say by itself what was to be said with this statement, which is one of another kind."""
        if cursor.connection in self._known and (before := context.root_connection.info.pop(WITH_NEXT, "")):
            with cursor.connection.cursor() as another:
                another.execute(before)

    def _give_up(self, failed: ExceptionContext) -> None:
        if self.gives_up(failed.original_exception):
            failed.is_disconnect = True

    def gives_up(self, failure: BaseException) -> bool:
        """Tell whether a statement failed since the server does not know what was prepared: nothing is any more."""
        code = getattr(failure, "pgcode", None)
        if code not in UNKNOWN_THERE or self._is_off:
            return False
        self._is_off = True
        log.warning("no statement is prepared any more", error=code)
        return True


def _is_of(kind: str, value: object) -> bool:
    if value is None or kind not in KINDS:
        return True
    is_small = kind != "integer" or (isinstance(value, int) and abs(value) <= LARGEST_INTEGER)
    return isinstance(value, KINDS[kind]) and is_small


def name_of(statement: str) -> str:
    """Return what a statement is called on each connection that it is prepared on."""
    return f"deskbridge_{sha256(statement.encode()).hexdigest()[:16]}"


def to_prepare(statement: str) -> tuple[str, str, list[str]]:
    """Return what prepares a statement, what carries it out then with the same parameters, and these in their order.

    Args:
        statement: as psycopg2 takes it, with named parameters.
    """
    name, numbers = name_of(statement), dict[str, int]()

    def numbered(found: re.Match[str]) -> str:
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}" if found[1] else "%"

    prepare = f"PREPARE {name} AS {PARAMETER.sub(numbered, statement)}"
    values = ", ".join(f"%({one})s" for one in numbers)
    return prepare, f"EXECUTE {name} ({values})" if numbers else f"EXECUTE {name}", list(numbers)


def _prepare(cursor: extensions.cursor, statement: str) -> Prepared | None:
    """Prepare a statement; return it, None where the server cannot tell its parameters' types.

    Raises:
        psycopg2.Error: one of this name is there already, or the connection failed.
    """
    prepare, execute, names = to_prepare(statement)
    types = f"SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = '{name_of(statement)}'"  # noqa: S608 (a digest)
    try:
        cursor.execute(f"SAVEPOINT preparing; {prepare}; RELEASE SAVEPOINT preparing; {types}")
    except psycopg2.ProgrammingError as error:
        if error.pgcode in UNKNOWN_THERE:
            raise
        cursor.execute("ROLLBACK TO SAVEPOINT preparing")
        log.warning("a statement is not prepared", error=error.pgcode, statement=statement[:60])
        return None
    ((kinds,),) = cursor.fetchall()
    return Prepared(execute, dict(zip(names, kinds, strict=True)))
