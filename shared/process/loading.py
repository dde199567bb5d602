"""Keeps the garbage collector away from the modules that a process loads at start, since they stay until its end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOOK_AFTER = 20_000
"""The garbage collector runs after this many new objects. Objects of hundreds of tickets in progress are no garbage,
and reference counting frees most others at once. With Python's default of 700, a worker spent a twentieth of its
processor time on runs that found hardly anything."""


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Load modules inside the block as if optional packages were not installed."""
    hidden = [one for one in packages if one not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for one in hidden:
            del sys.modules[one]


@contextmanager
def loading() -> Iterator[None]:
    """Load modules inside the block without garbage collection; later runs, which are rarer, skip their objects.

    Some libraries load further packages only because these are installed: Redis's client loads OpenTelemetry's SDK to
    measure itself, kombu a YAML reader, Celery greenlet and psutil, which come only with test tools. The block hides
    these packages.
    """
    gc.disable()
    try:
        with without("greenlet", "opentelemetry.sdk", "psutil", "yaml"):
            yield
    finally:
        gc.freeze()
        gc.set_threshold(LOOK_AFTER)
        gc.enable()


def look_seldom() -> None:
    """Run the garbage collector a hundred times less often: a command loads half a million objects and soon ends.

    A command that keeps running, such as the producer, uses LOOK_AFTER like other such processes once it has loaded.
    """
    gc.set_threshold(100_000, 20, 100)
