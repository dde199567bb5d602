"""Slow lookups that many may request at once: done in a thread of their own, and cached for a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

FRESH_S = 1.0
Seen = TypeVar("Seen")


def told(seen: Mapping[str, bool]) -> dict[str, str]:
    """Return the content of /readyz: whether each service answers."""
    return {name: "ok" if answers else "unreachable" for name, answers in seen.items()}


class CachedProbe(Generic[Seen]):
    """Runs lookups in a thread, and caches their results. However many callers there are, other requests do not wait.

    Args:
        looks: the lookups, by name.
        fresh_s: seconds for which a result is used again.
    """

    def __init__(self, looks: Mapping[str, Callable[[], Seen]], fresh_s: float = FRESH_S) -> None:
        self._looks, self._fresh_s = looks, fresh_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._latest: asyncio.Future[dict[str, Seen]] | None = None
        self._seen_at = 0.0

    async def look(self) -> dict[str, Seen]:
        """Return the results by name, either new or a moment old."""
        if self._latest is None or (self._latest.done() and time.monotonic() - self._seen_at > self._fresh_s):
            self._latest = asyncio.get_running_loop().run_in_executor(self._thread, self._look)
        return await asyncio.shield(self._latest)

    def close(self) -> None:
        """Stop the thread of the lookups."""
        self._thread.shutdown(wait=False)

    def _look(self) -> dict[str, Seen]:
        found = {name: look() for name, look in self._looks.items()}
        self._seen_at = time.monotonic()
        return found
