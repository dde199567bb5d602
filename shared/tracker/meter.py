"""How many calls to the tracker a process has under way, and what they take."""

from __future__ import annotations

import threading
from collections import defaultdict

Calls = dict[str, tuple[int, float]]


class Meter:
    """Counts calls; for all threads of a process."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._under_way = self._most = 0
        self._calls = defaultdict[str, tuple[int, float]](lambda: (0, 0.0))

    def begin(self) -> None:
        """Count a call that begins."""
        with self._change:
            self._under_way += 1
            self._most = max(self._most, self._under_way)

    def end(self, operation: str, seconds: float | None) -> None:
        """Count a call that has ended.

        Args:
            operation: what it did, of a closed set (`shared.metrics.operation`).
            seconds: what it took; None: that says nothing of the tracker.
        """
        with self._change:
            self._under_way -= 1
            if seconds is not None:
                count, before = self._calls[operation]
                self._calls[operation] = (count + 1, before + seconds)

    def read(self) -> tuple[int, Calls]:
        """Return what has come since it was read last: the calls under way at once, at most, and those that ended."""
        with self._change:
            found = self._most, dict(self._calls)
            self._most = self._under_way
            self._calls.clear()
            return found
