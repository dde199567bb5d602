"""Counts and times the calls of a process to the tracker."""

from __future__ import annotations

import threading
from typing import Protocol

LOST = "lost"
"""Replaces the operation if a call got no answer."""


class OnCall(Protocol):
    """Receives each call that has ended."""

    def __call__(self, operation: str, seconds: float, *, failed: bool) -> None: ...


class Meter:
    """Counts calls; safe to share between all threads of a process.

    Args:
        on_call: also receives each call.
    """

    def __init__(self, on_call: OnCall | None = None) -> None:
        self._on_call = on_call
        self._change = threading.Lock()
        self._calls: dict[str, tuple[int, float]] = {}

    def add(self, operation: str, seconds: float, *, failed: bool = False) -> None:
        """Count a call that has ended.

        Args:
            operation: its operation, from a closed set (`shared.telemetry.metrics.operation`), or `LOST`.
            seconds: its duration.
            failed: whether it got no answer, or was refused because of overload.
        """
        with self._change:
            count, before = self._calls.get(operation, (0, 0.0))
            self._calls[operation] = (count + 1, before + seconds)
        if self._on_call:
            self._on_call(operation, seconds, failed=failed)

    def read(self) -> dict[str, tuple[int, float]]:
        """Return the number and total seconds of the calls since the last read, by operation."""
        with self._change:
            found, self._calls = self._calls, {}
            return found
