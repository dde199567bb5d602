"""Token buckets, one per source, which limit its rate. Per process, in memory, of bounded size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_SOURCES = 10_000


class Buckets:
    """Holds a bucket per source; a new one is full. Must be used from one thread.

    Taking more than a bucket holds leaves a debt. So something large is not refused forever, but its source waits
    all the longer afterwards.

    Args:
        rate: tokens that each bucket gains per second.
        capacity: tokens that a full bucket holds.
        most: maximum number of sources to remember; beyond it, the least recently used one is forgotten.
        clock: returns seconds, monotonic.
    """

    def __init__(
        self,
        rate: float,
        capacity: float,
        *,
        most: int = MOST_SOURCES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._capacity, self._most, self._clock = rate, capacity, most, clock
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, source: Hashable) -> float:
        """Return the seconds until a source may take a token; 0 means now."""
        level = self._level(source)
        return 0.0 if level >= 1 else (1 - level) / self._rate

    def take(self, source: Hashable, count: int = 1) -> None:
        """Take tokens from a source's bucket."""
        self._levels[source] = (self._level(source) - count, self._clock())
        self._levels.move_to_end(source)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)

    def _level(self, source: Hashable) -> float:
        if source not in self._levels:
            return self._capacity
        level, at = self._levels[source]
        return min(self._capacity, level + (self._clock() - at) * self._rate)
