"""What this worker process has read back within the hour, and the tracker had taken.

A tracker leaves some things out without an error. If its workflow allows no role a transition, it answers 204 and keeps
the status. If a watcher of a new issue is locked, it answers 201 without that watcher. So both are read back, once an
hour for each transition (project, issue type and both statuses) and for each set of watchers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

SEEN_S = 3600.0
WATCHERS = "watcher_user_ids"


class Transition(NamedTuple):
    """What deskbridge knows of a transition.

    Attributes:
        project_id: the issue's tracker project, which may have another issue type than was sent.
        issue_type: what was sent for it.
        before: the status that was given last; None: the one that the issue was created with.
        after: the status to give.
    """

    project_id: int
    issue_type: str
    before: int | None
    after: int


class Watchers(NamedTuple):
    """The watchers of new issues.

    Attributes:
        project_id: the issues' tracker project.
        user_ids: who was sent.
    """

    project_id: int
    user_ids: frozenset[int]


class Confirmed:
    """What was read back and found; for all threads of a process.

    Args:
        clock: tells monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Transition | Watchers, float] = {}

    def note(self, one: Transition | Watchers) -> None:
        """Note that the tracker has just taken it."""
        self._seen[one] = self._clock()

    def is_known(self, one: Transition | Watchers) -> bool:
        """Return whether the tracker took it within the last hour."""
        at = self._seen.get(one)
        if at is not None and self._clock() - at > SEEN_S:
            self._seen.pop(one, None)
            at = None
        return at is not None
