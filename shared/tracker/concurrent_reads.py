"""Runs a few reads concurrently; not many, because the tracker serves people, too."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shared.process.alive import sign_here, watched

CONCURRENCY = 8
"""As many as a Redmine process has threads by default; more calls would only queue there."""
LONG_ANSWERS = 2
"""Fewer for long answers, because a tracker process produces them one after the other: with eight at once, each takes
eight times as long and exceeds a call's time limit, and all of them together are no faster."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_concurrently(
    read: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    done: Callable[[Result], None],
    concurrency: int = CONCURRENCY,
    until: float = math.inf,
) -> None:
    """Read all items, a few concurrently, until the time is up; the first failure stops all.

    Args:
        read: reads one item; called in several threads.
        items: the items to read.
        done: receives each result, one at a time, in any order; may raise to stop.
        concurrency: the maximum number of concurrent reads.
        until: no read starts after this time (seconds of `time.monotonic`).

    Raises:
        TrackerError: if a read fails; the first failure.
    """
    todo, turn, stopped = iter(items), threading.Lock(), threading.Event()
    sign = sign_here()

    def reader() -> None:
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

    with ThreadPoolExecutor(max(1, min(concurrency, len(items))), thread_name_prefix="reader") as pool:
        for future in [pool.submit(reader) for _ in range(min(concurrency, len(items)))]:
            future.result()


END = object()
