"""Keeps the garbage collector away from what a process loads at its start, since that stays until its end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOOK_AFTER = 20_000
"""Garbage is looked for whenever there are so many objects more. What hundreds of tickets that are under way hold is
none, and what is dropped mostly goes at once, without a look: each 700, as Python has it, a worker spent a twentieth of
its processor time on looks that found hardly anything."""


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
    """Load modules inside the block without a look for garbage; none that follows looks at them again, and few follow.

    Of the libraries that they use, some would load more only since it is installed: Redis' client an SDK of
    OpenTelemetry to measure itself, kombu a reader of YAML, Celery another kind of threads and what reads how much
    memory a process takes, both of which come with tools for tests only.
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
    """Look for garbage a hundred times less often: a command loads half a million objects, keeps them and soon ends.

    One that stays, such as a producer, looks as often as every process that does (LOOK_AFTER) once it has loaded.
    """
    gc.set_threshold(100_000, 20, 100)
