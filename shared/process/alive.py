"""Signs of life of threads at long work: anyone who watches them counts from the last one, not from the beginning."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SIGN_EVERY_S = 60.0


class Sign:
    """The last sign of life that was given at one piece of work.

    Attributes:
        at: when (monotonic seconds).
    """

    def __init__(self) -> None:
        self.at = time.monotonic()


class _Here(threading.local):
    sign: Sign | None = None


_HERE = _Here()


@contextmanager
def watched(sign: Sign | None) -> Iterator[None]:
    """Have this thread's signs of life within the block count for some work; None: no one watches it."""
    before, _HERE.sign = _HERE.sign, sign
    try:
        yield
    finally:
        _HERE.sign = before


def sign_here() -> Sign | None:
    """Return that of the work that this thread is at; for `watched` in threads that help with it."""
    return _HERE.sign


def alive() -> None:
    """Give a sign of life."""
    if _HERE.sign is not None:
        _HERE.sign.at = time.monotonic()


def wait_alive(seconds: float) -> None:
    """Wait, and give a heartbeat every minute."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, SIGN_EVERY_S))
        alive()
