"""What the calls of a process to the tracker take."""

from __future__ import annotations

import threading

Calls = dict[str, tuple[int, float]]


class Meter:
    """Counts calls; for all threads of a process."""

    def __init__(self) -> None:
        self._change = threading.Lock()
        self._calls = Calls()

    def add(self, operation: str, seconds: float) -> None:
        """Count a call that was answered.

        Args:
            operation: what it did, of a closed set (`shared.metrics.operation`).
            seconds: what it took.
        """
        with self._change:
            count, before = self._calls.get(operation, (0, 0.0))
            self._calls[operation] = (count + 1, before + seconds)

    def read(self) -> Calls:
        """Return what has come since it was read last."""
        with self._change:
            found, self._calls = self._calls, {}
            return found
