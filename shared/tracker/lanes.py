"""Several reads at once, never more than a few: the tracker serves people, too."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shared.process.alive import sign_here, watched

LANES = 8
"""As many as the threads of one Redmine process by default; more would only queue there."""
LONG_ANSWERS = 2
"""A tracker's process makes them one after the other: of eight that are asked for at once each takes eight times as
long, past the time that a call has, and all of them together no less."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_lanes(
    read: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    done: Callable[[Result], None],
    lanes: int = LANES,
    until: float = math.inf,
) -> None:
    """Read every item, some at the same time, as far as there is time; the first failure stops all.

    Args:
        read: reads one item; called in several threads.
        items: what is to be read.
        done: is handed each result, one at a time and in no order; may raise to stop.
        lanes: how many at the same time.
        until: none is begun from this moment on, in seconds as `time.monotonic` has it.

    Raises:
        TrackerError: the first failure.
    """
    todo, turn, stopped = iter(items), threading.Lock(), threading.Event()
    sign = sign_here()

    def lane() -> None:
        with watched(sign):
            read_on()

    def read_on() -> None:
        try:
            while not stopped.is_set():
                with turn:
                    item = next(todo, END) if time.monotonic() < until else END
                if item is END:
                    return
                result = read(item)  # type: ignore[arg-type]
                with turn:
                    done(result)
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(max(1, min(lanes, len(items))), thread_name_prefix="lane") as pool:
        for future in [pool.submit(lane) for _ in range(min(lanes, len(items)))]:
            future.result()


END = object()
