"""An event loop on which threads run coroutines; it has one thread per process."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from shared.tracker.sessions import close_sessions

T = TypeVar("T")
PATIENCE_S = 5.0


class Portal:
    """Runs coroutines for other threads; its own thread starts with the first coroutine."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, make: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run a coroutine to its end, and return its result.

        Args:
            make: creates the coroutine.
            seconds: the time limit, after which it is cancelled.

        Raises:
            RuntimeError: if this thread runs an event loop, which the call would block.
            TimeoutError: if the time is over.
            BaseException: if the coroutine raises it.
        """
        if _is_on_a_loop():
            raise RuntimeError("a synchronous call to the tracker in a coroutine: await `send` instead")
        future = asyncio.run_coroutine_threadsafe(make(), self._started())
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    def close(self) -> None:
        """Close the sessions and end the thread; the next call starts another one."""
        with self._change:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(close_sessions(), loop).result(PATIENCE_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE_S)
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._change:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, daemon=True, name="tracker-portal"
                )
                self._thread.start()
                atexit.register(self.close)
            return self._loop


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


PORTAL = Portal()
