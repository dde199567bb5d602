"""The tickets that wait to be started: any thread adds them, the dispatcher takes them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

MOST_WAITING, MOST_WAITING_WITH_PRIORITY = 32, 8
"""The most tickets that wait to be started: tickets that one process has taken are not available to others."""


@dataclass(frozen=True)
class Notified:
    """A ticket to sync.

    Attributes:
        notified_by: the traceparent of its message, if it had one.
        has_priority: whether a person waits for it.
    """

    ticket_id: int
    notified_by: str | None = None
    has_priority: bool = False


class Inbox:
    """The tickets that were notified and have not been started.

    Args:
        running: the tickets that are being synced; if they also wait, they are started again after their end.
        changed: called, in any thread, when there may be a ticket to start.
    """

    def __init__(self, running: Collection[int], changed: Callable[[], None]) -> None:
        self._running, self._changed = running, changed
        self._change = threading.Condition()
        self._waiting: dict[int, str | None] = {}
        self._priority = set[int]()
        self.is_closed = False

    def __len__(self) -> int:
        """Return how many tickets wait."""
        return len(self._waiting)

    def put(
        self,
        ticket_ids: Collection[int],
        notified_by: Mapping[int, str] | None = None,
        *,
        has_priority: bool = False,
        patience: float | None = None,
    ) -> bool:
        """Add tickets; wait while too many are waiting already.

        Args:
            ticket_ids: the tickets.
            notified_by: by ticket, the traceparent of its message, if it had one.
            has_priority: whether they start before all tickets without priority.
            patience: seconds to wait at most; None for no limit.

        Returns:
            Whether they were added; False if the process must end or there was no room.
        """
        with self._change:
            self._change.wait_for(lambda: self.is_closed or self._has_room(has_priority), patience)
            if self.is_closed or not self._has_room(has_priority):
                return False
            for one in ticket_ids:
                self._waiting[one] = (notified_by or {}).get(one) or self._waiting.get(one)
            if has_priority:
                self._waiting = {one: self._waiting[one] for one in ticket_ids} | self._waiting
                self._priority.update(ticket_ids)
        self._changed()
        return True

    def next(self, *, with_priority: bool = False) -> Notified | None:
        """Take the next ticket to start, or return None.

        Args:
            with_priority: whether only a ticket that a person waits for may be taken.
        """
        with self._change:
            may_begin = (one for one in self._waiting if one not in self._running)
            found = next((one for one in may_begin if one in self._priority or not with_priority), None)
            if found is None:
                return None
            taken = Notified(found, self._waiting.pop(found), found in self._priority)
            self._priority.discard(found)
            self._change.notify_all()
            return taken

    def with_priority(self) -> set[int]:
        """Return the tickets that a person waits for."""
        with self._change:
            return set(self._priority)

    def close(self) -> None:
        """Accept no more tickets, and end every wait for room."""
        with self._change:
            self.is_closed = True
            self._change.notify_all()

    def left(self) -> list[int]:
        """Return the tickets that still wait."""
        with self._change:
            return list(self._waiting)

    def _has_room(self, has_priority: bool) -> bool:
        if has_priority:
            return len(self._priority) < MOST_WAITING_WITH_PRIORITY
        return sum(one not in self._running for one in self._waiting) < MOST_WAITING
