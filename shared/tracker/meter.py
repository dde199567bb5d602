"""What the calls of a process to the tracker take."""

from __future__ import annotations

import threading
from typing import Protocol

LOST = "lost"
"""In place of the operation, where a call got no answer."""


class OnCall(Protocol):
    """Gets each call that has ended."""

    def __call__(self, operation: str, seconds: float, *, failed: bool) -> None: ...


class Meter:
    """Counts calls; for all threads of a process.

    Args:
        on_call: gets each of them, too.
    """

    def __init__(self, on_call: OnCall | None = None) -> None:
        self._on_call = on_call
        self._change = threading.Lock()
        self._calls: dict[str, tuple[int, float]] = {}

    def add(self, operation: str, seconds: float, *, failed: bool = False) -> None:
        """Count a call that has ended.

        Args:
            operation: what it did, of a closed set (`shared.telemetry.metrics.operation`), or `LOST`.
            seconds: what it took.
            failed: whether it got no answer, or was refused because of load.
        """
        with self._change:
            count, before = self._calls.get(operation, (0, 0.0))
            self._calls[operation] = (count + 1, before + seconds)
        if self._on_call:
            self._on_call(operation, seconds, failed=failed)

    def read(self) -> dict[str, tuple[int, float]]:
        """Return what has come since it was read last: by operation how many calls, and their seconds in all."""
        with self._change:
            found, self._calls = self._calls, {}
            return found
