"""The clock that the tests move: database, workers, locks, circuit breakers and tracker all read it."""

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
        skew: returns how many seconds the running actor's wall clock is ahead of `now`.
    """

    def __init__(self) -> None:
        self.now = START
        self.skew: Callable[[], float] = lambda: 0.0

    def time(self) -> float:
        """Stand in for `time.time`."""
        return self.now + self.skew()

    def monotonic(self) -> float:
        """Stand in for `time.monotonic`, without skew."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Stand in for `time.sleep`."""
        self.now += seconds

    def moment(self) -> datetime:
        """Return the database's time."""
        return datetime.fromtimestamp(self.now, UTC)

    def strftime(self, _form: str, _now: str, offset: str) -> str:
        """Stand in for SQLite's function as `shared.store.tables.types.clock` calls it: now plus '<n> seconds'."""
        moment = datetime.fromtimestamp(self.now + float(offset.split()[0]), UTC)
        return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"

    def rule(self, connection: sqlite3.Connection) -> None:
        """Make a connection's SQL statements read this clock."""
        connection.create_function("strftime", 3, self.strftime)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Make the modules in `READERS` and the send window read this clock within the block."""
        with ExitStack() as stack:
            for module in READERS:
                stack.enter_context(mock.patch.object(module, "time", self))
            stack.enter_context(mock.patch.object(shared.store.ledger.send_window, "_now", self.monotonic))
            yield
