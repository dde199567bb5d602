"""A simulation of how many concurrent calls workers make to a tracker with limited capacity."""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping

from worker.runtime.concurrency import ConcurrencyLimit

TIMEOUT_S = 5.0


class Simulation:
    """An endless backlog that several workers process within their concurrency limits.

    Args:
        servers: calls that the tracker answers concurrently; the others queue.
        service_s: seconds that the tracker needs per call, by operation; all are equally likely.
        network_s: additional seconds of each call on the network.
        workers: number of workers.
        ceiling: maximum number of concurrent calls of each worker.
        jitter: variation of the calls' durations (sigma of a lognormal distribution).

    Attributes:
        limits: the concurrency limit of each worker.
        answered: number of calls answered in the last run.
        is_away: whether every call times out.
        is_backlog: whether there are more calls to make than the limits allow.
        slowness: factor by which calls take longer.
    """

    def __init__(
        self,
        servers: int,
        service_s: Mapping[str, float],
        *,
        network_s: float = 0.0,
        workers: int = 1,
        ceiling: int = 32,
        jitter: float = 0.3,
    ) -> None:
        self.now, self.answered = 1_000_000.0, 0
        self.is_away, self.is_backlog, self.slowness = False, True, 1.0
        self._services, self._network_s, self._jitter = list(service_s.items()), network_s, jitter
        self._free = [self.now] * servers
        self._chance = random.Random(1)
        self.limits = [ConcurrencyLimit(ceiling, lambda: self.now) for _ in range(workers)]
        for one in self.limits:
            one.share_with(workers)
        self._under_way = [0] * workers
        self._calls: list[tuple[float, int, int, str, float, bool]] = []
        self._begun = 0

    @property
    def size(self) -> int:
        """The concurrent calls that all workers may make, without probes."""
        return sum(one.current.size for one in self.limits)

    def now_answers(self, servers: int) -> None:
        """Change the number of calls that the tracker answers concurrently."""
        self._free = sorted((self._free + [self.now] * servers)[-servers:])

    def run(self, seconds: float) -> float:
        """Simulate so many seconds; return how many concurrent calls the limits allowed on average."""
        area, began, ends = 0.0, self.now, self.now + seconds
        self.answered = 0
        sizes = [self._begin(worker) for worker in range(len(self.limits))]
        allowed = sum(sizes)
        while self._calls and self._calls[0][0] < ends:
            at, _, worker, operation, begun, failed = heapq.heappop(self._calls)
            area += allowed * (at - self.now)
            self.now = at
            self._under_way[worker] -= 1
            self.limits[worker].add(operation, at - begun, failed=failed)
            self.answered += not failed
            size = self._begin(worker)
            allowed += size - sizes[worker]
            sizes[worker] = size
        area += allowed * (ends - self.now)
        self.now = ends
        return area / (ends - began)

    def run_until_answered(self, calls: int) -> None:
        """Simulate until so many calls have been answered."""
        answered = 0
        while answered < calls:
            self.run(0.05)
            answered += self.answered

    def _begin(self, worker: int) -> int:
        """Start the calls that a worker may make; return how many concurrent calls it may make."""
        limit = self.limits[worker]
        size = limit.size
        while self._under_way[worker] < (size if self.is_backlog else 1):
            operation, service_s = self._chance.choice(self._services)
            takes = service_s * self.slowness * self._chance.lognormvariate(0, self._jitter)
            served = max(self._free[0], self.now + self._network_s / 2) + takes
            heapq.heapreplace(self._free, served)
            answered = self.now + TIMEOUT_S if self.is_away else served + self._network_s / 2
            self._begun += 1
            call = (answered, self._begun, worker, operation, self.now, self.is_away)
            heapq.heappush(self._calls, call)
            self._under_way[worker] += 1
        if self.is_backlog:
            limit.want()
        return size
