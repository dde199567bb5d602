"""Sessions of a test's own for the calls of threads to the tracker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from shared.tracker import sessions
from shared.tracker.portal import PORTAL


@contextmanager
def idle(seconds: float) -> Iterator[None]:
    """Have the connections of threads trusted for so long within the block."""
    PORTAL.close()
    with mock.patch.object(sessions, "IDLE_S", seconds):
        yield
        PORTAL.close()
