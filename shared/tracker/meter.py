"""What the calls of a process to the tracker take."""

from __future__ import annotations

import threading

LOST = "lost"
"""In place of the operation, where a call got no answer."""


class Meter:
    """Counts calls; for all threads of a process."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._calls: dict[str, tuple[int, float]] = {}

    def add(self, operation: str, seconds: float) -> None:
        """Count a call that has ended.

        Args:
            operation: what it did, of a closed set (`shared.telemetry.metrics.operation`), or `LOST`.
            seconds: what it took.
        """
        with self._change:
            count, before = self._calls.get(operation, (0, 0.0))
            self._calls[operation] = (count + 1, before + seconds)

    def read(self) -> dict[str, tuple[int, float]]:
        """Return what has come since it was read last: by operation how many calls, and their seconds in all."""
        with self._change:
            found, self._calls = self._calls, {}
            return found
