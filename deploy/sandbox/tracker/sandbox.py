"""One running stand-in: the tracker, its faults and its log, and their reset."""

from __future__ import annotations

from collections.abc import Callable

from deploy.sandbox.tracker.faults import FaultBoard
from deploy.sandbox.tracker.requestlog import RequestLog
from deploy.sandbox.tracker.state import Tracker


class Sandbox:
    """The state behind a server; a reset replaces `tracker`."""

    def __init__(
        self,
        fresh: Callable[[], Tracker],
        *,
        tracker: Tracker | None = None,
        control_key: str | None = None,
    ) -> None:
        """Make a sandbox.

        Args:
            fresh: Makes a newly seeded tracker.
            tracker: The first tracker; by default a fresh one.
            control_key: The API key that `/_control` needs; None: none.
        """
        self._fresh = fresh
        self.control_key = control_key
        self.tracker = tracker or fresh()
        self.faults = FaultBoard()
        self.log = RequestLog()

    def reset(self) -> None:
        """Reset data, switches, faults and log to the seed."""
        self.faults.clear()
        self.tracker = self._fresh()
        self.tracker.changes = 1
        self.log.clear()
