"""One asyncio task per ticket: a ticket that is notified while it is being synced is synced once more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.errors import LockBusy
from shared.telemetry.logs import get_logger
from worker.runtime.inbox import Inbox, Notified
from worker.runtime.runner import Runner, RunningTicket
from worker.ticket.log_context import OwnContext
from worker.ticket.steps import Workflow

log = get_logger("sync")
MORE_WITH_PRIORITY = 8
"""The extra room for tickets that a person waits for."""


class Dispatcher:
    """Starts the tickets that wait in the inbox, each at most once at a time, as long as there is room.

    Args:
        begin: returns the workflow of a ticket.
        runner: runs it.
        inbox: the tickets that wait.
        running: the tickets that are being synced, by id; maintained here.
        most: returns how many may be running.
        fail: receives an error that ends the process.
    """

    def __init__(
        self,
        begin: Callable[[int], Workflow[Any]],
        runner: Runner,
        inbox: Inbox,
        running: dict[int, RunningTicket],
        most: Callable[[], int],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._begin, self._runner, self._inbox, self._most, self._fail = begin, runner, inbox, most, fail
        self._running = running
        self._idle, self._ended = asyncio.Event(), asyncio.Event()

    def begin_waiting(self) -> None:
        """Start waiting tickets as long as there is room."""
        self._hasten_running()
        while not self._inbox.is_closed and (notified := self._next()):
            self._sync(notified)
        if not self._running and self._inbox.is_closed:
            self.end()
        elif not self._running and not len(self._inbox):
            self._idle.set()

    async def idle(self) -> None:
        """Start waiting tickets, and wait until nothing is running."""
        self._idle.clear()
        self.begin_waiting()
        await self._idle.wait()

    async def ended(self) -> None:
        """Start waiting tickets, until the inbox is closed and nothing is running."""
        self.begin_waiting()
        await self._ended.wait()

    def end(self) -> None:
        """End the waits of `idle` and `ended`."""
        self._idle.set()
        self._ended.set()

    def _next(self) -> Notified | None:
        if len(self._running) < self._most():
            return self._inbox.next()
        first = sum(one.has_priority for one in self._running.values())
        return self._inbox.next(with_priority=True) if first < MORE_WITH_PRIORITY else None

    def _hasten_running(self) -> None:
        """Give running tickets that a person waits for their priority: they are started again only after their end."""
        for ticket_id in self._inbox.with_priority():
            running = self._running.get(ticket_id)
            if running and not running.has_priority:
                self._runner.hasten(running)

    def _sync(self, notified: Notified) -> None:
        """Start to sync a ticket in a context of its own, so that its log lines and spans name it."""
        own = OwnContext(notified.ticket_id, notified.notified_by)
        ticket = RunningTicket(notified.ticket_id, self._begin(notified.ticket_id), notified.has_priority)
        self._running[ticket.ticket_id] = ticket
        ticket.task = asyncio.get_running_loop().create_task(self._runner.run(ticket), context=own.context)
        ticket.task.add_done_callback(lambda ended: self._over(ticket, own, ended))

    def _over(self, ticket: RunningTicket, own: OwnContext, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Exception):
            self._fail(error)
            return
        del self._running[ticket.ticket_id]
        own.end(failed=error is not None and not isinstance(error, LockBusy))
        if isinstance(error, SQLAlchemyError | RedisError):
            kind = type(error).__name__
            log.warning("put off until the next sweep", error=kind, ticket_id=ticket.ticket_id)
        elif error is not None and not isinstance(error, LockBusy):
            log.error("a ticket could not be worked on", ticket_id=ticket.ticket_id, exc_info=error)
        self.begin_waiting()
