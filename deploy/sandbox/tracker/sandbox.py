"""One running stand-in: the tracker, its faults and its log, and how they are started afresh."""

from __future__ import annotations

from collections.abc import Callable

from deploy.sandbox.tracker.faults import FaultBoard
from deploy.sandbox.tracker.requestlog import RequestLog
from deploy.sandbox.tracker.state import Tracker


class Sandbox:
    """What a server serves; `tracker` is replaced by a reset."""

    def __init__(self, fresh: Callable[[], Tracker], *, tracker: Tracker | None = None) -> None:
        """Make a sandbox.

        Args:
            fresh: Makes a newly seeded tracker.
            tracker: What to start with, where it isn't a fresh one.
        """
        self._fresh = fresh
        self.tracker = tracker or fresh()
        self.faults = FaultBoard()
        self.log = RequestLog()

    def reset(self) -> None:
        """Back to the seed: data, switches, faults and log."""
        self.faults.clear()
        self.tracker = self._fresh()
        self.tracker.changes = 1
        self.log.clear()
