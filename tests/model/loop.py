"""An event loop in simulated time that runs executor functions in its own thread, in an order drawn from a seed."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, TypeVar

from tests.model.clock import Clock

T = TypeVar("T")


class SimulatedLoop(asyncio.AbstractEventLoop):
    """Runs ready callbacks in order; if none is ready, an executor function; if there is none either, time advances.

    Args:
        clock: the simulated time.
        order: draws the next executor function, since threads may finish in any order.
    """

    def __init__(self, clock: Clock, order: Random) -> None:
        self._clock, self._order = clock, order
        self._ready = deque[asyncio.Handle]()
        self._functions = list[Callable[[], None]]()
        self._timers = list[asyncio.TimerHandle]()
        self._handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    def run_until_complete(self, future: Coroutine[Any, Any, T]) -> T:  # type: ignore[override]
        """Run a coroutine to its end; return its result."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            task = self.create_task(future)
            while not task.done():
                self._turn()
            return task.result()
        finally:
            asyncio._set_running_loop(before)

    def time(self) -> float:
        """Return the simulated time, in seconds."""
        return self._clock.monotonic()

    def get_debug(self) -> bool:
        """Return False: debug mode is off."""
        return False

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call a function after the ready callbacks."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function at a time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function after a delay in seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Return a task of this loop."""
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def run_in_executor(  # type: ignore[override]
        self, _executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Queue a function as if a thread would call it."""
        future = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 (the waiting coroutine gets it)
                future.set_exception(error)
            else:
                future.set_result(result)

        self._functions.append(call)
        return future

    def set_exception_handler(
        self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    ) -> None:
        """Set the function that handles errors of callbacks."""
        self._handler = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Handle an error of a callback."""
        if self._handler:
            self._handler(self, context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Keep a cancelled timer in the queue; `_turn` skips it when it is due."""

    def _turn(self) -> None:
        if self._ready:
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()
        elif self._functions:
            self._functions.pop(self._order.randrange(len(self._functions)))()
        else:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled():
                self._clock.now = max(self._clock.now, timer.when())
                timer._run()
