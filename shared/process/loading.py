"""What a process loads when it starts stays until its end, so looking for garbage in it is in vain, then and later."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Load modules inside the block without a look for garbage; none that follows looks at them again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def look_seldom() -> None:
    """Look for garbage a hundred times less often: a command loads half a million objects, keeps them and soon ends."""
    gc.set_threshold(100_000, 20, 100)


@contextmanager
def without(package: str) -> Iterator[None]:
    """Load modules inside the block as if a package were not there that they use where it is, and can do without."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[package]
