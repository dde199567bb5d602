"""What many may ask for at once and takes time: looked up in a thread of its own, and kept for a moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

FRESH_S = 1.0
Seen = TypeVar("Seen")


def told(seen: Mapping[str, bool]) -> dict[str, str]:
    """Return what /readyz answers: of each thing that was looked at whether it answers."""
    return {name: "ok" if answers else "unreachable" for name, answers in seen.items()}


class FreshLook(Generic[Seen]):
    """Looks at what a process needs. However many ask, no one else waits for it.

    Args:
        looks: by name, what looks at something.
        fresh_s: seconds for which what was seen is told again.
    """

    def __init__(self, looks: Mapping[str, Callable[[], Seen]], fresh_s: float = FRESH_S) -> None:
        self._looks, self._fresh_s = looks, fresh_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._latest: asyncio.Future[dict[str, Seen]] | None = None
        self._seen_at = 0.0

    async def look(self) -> dict[str, Seen]:
        """Return by name what was seen a moment ago, or is seen now."""
        if self._latest is None or (self._latest.done() and time.monotonic() - self._seen_at > self._fresh_s):
            self._latest = asyncio.get_running_loop().run_in_executor(self._thread, self._look)
        return await asyncio.shield(self._latest)

    def close(self) -> None:
        """Look no more."""
        self._thread.shutdown(wait=False)

    def _look(self) -> dict[str, Seen]:
        found = {name: look() for name, look in self._looks.items()}
        self._seen_at = time.monotonic()
        return found
