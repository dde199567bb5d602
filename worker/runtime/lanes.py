"""Group commit: operations of many tickets on the database, or on Redis, are executed in batches in one thread.

No operation waits for a batch to become large. A batch contains the operations that arrived while the last one was
executed, as in a database's group commit, and during a short linger if several tickets are running.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any, Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from shared.telemetry.logs import get_logger
from worker.ticket.context import DbOp, transaction_of
from worker.ticket.steps import RedisOp, Step

log = get_logger("sync")
O = TypeVar("O", bound=Step[Any])  # noqa: E741
MOST_TOGETHER = 32
"""The most operations in one transaction: its rows stay locked until it is committed."""


class ExecuteAlone(Exception):
    """The batch has failed; this operation must be executed alone, so that one failure does not affect the others."""


class Lane(Generic[O]):
    """Executes operations in one thread, in batches of those that have gathered.

    Args:
        name: the name of its thread.
        execute: executes a batch; returns a result, or an error, for each operation, in order. An error that it raises
            is the error of all of them.
        linger: returns for how many seconds operations are gathered before each batch.
        order: returns the sort key, within a batch, of an operation and its ticket.

    Attributes:
        busy_since: when the current batch was started, by the loop's clock (seconds); None if there is none.
    """

    def __init__(
        self,
        name: str,
        execute: Callable[[list[O]], Sequence[Any]],
        *,
        linger: Callable[[], float] = lambda: 0.0,
        order: Callable[[O, int], Any] = lambda _, __: 0,
    ) -> None:
        self._execute, self._linger, self._order = execute, linger, order
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting = deque[tuple[O, int, asyncio.Future[Any]]]()
        self._work: asyncio.Task[None] | None = None
        self.busy_since: float | None = None

    async def run(self, operation: O, ticket_id: int) -> Any:
        """Execute an operation of a ticket in a batch; return its result.

        Raises:
            Exception: if the operation fails.
        """
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._waiting.append((operation, ticket_id, done))
        if self._work is None:
            self._work = loop.create_task(self._execute_all())
        return await done

    def close(self) -> None:
        """End the thread once it has nothing left to do."""
        self._thread.shutdown(wait=False)

    async def _execute_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            linger = self._linger()
            if linger and len(self._waiting) < MOST_TOGETHER:
                await asyncio.sleep(linger)
            group = [self._waiting.popleft() for _ in range(min(MOST_TOGETHER, len(self._waiting)))]
            group.sort(key=lambda one: self._order(one[0], one[1]))
            operations, waiting = [one for one, _, _ in group], [done for _, _, done in group]
            self.busy_since = loop.time()
            try:
                results = await loop.run_in_executor(self._thread, self._execute, operations)
                for done, result in zip(waiting, results, strict=True):
                    _tell(done, result)
            except BaseException as error:  # noqa: BLE001 (it belongs to each of them, or ends the process)
                for done in waiting:
                    _tell(done, _copy(error))
            self.busy_since = None
        self._work = None


def commit_lane(name: str, linger: Callable[[], float]) -> Lane[DbOp[Any]]:
    """Return a lane for database operations, which share transactions.

    If a batch fails, each of its operations ends with `ExecuteAlone`.

    Args:
        name: the name of its thread.
        linger: as for `Lane`.
    """
    return Lane(name, execute_together, linger=linger, order=_order)


def execute_together(operations: list[DbOp[Any]]) -> Sequence[Any]:
    """Execute operations in one transaction; return their results, or `ExecuteAlone` for each if that fails."""
    try:
        return _in_one_transaction(operations)
    except Exception as error:
        # one part may have failed because of the other, and an error of the database may be temporary
        is_its_own = len(operations) == 1 and not operations[0].splits
        if is_its_own and not isinstance(error, SQLAlchemyError):
            raise
        log.warning("executed again one by one", count=len(operations), error=type(error).__name__)
        return [ExecuteAlone() for _ in operations]


def _in_one_transaction(operations: list[DbOp[Any]]) -> list[Any]:
    results: list[Any] = []
    with transaction_of([one.owner() for one in operations]) as tx:
        # an operation that must wait longer for a lock does so alone
        tx.wait_briefly(
            durable=any(one.durable for one in operations),
            locks_settings=any(one.locks_settings for one in operations),
        )
        for _, of_a_kind in groupby(operations, type):
            some = list(of_a_kind)
            results += some[0].execute_many(tx, some)
    return results


def round_trip(operations: list[RedisOp[Any]]) -> list[Any]:
    """Execute operations on Redis, with one round trip per class; return a result or an error for each."""
    found = dict[int, Any]()
    for kind in dict.fromkeys(type(one) for one in operations):
        places = [place for place, one in enumerate(operations) if type(one) is kind]
        try:
            results = kind.execute_many([operations[place] for place in places])
            found.update(zip(places, results, strict=True))
        except Exception as error:  # noqa: BLE001 (it belongs to each of them)
            found.update((place, _copy(error)) for place in places)
    return [found[place] for place in range(len(operations))]


def _order(operation: DbOp[Any], ticket_id: int) -> tuple[int, str, int]:
    """Return the sort key: by class, claims last, then by ticket, so that transactions do not deadlock."""
    return operation.order, type(operation).__name__, ticket_id


def _tell(done: asyncio.Future[Any], result: Any) -> None:
    if done.done():
        return
    if isinstance(result, BaseException):
        done.set_exception(result)
    else:
        done.set_result(result)


def _copy(error: BaseException) -> BaseException:
    """Return a copy of an error for another workflow: raised in two, it would have the tracebacks of both."""
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    made.__cause__ = error
    return made
