"""One clock that the tests move: the database, the workers, their locks and pauses, and the tracker all read it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from unittest import mock

import shared.redis.locks
import shared.store.ledger.send_window
import worker.ticket.create

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC).timestamp()
READERS = (shared.redis.locks, worker.ticket.create)


class Clock:
    """Simulated time, in seconds.

    Attributes:
        now: the database's clock, since 1970.
        skew: how far the wall clock of whoever runs at the moment is ahead of it.
    """

    def __init__(self) -> None:
        self.now = START
        self.skew: Callable[[], float] = lambda: 0.0

    def time(self) -> float:
        """Stands for `time.time`."""
        return self.now + self.skew()

    def monotonic(self) -> float:
        """Stands for `time.monotonic`: no skew."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Stands for `time.sleep`."""
        self.now += seconds

    def moment(self) -> datetime:
        """Return the time as the database tells it."""
        return datetime.fromtimestamp(self.now, UTC)

    def strftime(self, _form: str, _now: str, offset: str) -> str:
        """Stands for SQLite's function as `shared.store.tables.types.clock` calls it: now, plus '<n> seconds'."""
        moment = datetime.fromtimestamp(self.now + float(offset.split()[0]), UTC)
        return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"

    def rule(self, connection: sqlite3.Connection) -> None:
        """Make a connection's SQL clock this one."""
        connection.create_function("strftime", 3, self.strftime)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Have every module that asks for the time ask this clock, until the end of the block."""
        with ExitStack() as stack:
            for module in READERS:
                stack.enter_context(mock.patch.object(module, "time", self))
            stack.enter_context(mock.patch.object(shared.store.ledger.send_window, "_now", self.monotonic))
            yield
