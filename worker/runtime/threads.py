"""Blocking functions, each run in a thread of a pool and in the context of its ticket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import copy_context
from typing import TypeVar

from shared.process.alive import Sign, watched

T = TypeVar("T")


class Threads:
    """Runs functions in threads, and records for how long the slowest has made no progress."""

    def __init__(self) -> None:
        self._signs = set[Sign]()

    @property
    def busy_since(self) -> float | None:
        """When the function that has been silent for longest last made progress (monotonic); None if none runs."""
        return min((one.at for one in list(self._signs)), default=None)

    async def run(self, pool: Executor, do: Callable[[], T]) -> T:
        """Call a function in a thread of a pool; return its result.

        Raises:
            Exception: if the function raises it.
        """
        context, sign = copy_context(), Sign()
        self._signs.add(sign)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, context.run, _call, sign, do)
        finally:
            self._signs.discard(sign)


def _call(sign: Sign, do: Callable[[], T]) -> T:
    with watched(sign):
        return do()
