"""Heartbeats of threads with long work: a watcher counts from the last heartbeat, not from the start of the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SIGN_EVERY_S = 60.0


class Sign:
    """The last heartbeat of one piece of work.

    Attributes:
        at: its time (monotonic seconds).
    """

    def __init__(self) -> None:
        self.at = time.monotonic()


class _Here(threading.local):
    sign: Sign | None = None


_HERE = _Here()


@contextmanager
def watched(sign: Sign | None) -> Iterator[None]:
    """Record this thread's heartbeats within the block in `sign`; None: the work is not watched."""
    before, _HERE.sign = _HERE.sign, sign
    try:
        yield
    finally:
        _HERE.sign = before


def sign_here() -> Sign | None:
    """Return the sign of this thread's work, for `watched` in threads that help with the work."""
    return _HERE.sign


def alive() -> None:
    """Record a heartbeat."""
    if _HERE.sign is not None:
        _HERE.sign.at = time.monotonic()


def wait_alive(seconds: float) -> None:
    """Wait, and record a heartbeat every minute."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, SIGN_EVERY_S))
        alive()
