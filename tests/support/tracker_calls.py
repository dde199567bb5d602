"""Calls to the tracker as tests make them: a rate limit without a wait, and sessions of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from shared.tracker import sessions
from shared.tracker.portal import PORTAL


class NoLimit:
    """Stands for a rate limit whose turn comes at once.

    Args:
        note: called for each turn.
    """

    def __init__(self, note: Callable[[], object] = lambda: None) -> None:
        self._note = note

    def wait(self) -> None:
        """Take a turn."""
        self._note()

    def next_turn(self) -> float:
        """Take a turn; return no seconds."""
        self._note()
        return 0.0


@contextmanager
def idle(seconds: float) -> Iterator[None]:
    """Have the connections of threads trusted for so long within the block."""
    PORTAL.close()
    with mock.patch.object(sessions, "IDLE_S", seconds):
        yield
        PORTAL.close()
