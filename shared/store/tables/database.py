"""The database: SQLite on a single machine, PostgreSQL in production."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal

from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.engine import Connection, ExceptionContext
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from shared.errors import first_line
from shared.store.tables.prepared import PreparedStatements
from shared.store.tables.registry import TABLES

BUSY_TIMEOUT_S = 30
IDLE_S = 5.0
IDLE_IN_TRANSACTION_S = 10.0
"""After how long PostgreSQL ends an idle transaction, whose process was suspended and still holds locks."""

LOCK_WAIT_S = 15.0
"""How long a statement waits for a lock: longer than a suspended process can hold it."""

SILENT = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 10_000}
"""When a silent server counts as down: without these options a statement may wait for a quarter of an hour."""

DEADLOCK = "40P01"
HELD_BY_OTHERS = ("55P03", DEADLOCK)
"""PostgreSQL's codes for a lock timeout and for a deadlock."""

MISSING = ("42P01", "42703")
"""PostgreSQL's codes for a missing table and a missing column."""

SQLITE_ERROR, SQLITE_BUSY = 1, 5
"""SQLite's codes for a rejected statement and for a lock timeout."""

OF_OTHER_TABLES = "of_other_tables"
"""Attribute set on an SQLite error if the tables are not those of this version."""

ONLY_READS = "only_reads"
"""Execution option of a connection that only reads."""

INSUFFICIENT_RESOURCES = "53"
"""Prefix of PostgreSQL's codes for a full disk, insufficient memory and similar errors."""

TAKE_ROOM = """
CREATE TEMPORARY TABLE room ON COMMIT DROP AS SELECT repeat('x', 1000) AS filling FROM generate_series(1, 100)
"""

APPEND_NOTHING = "INSERT INTO journal (delivery_id) SELECT NULL WHERE false"
"""Needs the journal, the right to append to it, and its lock, as an event does."""

WAIT_BRIEFLY = "SET LOCAL lock_timeout = '2s'"

WHO_HOLDS_JOURNAL = """
SELECT pid, usename FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid IN (
    SELECT pid FROM pg_locks WHERE relation = 'journal'::regclass AND granted
    AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
"""

READ_ONLY_SERVER = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean"


def words_of(error: BaseException) -> str:
    """Return the first line of the database's own error message, or the type of the error if it has none."""
    told = error.orig if isinstance(error, DBAPIError) and error.orig else error
    return first_line(told)[:LONGEST_WORDS]


def words_for_the_log(error: BaseException) -> str | None:
    """Return the message of an error of the database itself, such as a full disk; None if it may quote user data."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    is_of_itself = str(getattr(cause, "pgcode", None))[:2] in OF_ITSELF or (
        (_sqlite_code(cause) & 0xFF) in SQLITE_KINDS
    )
    return words_of(error) if is_of_itself else None


def is_held_by_others(error: BaseException) -> bool:
    """Return whether a statement failed because another session holds a lock, so that it may be retried."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    return _sqlite_code(cause) & 0xFF == SQLITE_BUSY or getattr(cause, "pgcode", None) in HELD_BY_OTHERS


def is_deadlock(error: BaseException) -> bool:
    """Return whether PostgreSQL ended a transaction because of a deadlock."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "pgcode", None) == DEADLOCK


def is_of_the_statement(error: BaseException) -> bool:
    """Return whether SQLite rejected the statement itself, and not because of a fault of the database."""
    return isinstance(error, DBAPIError) and _sqlite_code(error.orig) == SQLITE_ERROR


def is_of_other_tables(error: BaseException) -> bool:
    """Return whether a statement failed because the tables are not those of this version.

    PostgreSQL has codes for missing tables and columns. SQLite has one code for every rejected statement, so
    `_note_other_tables` has inspected its tables too.
    """
    cause = error.orig if isinstance(error, DBAPIError) else None
    return getattr(cause, OF_OTHER_TABLES, False) or getattr(cause, "pgcode", None) in MISSING


def _sqlite_code(cause: BaseException | None) -> int:
    """Return the SQLite code of an error, or 0; the driver is not imported, since it is loaded only if it is used."""
    code: int = getattr(cause, "sqlite_errorcode", 0)
    return code


TRIED_EVERY_S = 3.0
"""Minimum time between two tests of whether an event can be committed."""

READ_ONLY, FORBIDDEN, LOCKED = "25006", "42501", "55P03"
"""PostgreSQL's codes for a write in a read-only session, a missing privilege and a lock timeout."""

ENDS_SESSION = (READ_ONLY, "57P")
"""Codes after which a session is not used again: it stays read-only when the server no longer is, or it has ended."""

SQLITE_KINDS: dict[int, Literal["file", "full", "busy"]] = {
    3: "file", 8: "file", 10: "full", 13: "full", 14: "file", SQLITE_BUSY: "busy",
}  # fmt: skip
"""SQLite's codes for a failed write: no permission, read only, I/O error, disk full, file cannot be opened, busy."""

