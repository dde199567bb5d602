"""Appends waiting requests to the journal together: under load many requests share one INSERT and one commit.

No request waits for a group to grow: the first is written at once, and those that arrive while a group is written
form the next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain, islice

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from shared.events.delivery import Delivery
from shared.store.journal.appending import Accepted
from shared.store.tables.database import is_deadlock

MOST_TOGETHER = 500
"""Maximum number of events in one transaction, unless a single request has more."""

SLOW_S = 0.1
"""A transaction that takes longer is blocked by another one; the next one starts in parallel."""

MOST_AT_ONCE = 2
"""Maximum number of concurrent transactions."""

AWAY = (OperationalError, InterfaceError, NoConnection)
"""Errors of a database that is down: if each request of a group were tried alone, it would only fail again."""

Request = list[Delivery]
Outcome = list[Accepted] | Exception
Group = list[tuple[Request, asyncio.Future[list[Accepted]]]]


class Appender:
    """Appends the deliveries of requests, which are answered after the commit.

    Args:
        append: appends deliveries in one transaction; called in threads.
    """

    def __init__(self, append: Callable[[Sequence[Delivery]], list[Accepted]]) -> None:
        self._append = append
        self._waiting: deque[tuple[Request, asyncio.Future[list[Accepted]]]] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._under_way = set[asyncio.Task[None]]()

    async def append(self, deliveries: Request) -> list[Accepted]:
        """Append a request's deliveries and commit, all or none.

        Returns:
            One result per delivery, in the same order.

        Raises:
            Exception: whatever `append` raised for them.
        """
        committed: asyncio.Future[list[Accepted]] = asyncio.get_running_loop().create_future()
        self._waiting.append((deliveries, committed))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return await committed

    async def _write(self) -> None:
        try:
            while self._waiting:
                written = asyncio.create_task(self._write_group(self._next_group()))
                self._under_way.add(written)
                written.add_done_callback(self._under_way.discard)
                await asyncio.wait([written], timeout=SLOW_S)
                while len(self._under_way) >= MOST_AT_ONCE:
                    await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        finally:  # without an await since the last check of `_waiting`, so the next request starts a new writer
            self._writer = None

    async def _write_group(self, group: Group) -> None:
        outcomes: Sequence[Outcome]
        try:
            outcomes = await asyncio.to_thread(self._together, [request for request, _ in group])
        except Exception as failure:  # noqa: BLE001 (there are no threads any more: the process ends)
            outcomes = [failure] * len(group)
        for (_, committed), outcome in zip(group, outcomes, strict=True):
            if committed.done():  # the request has stopped waiting
                continue
            if isinstance(outcome, Exception):
                committed.set_exception(outcome)
            else:
                committed.set_result(outcome)

    def _next_group(self) -> Group:
        group = [self._waiting.popleft()]
        size = len(group[0][0])
        while self._waiting and (size := size + len(self._waiting[0][0])) <= MOST_TOGETHER:
            group.append(self._waiting.popleft())
        return group

    def _together(self, requests: Sequence[Request]) -> Sequence[Outcome]:
        """Append requests in one transaction; if that fails, each in its own, so that a faulty one harms no other."""
        try:
            answers = iter(self._append(list(chain.from_iterable(requests))))
            return [list(islice(answers, len(one))) for one in requests]
        except Exception as failure:  # noqa: BLE001 (raised where it is waited for)
            if isinstance(failure, AWAY) and not is_deadlock(failure):
                return [failure] * len(requests)
            if len(requests) == 1:
                return [failure]
            return [self._together([one])[0] for one in requests]
