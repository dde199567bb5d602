"""The real store on in-memory SQLite, with a stop point around each transaction and failures on demand."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from producer.admin.migrations.upgrading import upgrade
from shared.store.tables.database import Database
from tests.model.clock import Clock
from tests.model.stage import Stage


class Trouble(StrEnum):
    """The outcome of a transaction."""

    NONE = "none"
    NOT_COMMITTED = "not committed"
    ANSWER_LOST = "committed, and the answer was lost"


class MemoryDatabase(Database):
    """A database with one shared connection, since one actor runs at a time; each example starts with empty tables."""

    def __init__(self) -> None:
        self._connection, self._threads = _connect(), None
        self.engine = create_engine("sqlite://", creator=lambda: self._connection, poolclass=StaticPool)
        event.listen(self.engine, "begin", _begin)
        self.troubles: deque[Trouble] = deque()
        self._clock, self._stage = Clock(), Stage()
        upgrade(self)
        self._empty = _connect()
        self._connection.backup(self._empty)

    def begin_example(self, clock: Clock, stage: Stage) -> None:
        """Empty every table and use this clock."""
        self._empty.backup(self._connection)
        clock.rule(self._connection)
        self.troubles.clear()
        self._clock, self._stage = clock, stage

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a transaction as the real database does; other actors may run before and after it."""
        self._stage.point("before a transaction")
        self._clock.now += 0.002
        trouble = self.troubles.popleft() if self.troubles else Trouble.NONE
        with super().transaction() as session:
            yield session
            if trouble is Trouble.NOT_COMMITTED:
                raise OperationalError("COMMIT", None, Exception(trouble))
        self._stage.point("after a commit")
        if trouble is Trouble.ANSWER_LOST:
            raise OperationalError("COMMIT", None, Exception(trouble))


def _connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def _begin(connection: Connection) -> Any:
    return connection.exec_driver_sql("BEGIN IMMEDIATE")