WRITE_WITHOUT_CACHE = (
    "PRAGMA busy_timeout = 1000",
    "PRAGMA cache_size = 1",
    "BEGIN IMMEDIATE",
    "CREATE TABLE room (filling)",
    "WITH RECURSIVE row(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM row WHERE number < 100) "
    "INSERT INTO room SELECT randomblob(1000) FROM row",
    "ROLLBACK",
)


@dataclass(frozen=True, slots=True)
class Hindrance:
    """The reason why no event can be committed.

    Attributes:
        kind: a standby server, a server set to read only, a full disk, a file that cannot be written, a journal that
            another session has locked, or one to which this role may not append.
        error: the database's error message; for a lock, whose it is.
    """

    kind: Literal["standby", "read only", "full", "file", "locked", "forbidden"]
    error: str


LONGEST_WORDS = 200
OF_ITSELF = ("08", "25", "28", "53", "57", "58")
"""Prefixes of PostgreSQL's codes for errors of the server, not of a statement's data."""

IDENTITY = "identity"
"""Key in a connection's info: the identities of the server and of the database that it leads to; `?` if hidden."""

SYSTEM = "SELECT system_identifier FROM pg_control_system()"
THIS_DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"

OVERFLOW = 4
"""Maximum connections beyond the pool: a server allows a hundred for all processes."""


