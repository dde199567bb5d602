"""Control over the sessions that threads use for calls to the tracker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from shared.tracker import sessions
from shared.tracker.portal import PORTAL


@contextmanager
def idle(seconds: float) -> Iterator[None]:
    """Within the block, trust idle connections of threads for that many seconds."""
    PORTAL.close()
    with mock.patch.object(sessions, "IDLE_S", seconds):
        yield
        PORTAL.close()
