"""Schedulers over stand-ins for the database and Redis, and the results of their tickets."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Self

from sqlalchemy.exc import OperationalError

from shared.errors import LockBusy
from shared.notices.notice import written
from tests.support.together import Begin, drive_all
from worker.runtime.scheduler import Limit, Scheduler
from worker.ticket.context import DbOp
from worker.ticket.steps import Admission, RedisOp

PATIENCE_S = 60.0


class Hang:
    """A function that hangs until it is released.

    Attributes:
        hangs: set when it starts to hang.
        goes_on: set it to release the function.
    """

    def __init__(self) -> None:
        self.hangs, self.goes_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.hangs.set()
        self.goes_on.wait(PATIENCE_S)


class Ping(RedisOp[int]):
    """A Redis operation, one round trip for a whole batch; it returns ten times the ticket's id.

    Attributes:
        groups: tickets of each round trip.
    """

    groups: list[list[int]]

    def __init__(self, ticket_id: int) -> None:
        self.ticket_id = ticket_id

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
        Ping.groups.append([one.ticket_id for one in actions])
        return [LockBusy(written("busy")) if one.ticket_id < 0 else one.ticket_id * 10 for one in actions]


class Enter(Ping, Admission[int]):
    """The same, as the request to admit a ticket."""


class Write(DbOp[int]):
    """A database operation that writes a ticket's id and returns ten times the id.

    Args:
        database: the database.
        ticket_id: the ticket.
        fails: when it fails: "" (never), "always", or "with others" (in any transaction that others may share).
    """

    def __init__(self, database: Database, ticket_id: int, *, fails: str = "") -> None:
        self.database, self.ticket_id, self._fails = database, ticket_id, fails

    def owner(self) -> Any:
        return SimpleNamespace(store=self.database)

    @classmethod
    def execute_many(cls, tx: Any, operations: Sequence[Self]) -> Sequence[int]:
        for one in operations:
            one.database.threads.append(threading.current_thread().name.rsplit("_", 1)[0])
            if one._fails == "always":
                raise ValueError(one.ticket_id)
            if one._fails == "with others" and one.database.threads[-1] in ("writer", "reader"):
                raise OperationalError("UPDATE", {}, Exception("deadlock detected"))
        tx.written.extend(one.ticket_id for one in operations)
        return [one.ticket_id * 10 for one in operations]


class Read(Write):
    """The same, in the read lane."""

    lane = "read"


class Claim(Write):
    """The same, executed after all other operations of its transaction."""

    order = 1


class LinkAndClaim(Write):
    """The same, in two parts, each of which may make the other fail."""

    splits = True


class Database:
    """A stand-in for the store.

    Attributes:
        transactions: tickets of each committed transaction.
        threads: names of the threads that executed operations, without their numbers.
    """

    def __init__(self) -> None:
        self.transactions: list[list[int]] = []
        self.threads: list[str] = []

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        tx = SimpleNamespace(
            written=[],
            trace=SimpleNamespace(append=lambda _steps: None),
            wait_briefly=lambda **_: None,
        )
        yield tx
        self.transactions.append(tx.written)


class Stage:
    """Schedulers, their database, and the results of their tickets.

    Attributes:
        ended: result of each ticket's workflow, or the class of its error.
        given_up: set when a scheduler has given up its process.
    """

    def __init__(self) -> None:
        Ping.groups = []
        self.database = Database()
        self.ended: dict[int, Any] = {}
        self.given_up = threading.Event()
        self._made: list[Scheduler] = []

    def scheduler(
        self, begin: Begin, calls: int = 4, limit: Limit | None = None, *, is_limited: bool = False
    ) -> Scheduler:
        """Return a scheduler that is not started yet."""
        made = Scheduler(begin, calls, self.given_up.set, limit, is_limited=is_limited)
        self._made.append(made)
        return made

    def started(
        self, begin: Begin, calls: int = 4, limit: Limit | None = None, *, is_limited: bool = False
    ) -> Scheduler:
        """Return a scheduler that runs in a separate thread."""
        made = self.scheduler(begin, calls, limit, is_limited=is_limited)
        made.start()
        return made

    def drive(
        self, begin: Begin, *ticket_ids: int, calls: int = 4, is_limited: bool = False
    ) -> dict[int, Any]:
        """Run tickets to their ends; return the result of each, or the class of its error."""

        async def workflow(ticket_id: int) -> None:
            try:
                self.ended[ticket_id] = await begin(ticket_id)
            except Exception as error:
                self.ended[ticket_id] = type(error)
                raise

        drive_all(Scheduler(workflow, calls, self.given_up.set, is_limited=is_limited), ticket_ids)
        return self.ended

    def close(self) -> None:
        """Close the schedulers."""
        for one in self._made:
            one.close(patience=PATIENCE_S)
