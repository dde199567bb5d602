"""How many calls at once, as several workers find it out that tell at different times; simulated."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field

import pytest

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, FEW, TOLD_EVERY_S, WINDOW_S, Limit, Seen, Told
from worker.sync.gradient import MEASURED_EVERY_S, adapted

EACH = 8
"""Calls that a worker can make at once."""


@dataclass
class Worker:
    """One worker: its share, its calls under way, and what it tells next."""

    share: int = 1
    under_way: int = 0
    most: int = 0
    told_most: int = 0
    took: list[float] = field(default_factory=list)


class Workers:
    """Workers that have much to do, before a tracker that answers so many calls side by side.

    Args:
        count: how many workers.
        side_by_side: calls that the tracker answers at once.
        seconds: what a call takes.
    """

    def __init__(self, count: int, side_by_side: int, seconds: float) -> None:
        self.seconds, self.limit, self.now = seconds, Limit(), 1_000_000.0
        self._chance = random.Random(count)
        self._workers = [Worker() for _ in range(count)]
        self._free = [self.now] * side_by_side
        self._events = [
            (self.now + self._chance.random() * TOLD_EVERY_S, 0, one, 0.0) for one in range(count)
        ]
        heapq.heapify(self._events)
        self._order = 0
        self._took, self._most, self._since, self._decided = list[float](), 0, self.now, self.now

    @property
    def bound(self) -> int:
        """All that they can make."""
        return EACH * len(self._workers)

    def run(self, seconds: float) -> None:
        """Let them work."""
        ends = self.now + seconds
        for one in range(len(self._workers)):
            self._begin(one)
        while self.now < ends:
            self.now, _, one, begun = heapq.heappop(self._events)
            if begun:
                self._workers[one].under_way -= 1
                self._workers[one].took.append(self.now - begun)
            else:
                self._tell(one)
                self._push(self.now + TOLD_EVERY_S, one, 0.0)
            self._begin(one)

    def until_open(self, most_s: float) -> float:
        """Return after how many seconds half of the bound is made."""
        began = self.now
        while self.limit.calls < self.bound / 2 and self.now - began < most_s:
            self.run(1.0)
        return self.now - began

    def _push(self, at: float, one: int, begun: float) -> None:
        self._order += 1
        heapq.heappush(self._events, (at, self._order, one, begun))

    def _begin(self, one: int) -> None:
        worker = self._workers[one]
        while worker.under_way < min(worker.share, EACH):
            begins = max(self.now, heapq.heappop(self._free))
            ends = begins + self.seconds * self._chance.lognormvariate(0, 0.3)
            heapq.heappush(self._free, ends)
            self._push(ends, one, self.now)
            worker.under_way += 1
            worker.most = max(worker.most, worker.under_way)

    def _tell(self, one: int) -> None:
        worker = self._workers[one]
        worker.told_most, worker.most = worker.most, worker.under_way
        if worker.took:
            if not self._took:
                self._since = self.now
            self._took += worker.took
            self._most = max(self._most, sum(other.told_most for other in self._workers))
            worker.took = []
        self._decide()
        wanted = {str(number): EACH for number in range(len(self._workers))}
        worker.share = Told(self.now, self.limit, wanted, None).share(str(one), self.limit)

    def _decide(self) -> None:
        enough = FEW if self.limit.why is CallLimitBy.MEASURING else ENOUGH
        is_due = self._took and (len(self._took) >= enough or self.now - self._since >= WINDOW_S)
        if is_due and self.now - self._decided >= TOLD_EVERY_S:
            calls = {"POST issues": (len(self._took), sum(self._took))}
            self.limit = adapted(self.limit, Seen(self.now, self.bound, self.bound, self._most, calls))
            self._took, self._most, self._decided = [], 0, self.now


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("seconds", [0.05, 0.3, 2.0])
def test_a_tracker_of_pure_latency_is_given_all_soon(count: int, seconds: float) -> None:
    assert Workers(count, 1000, seconds).until_open(120) < 20 + 20 * seconds


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("before", "after"), [(0.2, 1.0), (0.3, 2.0), (1.0, 4.0)])
def test_a_tracker_that_becomes_slower_for_good_is_measured_again(
    count: int, before: float, after: float
) -> None:
    workers = Workers(count, 1000, before)
    workers.until_open(120)
    workers.seconds = after
    workers.run(30)
    assert workers.until_open(4 * MEASURED_EVERY_S) < 2.5 * MEASURED_EVERY_S


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_tracker_that_does_one_thing_at_a_time_is_not_flooded(count: int) -> None:
    workers, found = Workers(count, 1, 0.035), list[float]()
    workers.run(20)
    for _ in range(200):
        workers.run(0.5)
        found.append(workers.limit.calls)
    assert 2.5 < sum(found) / len(found) < 5.5
    assert max(found) <= 8


def test_first_calls_that_are_slow_are_not_believed_for_long() -> None:
    workers = Workers(2, 1, 1.0)
    workers.run(6)
    workers.seconds = 0.035
    workers.run(2 * MEASURED_EVERY_S)
    assert workers.limit.calls < 6
