"""Workers before a tracker, simulated: how many calls at once they make of what it takes."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.coordination.call_limit import DECIDED_EVERY_S, TOLD_EVERY_S, WINDOW_S, Limit, Seen, Told
from worker.sync.gradient import adapted

UNLIKE = 10_007
"""Of so many calls each takes differently long; then one of them is drawn again."""


@dataclass
class Worker:
    """One worker: its share, its calls under way, and what it tells next."""

    share: int = 1
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
        self.seconds, self.each, self.wanted = dict(seconds), each, wanted
        self.limit, self.now, self.answered = Limit(), 1_000_000.0, 0
        self._chance = random.Random(workers)
        self._unlike = [self._chance.lognormvariate(0, jitter) for _ in range(UNLIKE)]
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

    @property
    def bound(self) -> int:
        """All that they can make."""
        return self.each * len(self._workers)

    def run(self, seconds: float) -> Iterator[Limit]:
        """Let them work; yield each decision."""
        ends = self.now + seconds
        for one in range(len(self._workers)):
            self._begin(one)
        while self.now < ends:
            self.now, _, one, name, begun = heapq.heappop(self._events)
            if begun:
                self._workers[one].under_way -= 1
                self._workers[one].took.append((name, self.now - begun))
                self.answered += 1
            elif self._tells(one):
                yield self.limit
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
        worker = self._workers[one]
        most = min(worker.share, self.each, self.wanted)
        if worker.under_way >= most:
            return
        free, now, names = self._free, self.now, list(self.seconds)
        chance, unlike, events, order = self._chance.random, self._unlike, self._events, self._order
        for _ in range(most - worker.under_way):  # millions of times
            name = names[int(chance() * len(names))]
            takes = self.seconds[name] * unlike[int(chance() * UNLIKE)]
            ends = (free[0] if free[0] > now else now) + takes
            heapq.heapreplace(free, ends)
            order += 1
            heapq.heappush(events, (ends, order, one, name, now))
        self._order = order
        worker.under_way = most

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
