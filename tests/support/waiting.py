"""Waiting for other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LOOK_S = 0.05


def until(
    holds: Callable[[], T], what: Callable[[], str] | str = "", seconds: float = 60, every: float = LOOK_S
) -> T:
    """Wait until a condition holds; return its value.

    Args:
        holds: the condition.
        what: message of the failure, or a function that returns it.
        seconds: maximum time to wait.
        every: seconds between two checks; more if they slow down the awaited work.
    """
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, what() if callable(what) else what or f"not within {seconds:g} s"
        time.sleep(every)
    return found
