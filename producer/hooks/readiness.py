"""Whether what the producer needs answers: looked at in a thread of its own, once a second at most."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

FRESH_S = 1.0


class Readiness:
    """Looks at what the producer needs. However many ask, events wait for none of them.

    Args:
        looks: by name, what tells whether something answers.
    """

    def __init__(self, looks: Mapping[str, Callable[[], bool]]) -> None:
        self._looks = looks
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._latest: asyncio.Future[dict[str, bool]] | None = None
        self._seen_at = 0.0

    async def look(self) -> dict[str, bool]:
        """Return by name whether something answers, as it was within the last second."""
        if self._latest is None or (self._latest.done() and time.monotonic() - self._seen_at > FRESH_S):
            self._latest = asyncio.get_running_loop().run_in_executor(self._thread, self._look)
        return await asyncio.shield(self._latest)

    def close(self) -> None:
        """Look no more."""
        self._thread.shutdown(wait=False)

    def _look(self) -> dict[str, bool]:
        found = {name: answers() for name, answers in self._looks.items()}
        self._seen_at = time.monotonic()
        return found
