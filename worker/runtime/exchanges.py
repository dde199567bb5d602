"""Waits for the answers to all requests that have left, in one thread (decision 26)."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable

from shared.tracker.client import Exchange

LOOKED_FOR_EVERY_S = 1.0
"""How soon at the latest it is seen whose time is over, where that began while nothing else did: less than any call's
time."""

ONCE = select.EPOLLIN | select.EPOLLONESHOT


class Exchanges:
    """Exchanges that are on their way; a callback tells of each one's end."""

    def __init__(self) -> None:
        self._poll, self._change, self._is_closed = select.epoll(), threading.Lock(), False
        self._waiting: dict[int, tuple[Exchange, Callable[[], None]]] = {}
        threading.Thread(target=self._work, daemon=True, name="exchanges").start()

    @property
    def until(self) -> float | None:
        """When the next one's time is over (monotonic seconds); None: there is none."""
        with self._change:
            return min((one.until for one, _ in self._waiting.values()), default=None)

    def wait_for(self, exchange: Exchange, over: Callable[[], None]) -> None:
        """Have `over` called, in the thread of this, once an exchange that has left as a whole is over, or its time."""
        number = exchange.connection.fileno()
        with self._change:
            self._waiting[number] = exchange, over  # nobody takes it before it is looked out for
            try:
                self._poll.modify(number, ONCE)
            except FileNotFoundError:  # a new connection
                self._poll.register(number, ONCE)

    def close(self) -> None:
        """End the thread, within a second; whoever waits is not told any more."""
        self._is_closed = True

    def _work(self) -> None:
        with self._poll:
            while not self._is_closed:
                until = self.until
                for number, _ in self._poll.poll(_patience(until)):
                    self._look_at(number)
                if until is not None and until <= time.monotonic():
                    self._end_what_is_late()

    def _look_at(self, number: int) -> None:
        exchange, over = self._taken(number)
        if exchange is None or exchange.look():
            over()
        else:
            self.wait_for(exchange, over)

    def _end_what_is_late(self) -> None:
        with self._change:
            late = [number for number, (one, _) in self._waiting.items() if one.until <= time.monotonic()]
        for number in late:
            _, over = self._taken(number)
            over()

    def _taken(self, number: int) -> tuple[Exchange | None, Callable[[], None]]:
        """Return what waits for a connection, before that may close: the next one may have its number.

        Nobody waits any more where its time is over, and an answer comes all the same.
        """
        with self._change:
            return self._waiting.pop(number, (None, nobody))


def nobody() -> None:
    """Do nothing."""


def _patience(until: float | None) -> float:
    now = time.monotonic()
    return LOOKED_FOR_EVERY_S if until is None else max(0.0, min(LOOKED_FOR_EVERY_S, until - now))
