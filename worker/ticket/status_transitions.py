"""What the tracker was seen to take lately that it leaves out without a word; each worker process has its own.

To a transition that its workflow allows no role a tracker answers 204, and keeps the status. So what was set is read
back, once an hour for each transition: whether the workflow has one hangs on the issue type and on both statuses.
Of watchers of a new issue it leaves out those who are locked, so those are read back likewise.
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


class Transitions:
    """What was seen; for all threads of a process.

    Args:
        clock: tells monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Transition | Watchers, float] = {}

    def note(self, one: Transition | Watchers) -> None:
        """Note that the tracker has just made a transition, or taken watchers."""
        self._seen[one] = self._clock()

    def is_known(self, one: Transition | Watchers) -> bool:
        """Tell whether the tracker did so within the last hour."""
        at = self._seen.get(one)
        if at is not None and self._clock() - at > SEEN_S:
            self._seen.pop(one, None)
            at = None
        return at is not None
