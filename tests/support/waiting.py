"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LOOK_S = 0.05


def until(
    holds: Callable[[], T], what: Callable[[], str] | str = "", seconds: float = 60, every: float = LOOK_S
) -> T:
    """Wait until something holds; return it.

    Args:
        holds: true at last.
        what: what is the matter where it never is.
        seconds: how long at most.
        every: seconds between two looks, where a look takes the processor from what is waited for.
    """
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, what() if callable(what) else what or f"not within {seconds:g} s"
        time.sleep(every)
    return found
