"""The limit of concurrent calls to the tracker: as many as the tracker answers without delay.

This is the gradient limit of Netflix's concurrency-limits, a relative of TCP Vegas. The limit grows while calls take
about as long as without load. If they take longer, they queue in the tracker, and the limit shrinks in proportion. A
call that fails halves it, as in AIMD.

A probe measures the latency without load, as BBR's PROBE_RTT does: for a few calls the limit is near 1. It comes only
if calls take longer than expected, and at most once a minute. All workers probe at the same time by the clock: one
alone would measure the queue that the others fill. If calls take as long at a sixth of the earlier limit, no probe is
needed: the tracker has become slower for everyone.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import fmean

from shared.notices.limits import CallLimit, CallLimitBy

START = 8
"""The number of concurrent calls with which all workers together start."""

TOLERANCE, TOLERANCE_S = 0.3, 0.02
"""How much longer calls may take than without load: a fraction of that, or seconds if that is more. People hardly
notice 20 ms, and a busy worker itself needs that long to read an answer."""

OPENING_WINDOW, WINDOW, PROBE = 16, 48, 8
"""The fewest calls for a decision: while the limit doubles, later, and in a probe."""

FEWER, SAME = 6, 0.8
"""If calls at a sixth of the earlier limit take at least this fraction of the earlier time, they do not queue behind
each other: the tracker has become slower for everyone."""

PROBE_DIVISOR = 16
SLOW_S, PROBE_EVERY_S, SLOW_PROBE_EVERY_S = 0.3, 60.0, 600.0
"""If calls take longer than SLOW_S, a probe takes many seconds, so it comes less often."""


Calls = Mapping[str, list[float]]
"""The latencies of calls in seconds, by operation."""


def shared_clock() -> Callable[[], float]:
    """Return a clock that never jumps, and shows the same on all machines."""
    ahead = time.time() - time.monotonic()
    return lambda: ahead + time.monotonic()


def mean_latency(calls: Calls) -> float:
    """Return the mean latency of some calls."""
    return fmean(seconds for of_one in calls.values() for seconds in of_one)


class ConcurrencyLimit:
    """The limit of one process, for all its threads.

    Args:
        ceiling: the most calls that the process can make at once.
        clock: returns seconds, the same in all workers.
    """

    def __init__(self, ceiling: int, clock: Callable[[], float] | None = None) -> None:
        self._ceiling, self._clock = float(ceiling), clock or shared_clock()
        self._change = threading.Lock()
        self._limit, self._workers = min(self._ceiling, float(START)), 1
        self._without_load: dict[str, float] = {}
        self._window = defaultdict[str, list[float]](list)
        self._delayed: Calls | None = None
        self._since = self._next_probe_at = 0.0
        self._peak: tuple[float, float] | None = None
        self._is_opening, self._is_probing, self._is_wanted = True, False, False
        self._why, self._ratio = CallLimitBy.OPENING, 1.0

    @property
    def size(self) -> int:
        """How many calls may be made at once now."""
        return max(1, int(self._limit) // PROBE_DIVISOR) if self._is_probing else int(self._limit)

    @property
    def current(self) -> CallLimit:
        """The limit outside of probes, and its cause."""
        return CallLimit(int(self._limit), self._why, self._ratio)

    def share_with(self, workers: int) -> None:
        """Record how many workers use the tracker, including this one; before the first calls they share START."""
        with self._change:
            self._workers = workers
            if not self._without_load:
                self._limit = min(self._ceiling, float(max(1, START // workers)))

    def want(self) -> None:
        """Record that a call has to wait for the limit: it grows only then."""
        self._is_wanted = True

    def add(self, operation: str, seconds: float, *, failed: bool = False) -> None:
        """Count a call that has ended.

        Args:
            operation: the operation of the call.
            seconds: the latency of the call.
            failed: whether it got no answer, or was refused because of load.
        """
        with self._change:
            now = self._clock()
            if now - seconds < self._since:  # it began under another limit
                return
            if failed:
                self._is_opening, self._why, self._delayed = False, CallLimitBy.ERRORS, None
                self._set(self._limit / 2, now)
                return
            self._window[operation].append(seconds)
            count = sum(len(calls) for calls in self._window.values())
            if self._is_probing:
                if count >= PROBE:
                    self._end_probe(now)
            elif self._delayed and now >= self._next_probe_at:
                self._begin_probe(self._delayed, now)
            elif count >= max(OPENING_WINDOW if self._is_opening else WINDOW, 2 * self._limit):
                self._decide(now)

    def _decide(self, now: float) -> None:
        for operation, mean in _means(self._window).items():
            before = self._without_load.get(operation, mean / self._ratio)
            self._without_load[operation] = min(before, (before + mean) / 2)
        gradient = self._gradient(self._window)
        self._delayed = self._window if gradient < 1 else None
        if self._delayed and now >= self._next_probe_at:
            self._begin_probe(self._delayed, now)
        elif self._delayed and self._is_slower(self._delayed):
            self._without_load, self._is_opening, self._delayed = _means(self._window), True, None
            self._follow(1.0, now)
        else:
            self._follow(gradient, now)

    def _gradient(self, calls: Calls) -> float:
        """Return the fraction of the calls that would not be delayed; unknown operations do not count."""
        known = {
            operation: latencies for operation, latencies in calls.items() if operation in self._without_load
        }
        if not known:
            return 1.0
        latency = mean_latency(known)
        without_load = mean_latency(
            {name: [self._without_load[name]] * len(one) for name, one in known.items()}
        )
        self._ratio = max(1.0, latency / without_load)
        return min(1.0, (without_load + max(without_load * TOLERANCE, TOLERANCE_S)) / latency)

    def _is_slower(self, delayed: Calls) -> bool:
        """Return whether calls take as long as earlier at a much higher limit: then the tracker has become slower."""
        latency = mean_latency(delayed)
        if self._peak is None:
            self._peak = self._limit, latency
        limit, before = self._peak
        if self._limit > limit / FEWER:
            return False
        self._peak = self._limit, latency
        return latency > SAME * before

    def _follow(self, gradient: float, now: float) -> None:
        """Change the limit; the headroom tests whether the tracker can take more calls."""
        headroom = math.sqrt(self._limit / self._workers)
        if gradient < 1:
            self._is_opening, limit = False, self._limit * gradient + headroom
        elif self._is_wanted:
            limit = self._limit * 2 if self._is_opening else self._limit + headroom
        else:
            limit = self._limit
        self._set(limit, now)
        self._why = CallLimitBy.QUEUEING if gradient < 1 else CallLimitBy.OPENING
        if self._limit >= self._ceiling:
            self._why = CallLimitBy.BOUND

    def _set(self, limit: float, now: float) -> None:
        self._limit = min(max(1.0, limit), self._ceiling)
        self._window, self._since = defaultdict(list), now
        self._is_probing = self._is_wanted = False
        if not self._delayed:
            self._peak = None

    def _begin_probe(self, delayed: Calls, now: float) -> None:
        latency = mean_latency(delayed)
        every_s = SLOW_PROBE_EVERY_S if latency > SLOW_S else PROBE_EVERY_S
        self._next_probe_at = (now // every_s + 1) * every_s
        self._delayed, self._is_probing = delayed, True
        self._window, self._since = (
            defaultdict(list),
            now + latency,
        )  # by then the earlier calls of other workers have ended

    def _end_probe(self, now: float) -> None:
        assert self._delayed is not None  # noqa: S101 (a probe is about delayed calls)
        self._without_load = _means(self._window)
        gradient = self._gradient(self._delayed)
        is_comparable = not self._without_load.keys().isdisjoint(self._delayed)
        self._is_opening = (
            gradient == 1 and is_comparable
        )  # they take as long without load, so they did not queue
        self._delayed = None
        self._follow(gradient, now)


def _means(calls: Calls) -> dict[str, float]:
    return {operation: fmean(latencies) for operation, latencies in calls.items()}
