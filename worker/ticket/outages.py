"""Detection of an outage by unclear answers: several tickets got one within a short time, and no clear answer came.

Each worker process counts its own, and a process that detects an outage opens the circuit breaker for all
(`shared.redis.circuit_breaker`). A count in Redis would cost a round trip for every clear answer, which ends the
series. It would save only the few calls of the processes that have not detected the outage yet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TICKETS = 3
"""The number of tickets that mean an outage: the tracker may fail each time because of the text of one or two."""

WINDOW_S = 60.0
"""Unclear answers that are further apart are unrelated."""


class UnclearAnswers:
    """The tickets that got an unclear answer since the last clear one; shared by all threads of a process.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._change = clock, threading.Lock()
        self._last_of: dict[int, float] = {}

    def good(self) -> None:
        """Start a new series: the tracker has given a clear answer."""
        if self._last_of:
            with self._change:
                self._last_of.clear()

    def unclear(self, ticket_id: int) -> bool:
        """Count an unclear answer; return whether it now means an outage.

        Args:
            ticket_id: the ticket whose call got it.
        """
        now = self._clock()
        with self._change:
            self._last_of[ticket_id] = now
            self._last_of = {one: at for one, at in self._last_of.items() if now - at <= WINDOW_S}
            return len(self._last_of) >= TICKETS