class Database:
    """Opens transactions on the configured database.

    Args:
        url: SQLAlchemy URL.
        pool_size: number of pooled connections: as many as threads use the database at once.
        prepares: whether to prepare hot statements on PostgreSQL, for a process that repeats them constantly.
    """

    def __init__(self, url: str, *, pool_size: int = 5, prepares: bool = False) -> None:
        self.engine = _engine(url, pool_size)
        if prepares and self.engine.dialect.name == "postgresql":
            PreparedStatements(self.engine)
        self._threads = RLock() if self.engine.dialect.name == "sqlite" else None
        self._trying, self._tried_at, self._takes_writes = Lock(), float("-inf"), False

    @property
    def missing_file(self) -> str | None:
        """The missing file of an SQLite database, or None; connecting would create it."""
        url = self.engine.url
        if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
            return None
        return None if Path(str(url.database)).exists() else str(url.database)

    @property
    def name(self) -> str:
        """Host and name of the database or its file, without account and password."""
        url = self.engine.url
        return f"{url.host}/{url.database}" if url.host else str(url.database)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a transaction: it is committed at the end of the block, and rolled back if the block raises."""
        with self._turn(), Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let one thread at a time use SQLite: it has one writer, and others would poll for its lock at intervals.

        After a timeout the block still runs, and SQLite reports that it is busy.
        """
        if self._threads is None:
            yield
            return
        has_turn = self._threads.acquire(timeout=BUSY_TIMEOUT_S)
        try:
            yield
        finally:
            if has_turn:
                self._threads.release()

    def takes_writes(self) -> bool:
        """Return whether an event can be committed now; it is tested every few seconds at most, for all callers."""
        with self._trying:
            if time.monotonic() - self._tried_at > TRIED_EVERY_S:
                try:
                    self._takes_writes = self.hindrance() is None
                except SQLAlchemyError:
                    self._takes_writes = False
                self._tried_at = time.monotonic()
            return self._takes_writes

    def hindrance(self) -> Hindrance | None:
        """Return why no event can be committed now, or None if a test write succeeds; it is rolled back.

        Raises:
            SQLAlchemyError: if the database cannot be used at all.
        """
        return self._of_sqlite() if self._threads else self._of_postgresql()

    def _of_postgresql(self) -> Hindrance | None:
        """Test a write on PostgreSQL: append nothing to the journal, then fill a temporary table.

        If the disk is full, a server still answers queries, and a single row might fit into free space in a table.
        """
        may_append = False
        with self.engine.connect() as connection:
            try:
                connection.execute(text(WAIT_BRIEFLY))
                connection.execute(text(APPEND_NOTHING))
                may_append = True
                connection.execute(text("SET LOCAL temp_tablespaces = ''"))
                connection.execute(text(TAKE_ROOM))
            except DBAPIError as error:
                code, words = str(getattr(error.orig, "pgcode", None)), first_line(error.orig or error)
                connection.rollback()
                if code == READ_ONLY:  # by now this is a new session
                    is_standby, is_read_only = connection.execute(text(READ_ONLY_SERVER)).one()
                    kind: Literal["standby", "read only"] = "standby" if is_standby else "read only"
                    return Hindrance(kind, words) if is_read_only else None
                if code.startswith(INSUFFICIENT_RESOURCES):
                    return Hindrance("full", words)
                if code == FORBIDDEN:  # a role without temporary tables may still append to the journal
                    return None if may_append else Hindrance("forbidden", words)
                if code == LOCKED:
                    holders = connection.execute(text(WHO_HOLDS_JOURNAL)).all()
                    sessions = [f"session {pid} of {user}" for pid, user in holders]
                    return Hindrance("locked", ", ".join(sessions) or words)
                raise
            finally:
                connection.rollback()
        return None

    def _of_sqlite(self) -> Hindrance | None:
        """Test a write on SQLite, with a minimal cache so that data reaches the disk before the transaction ends.

        If another transaction holds the write lock for longer than a moment, the file counts as writable.
        """
        import sqlite3  # loaded only if it is used

        if (file := self.missing_file) is not None:
            return Hindrance("file", f"{file} does not exist")
        with self._turn():
            pooled = self.engine.raw_connection()
            connection: Any = pooled.driver_connection
            pooled.detach()  # its settings must not return to the pool
            try:
                for statement in WRITE_WITHOUT_CACHE:
                    connection.execute(statement)
            except sqlite3.Error as error:
                kind = SQLITE_KINDS.get(_sqlite_code(error) & 0xFF)
                if kind is None:
                    raise DBAPIError("a write that is rolled back", None, error) from None
                return None if kind == "busy" else Hindrance(kind, first_line(error))
            finally:
                connection.close()
        return None

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def _engine(url: str, pool_size: int) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        engine = create_engine(
            parsed,
            pool_size=pool_size,
            max_overflow=min(pool_size, OVERFLOW),
            pool_use_lifo=True,  # few are in use at a time, and those are known to work and have warm caches
            hide_parameters=True,
            connect_args={"connect_timeout": 5, "application_name": "deskbridge", **SILENT},
        )
        event.listen(engine, "connect", _limit_waits)
        event.listen(engine, "connect", _note_identity)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _ping_after_idling)
        event.listen(engine, "handle_error", _end_session)
        return engine
    engine = create_engine(
        parsed,
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,  # in errors, and so in logs: they contain user data
        connect_args={"timeout": BUSY_TIMEOUT_S},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    event.listen(engine, "handle_error", _note_other_tables)
    return engine


def _limit_waits(connection: Any, _record: ConnectionPoolEntry) -> None:
    """Have PostgreSQL end transactions that a suspended process left open, and limit how long others wait for locks.

    This is a statement, because a connection pooler may refuse start-up options.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, false), "
            "set_config('lock_timeout', %s, false)",
            (f"{round(IDLE_IN_TRANSACTION_S * 1000)}", f"{round(LOCK_WAIT_S * 1000)}"),
        )
    connection.commit()


def _note_identity(connection: Any, record: ConnectionPoolEntry) -> None:
    """Note which server and database this is; a service provider may hide the server's identity."""
    parts = []
    for statement in (SYSTEM, THIS_DATABASE):
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                parts.append(str(cursor.fetchone()[0]))
            connection.commit()
        except Exception as error:
            if connection.closed:
                raise DisconnectionError from error
            connection.rollback()
            parts.append("?")
    record.info[IDENTITY] = "/".join(parts)


def _note_use(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["used_at"] = time.monotonic()


def _ping_after_idling(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
    """Replace a connection that broke while it was idle; a connection in constant use is not tested each time."""
    if time.monotonic() - record.info.get("used_at", time.monotonic()) < IDLE_S:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        connection.rollback()
    except Exception as error:
        raise DisconnectionError from error


def _end_session(failed: ExceptionContext) -> None:
    """Replace all pooled connections if one belongs to a session that can never write again."""
    if str(getattr(failed.original_exception, "pgcode", None)).startswith(ENDS_SESSION):
        failed.is_disconnect = True


def _prepare_sqlite(connection: Any, _record: ConnectionPoolEntry) -> None:
    """Allow readers beside one writer, and replace the driver's own BEGIN by `_begin_immediate`."""
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _note_other_tables(failed: ExceptionContext) -> None:
    """Record on the error of a rejected statement whether a table or column of this version is missing."""
    import sqlite3  # already loaded

    cause = failed.original_exception
    if failed.connection is None or _sqlite_code(cause) != SQLITE_ERROR:
        return
    connection: Any = failed.connection.connection.driver_connection
    try:
        there = {
            (table, column)
            for table in TABLES.tables
            for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")
        }
    except sqlite3.Error:  # the statement's own error is reported
        return
    wanted = {(name, column.name) for name, table in TABLES.tables.items() for column in table.columns}
    setattr(cause, OF_OTHER_TABLES, not wanted <= there)


def _begin_immediate(connection: Connection) -> None:
    """Take the write lock at BEGIN: under load, a transaction that upgrades its lock later would fail at once.

    A transaction with the option ONLY_READS does not wait for writers.
    """
    only_reads = connection.get_execution_options().get(ONLY_READS)
    connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")
