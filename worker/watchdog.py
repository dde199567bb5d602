"""Notices that this process is alive and is handed nothing, though messages wait: then it ends, to be started anew.

Seen with Redis: after a broken connection a worker may reconnect and never ask for a message again. Only what is
certain counts: messages wait, no thread is at work, and none was begun since the last look, several looks in a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOKS = 4
EXIT_CODE = 75
"""EX_TEMPFAIL: the supervisor should start it again."""


class Watchdog:
    """Compares what this process was handed with what waits.

    Args:
        is_at_work: whether something that it was handed before is still under way.
    """

    def __init__(self, is_at_work: Callable[[], bool] = lambda: False) -> None:
        self._is_at_work = is_at_work
        self._change = threading.Lock()
        self._at_work = 0
        self._begun = 0
        self._begun_before = 0
        self._starved = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a task as long as it runs."""
        with self._change:
            self._at_work += 1
            self._begun += 1
        try:
            yield
        finally:
            with self._change:
                self._at_work -= 1

    def look(self, backlog: int) -> bool:
        """Take a look, at regular intervals; True where the process has been starving for `LOOKS` in a row.

        Args:
            backlog: how many messages wait in the queue.
        """
        with self._change:
            is_busy = self._at_work or self._is_at_work()
            is_starving = backlog > 0 and not is_busy and self._begun == self._begun_before
            self._begun_before = self._begun
        self._starved = self._starved + 1 if is_starving else 0
        return self._starved >= LOOKS

    def look_away(self) -> None:
        """Begin anew: it is not known what waits."""
        self._starved = 0
