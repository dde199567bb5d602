"""When unclear answers are an outage: several different tickets got one, soon one after another, and no good one came.

Each worker process counts its own, and one that finds an outage has all wait (`shared.redis.circuit_breaker`). A
count in Redis would cost a round trip for every good answer, which ends the series. It would save only the few calls of
those processes that have not found the outage yet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TICKETS = 3
"""So many tickets: the text of one, or of two, may be what the tracker fails over each time."""

WINDOW_S = 60.0
"""What lies further apart has nothing to do with one another."""


class UnclearAnswers:
    """The tickets that got an unclear answer since the last good one; for all threads of a process.

    Args:
        clock: tells monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._change = clock, threading.Lock()
        self._last_of: dict[int, float] = {}

    def good(self) -> None:
        """Begin a new series: the tracker has given a clear answer."""
        if self._last_of:
            with self._change:
                self._last_of.clear()

    def unclear(self, ticket_id: int) -> bool:
        """Count an unclear answer; return whether it is an outage by now.

        Args:
            ticket_id: the ticket whose call got it.
        """
        now = self._clock()
        with self._change:
            self._last_of[ticket_id] = now
            self._last_of = {one: at for one, at in self._last_of.items() if now - at <= WINDOW_S}
            return len(self._last_of) >= TICKETS
