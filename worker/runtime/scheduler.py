"""The worker's event loop in a thread of its own, to which other threads pass tickets to sync."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import closing, suppress
from typing import Any, Protocol

from shared.telemetry.logs import get_logger
from shared.tracker.sessions import close_sessions
from worker.runtime.admission import Admission
from worker.runtime.dispatcher import Dispatcher
from worker.runtime.inbox import Inbox
from worker.runtime.runner import Runner, RunningTicket
from worker.runtime.slots import Slots
from worker.ticket.steps import Workflow

log = get_logger("sync")
TICKETS_PER_CALL, LEAST_TICKETS, MOST_TICKETS_PER_CALL = 3, 64, 8
"""Running tickets per possible call, since one ticket calls while others load, link or wait; the fewest running
tickets, however few calls there are; and the most per call in that case, since loaded data gets old while a ticket
waits. Half of the tickets are loaded together, and share SQL."""

CLAIMS_PER_CALL = 2
"""Claims per possible call: when a call ends, the next creation is already claimed, and waits for no commit. A claim
waits for one call at most, which is 5 s of its lease, unless the limit falls. With a rate limiter, no claim is made
ahead."""

LONGEST_WAIT_S = 60.0
"""Longer than any database takes that still answers, including its time-outs."""

LONGEST_FUNCTION_S = 1800.0
"""Longer than any function takes without showing progress (`shared.process.alive`)."""

TICK_S = 1.0


class Limit(Protocol):
    """The limit of concurrent calls; it changes only when a call has ended, before its slot is released."""

    @property
    def size(self) -> int:
        """The number of calls that may be made at once."""

    def want(self) -> None:
        """Record that a call has to wait for the limit."""


class Scheduler:
    """Syncs the tickets that it takes, each of them at most once at a time.

    Args:
        begin: returns the workflow of a ticket.
        calls: the most calls that can be made at once.
        give_up: called when the scheduler itself has failed; running tickets are left as after a crash.
        limit: the current limit of concurrent calls; None for `calls`.
        is_limited: whether calls wait for the rate limiter; then only as many tickets run as calls may be made, since
            loaded data gets old while a ticket waits.
        new_loop: returns its event loop.
    """

    def __init__(
        self,
        begin: Callable[[int], Workflow[Any]],
        calls: int,
        give_up: Callable[[], None] = lambda: None,
        limit: Limit | None = None,
        *,
        is_limited: bool = False,
        new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
    ) -> None:
        self._calls, self._give_up, self._limit, self._is_limited = calls, give_up, limit, is_limited
        self._new_loop = new_loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self.running: dict[int, RunningTicket] = {}
        self.failure: BaseException | None = None
        self._inbox = Inbox(self.running, self._notice_tickets)
        on_wait = limit.want if limit else lambda: None
        self._call_slots = Slots(lambda: self._calls_now, on_wait)
        self._claim_slots = Slots(lambda: self._claims_now, on_wait)
        self._admission = Admission()
        self._runner = Runner(calls, self._call_slots, self._claim_slots, self._admission, self.running)
        self._dispatcher = Dispatcher(
            begin, self._runner, self._inbox, self.running, lambda: self.most, self._fail
        )
        self._stopped_at: float | None = None
        self._ticked_at: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def most(self) -> int:
        """How many tickets may be running."""
        calls = self._calls_now
        if self._is_limited:
            return calls
        return max(TICKETS_PER_CALL * calls, min(LEAST_TICKETS, MOST_TICKETS_PER_CALL * calls))

    @property
    def is_at_work(self) -> bool:
        """Whether it has any work."""
        return bool(self.running or len(self._inbox))

    @property
    def stuck_since(self) -> float | None:
        """Since when it has waited for something, if that is longer than any wait can take; else None.

        Only the same moment in two checks proves that it is stuck: a process that was suspended only seems to wait.
        """
        now = time.monotonic()
        for since, longest in (
            (self._ticked_at, LONGEST_WAIT_S),
            (self._runner.group_since, LONGEST_WAIT_S),
            (self._runner.thread_since, LONGEST_FUNCTION_S),
        ):
            if since is not None and now - since > longest:
                return since
        return None

    def take(
        self,
        ticket_ids: Collection[int],
        notified_by: Mapping[int, str] | None = None,
        *,
        has_priority: bool = False,
        patience: float | None = None,
    ) -> list[int]:
        """Accept tickets to sync; wait while too many are waiting already.

        Args:
            ticket_ids: the tickets.
            notified_by: by ticket, the traceparent of its message, if it had one.
            has_priority: whether they are synced before all tickets without priority.
            patience: seconds to wait at most; None for no limit.

        Returns:
            The tickets that were not accepted, because the process must end or there was no room.
        """
        is_taken = self._inbox.put(ticket_ids, notified_by, has_priority=has_priority, patience=patience)
        return [] if is_taken else list(ticket_ids)

    def start(self) -> None:
        """Run in a thread of its own, until it is closed."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="scheduler")
        self._thread.start()

    def stop(self) -> None:
        """Start no more tickets and calls; running tickets continue until they would start something new."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._admission.is_stopping = True
            self._inbox.close()
            self._soon(self._runner.wake)
            self._soon(self._dispatcher.begin_waiting)

    def close(self, patience: float = 30.0) -> list[int]:
        """Stop, and wait for the running tickets.

        Args:
            patience: seconds since it was first told to stop; tickets that take longer are left as they are.

        Returns:
            The tickets that other processes must sync.
        """
        self.stop()
        if self._thread is not None and self._stopped_at:
            self._thread.join(max(0.0, self._stopped_at + patience - time.monotonic()))
        self._runner.close()
        return list(dict.fromkeys([*self._inbox.left(), *self._admission.refused, *self.running]))

    def run_until_idle(self) -> None:
        """Sync all accepted tickets in this thread.

        Raises:
            BaseException: if an error ends the process.
        """
        self._run(self._dispatcher.idle())
        if self.failure is not None:
            raise self.failure

    @property
    def _calls_now(self) -> int:
        return min(self._calls, self._limit.size if self._limit else self._calls)

    @property
    def _claims_now(self) -> int:
        return self._calls_now if self._is_limited else CLAIMS_PER_CALL * self._calls_now

    def _notice_tickets(self) -> None:
        self._soon(self._dispatcher.begin_waiting)

    def _soon(self, do: Callable[[], None]) -> None:
        """Call a function on the loop; do nothing before the loop runs, and once it is closed."""
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(do)

    def _work(self) -> None:
        self._run(self._dispatcher.ended())
        self._ticked_at = None

    def _run(self, until: Coroutine[Any, Any, None]) -> None:
        with closing(self._new_loop()) as loop:
            self._loop = loop
            loop.set_exception_handler(self._loop_failed)
            loop.call_soon(self._tick)
            try:
                loop.run_until_complete(until)
            except Exception as error:  # noqa: BLE001 (whatever it is, nothing goes on)
                self._fail(error)
            loop.run_until_complete(close_sessions())

    def _tick(self) -> None:
        """Record that the loop is running."""
        assert self._loop is not None  # noqa: S101 (it calls this)
        self._ticked_at = time.monotonic()
        self._loop.call_later(TICK_S, self._tick)

    def _loop_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._fail(context.get("exception") or RuntimeError(context["message"]))

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        log.critical("the scheduler has failed; nothing goes on in this process", exc_info=error)
        self._give_up()
        self._dispatcher.end()
