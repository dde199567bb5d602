"""Values that this worker process has read back within the hour, so that the tracker is known to accept them.

A tracker drops some values without an error. If its workflow allows no role a transition, it answers 204 and keeps
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
    """A status transition, as far as deskbridge knows it.

    Attributes:
        project_id: the issue's tracker project, which may have another issue type than was sent.
        issue_type: the issue type that was sent.
        before: the status that was set last; None: the one that the issue was created with.
        after: the status to set.
    """

    project_id: int
    issue_type: str
    before: int | None
    after: int


class Watchers(NamedTuple):
    """The watchers of new issues.

    Attributes:
        project_id: the issues' tracker project.
        user_ids: the users that were sent.
    """

    project_id: int
    user_ids: frozenset[int]


class Confirmed:
    """Values that were read back and confirmed; shared by all threads of a process.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Transition | Watchers, float] = {}

    def note(self, one: Transition | Watchers) -> None:
        """Record that the tracker has just accepted a value."""
        self._seen[one] = self._clock()

    def is_known(self, one: Transition | Watchers) -> bool:
        """Return whether the tracker accepted a value within the last hour."""
        at = self._seen.get(one)
        if at is not None and self._clock() - at > SEEN_S:
            self._seen.pop(one, None)
            at = None
        return at is not None
