"""Workers before a tracker, simulated: how many calls at once they make of what it takes."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle

from shared.redis.concurrency_limit import DECIDED_EVERY_S, TOLD_EVERY_S, WINDOW_S, Limit, Seen, Told
from worker.runtime.gradient import adapted

UNLIKE = 10_007
"""Of so many calls each takes differently long; then the same come again."""


@dataclass
class Worker:
    """One worker: its share, how many calls it makes of it, those under way, and what it tells next."""

    share: int = 1
    most: int = 1
    under_way: int = 0
    took: list[tuple[str, float]] = field(default_factory=list)


class Crowd:
    """Workers that tell at different times, before a tracker that answers so many calls side by side.

    Args:
        side_by_side: calls that the tracker answers at once; the others wait in line.
        seconds: what a call takes, by operation; each is as likely.
        workers: how many.
        each: calls that a worker can make at once.
        wanted: calls that each has to make.
        jitter: how unlike the calls are (sigma of a lognormal distribution).

    Attributes:
        answered: calls.
    """

    def __init__(
        self,
        side_by_side: int,
        seconds: Mapping[str, float],
        *,
        workers: int = 2,
        each: int = 32,
        wanted: int = 1000,
        jitter: float = 0.3,
    ) -> None:
        self.each, self.wanted = each, wanted
        self.limit, self.now, self.answered = Limit(), 1_000_000.0, 0
        self._chance = random.Random(workers)
        self._jitter = jitter
        self.now_take(seconds)
        self._workers = [Worker() for _ in range(workers)]
        self._free = [self.now] * side_by_side
        self._events = [
            (self.now + self._chance.random() * TOLD_EVERY_S, 0, one, "", 0.0) for one in range(workers)
        ]
        heapq.heapify(self._events)
        self._order = 0
        self._took: list[tuple[str, float]] = []
        self._wanted, self._since, self._decided = 10**9, self.now, self.now

    def takes(self, side_by_side: int) -> None:
        """Have the tracker answer another number of calls at once."""
        self._free = sorted((self._free + [self.now] * side_by_side)[-side_by_side:])

    def now_take(self, seconds: Mapping[str, float]) -> None:
        """Have calls take so long from here on, by operation."""
        names = list(seconds)
        self._calls = cycle(
            (name, seconds[name] * unlike)
            for unlike in _unlike(self._jitter)
            for name in self._chance.choices(names)
        )

    @property
    def bound(self) -> int:
        """All that they can make."""
        return self.each * len(self._workers)

    def run(self, seconds: float) -> Iterator[Limit]:
        """Let them work; yield each decision."""
        ends, workers, events = self.now + seconds, self._workers, self._events
        for one, worker in enumerate(workers):
            worker.most = min(worker.share, self.each, self.wanted)
            self._begin(one)
        while self.now < ends:  # millions of times
            self.now, _, one, name, begun = heapq.heappop(events)
            worker = workers[one]
            if begun:
                worker.under_way -= 1
                worker.took.append((name, self.now - begun))
                self.answered += 1
            elif self._tells(one):
                yield self.limit
            if worker.under_way < worker.most:
                self._begin(one)

    def work(self, seconds: float) -> Limit:
        """Let them work; return the limit at the end."""
        for _ in self.run(seconds):
            pass
        return self.limit

    def calls(self, seconds: float) -> float:
        """Let them work; return how many calls might be under way at once, on average over the time."""
        total, before, at = 0.0, self.limit.calls, self.now
        began = self.now
        for limit in self.run(seconds):
            total += before * (self.now - at)
            before, at = limit.calls, self.now
        return (total + before * (self.now - at)) / (self.now - began)

    def rate(self, seconds: float) -> float:
        """Let them work; return the calls answered each second."""
        self.answered, began = 0, self.now
        self.work(seconds)
        return self.answered / (self.now - began)

    def until_open(self, most_s: float) -> float:
        """Return after how many seconds the bound is reached."""
        began = self.now
        while self.limit.calls < self.bound and self.now - began < most_s:
            self.work(0.5)
        return self.now - began

    def _push(self, at: float, one: int, name: str, begun: float) -> None:
        self._order += 1
        heapq.heappush(self._events, (at, self._order, one, name, begun))

    def _begin(self, one: int) -> None:
        worker, free, now = self._workers[one], self._free, self.now
        while worker.under_way < worker.most:
            name, takes = next(self._calls)
            ends = (free[0] if free[0] > now else now) + takes
            heapq.heapreplace(free, ends)
            self._order += 1
            heapq.heappush(self._events, (ends, self._order, one, name, now))
            worker.under_way += 1

    def _tells(self, one: int) -> bool:
        self._push(self.now + TOLD_EVERY_S, one, "", 0.0)
        worker, count = self._workers[one], len(self._workers)
        wanted = min(self.wanted, self.each)
        self._took += worker.took
        self._wanted = min(self._wanted, wanted * count)
        worker.took = []
        has_decided = self._decides()
        told = Told(self.now, self.limit, {str(number): wanted for number in range(count)}, None)
        worker.share = told.share(str(one), self.limit)
        worker.most = min(worker.share, wanted)
        return has_decided

    def _decides(self) -> bool:
        is_enough = len(self._took) >= self.limit.enough or self.now - self._since >= WINDOW_S
        if not is_enough or self.now - self._decided < DECIDED_EVERY_S:
            return False
        calls = defaultdict[str, tuple[int, float]](lambda: (0, 0.0))
        for name, seconds in self._took:
            calls[name] = (calls[name][0] + 1, calls[name][1] + seconds)
        seen = Seen(self.now, self.now - self._since, self._wanted, self.bound, dict(calls))
        self.limit = adapted(self.limit, seen)
        self._took, self._wanted = [], 10**9
        self._decided = self._since = self.now
        return True


@cache
def _unlike(jitter: float) -> list[float]:
    chance = random.Random(0)
    return [chance.lognormvariate(0, jitter) for _ in range(UNLIKE)]
