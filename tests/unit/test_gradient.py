"""How many calls at once: simulated trackers that answer so many side by side, and let the others wait."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, FEW, TOLD_EVERY_S, WINDOW_S, Limit, Seen
from worker.sync.gradient import LEAST, MEASURED_EVERY_S, adapted

BOUND = 64


@dataclass
class Tracker:
    """Answers so many calls side by side; the others wait in line. Others than we may make calls, too.

    Attributes:
        seconds: what a call takes, by operation.
        jitter: how unlike its calls are (sigma of a lognormal distribution).
    """

    side_by_side: int
    seconds: dict[str, float]
    jitter: float = 0.3
    limit: Limit = field(default_factory=Limit)
    now: float = 1_000_000.0
    wanted: int = 1000
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    answered: int = 0

    def run(self, seconds: float) -> Iterator[Limit]:
        """Keep as many calls under way as may be, and decide on the limit as workers do; yield each decision."""
        free = [self.now] * self.side_by_side
        under_way: list[tuple[float, float, str]] = []
        seen, most, since, decided = defaultdict[str, list[float]](list), 0, self.now, self.now
        ends = self.now + seconds
        while self.now < ends:
            while len(under_way) < min(int(self.limit.calls), self.wanted):
                begun = max(self.now, heapq.heappop(free))
                name = self.chance.choice(list(self.seconds))
                ended = begun + self.seconds[name] * self.chance.lognormvariate(0, self.jitter)
                heapq.heappush(free, ended)
                heapq.heappush(under_way, (ended, self.now, name))
            most = max(most, len(under_way))
            ended, begun, name = heapq.heappop(under_way)
            self.now = ended
            self.answered += 1
            seen[name].append(ended - begun)
            count = sum(map(len, seen.values()))
            if self.now - decided >= TOLD_EVERY_S and (
                count >= (FEW if self.limit.why is CallLimitBy.MEASURING else ENOUGH)
                or self.now - since >= WINDOW_S
            ):
                calls = {one: (len(took), sum(took)) for one, took in seen.items()}
                self.limit = adapted(self.limit, Seen(self.now, self.wanted, BOUND, most, calls))
                seen, most, since, decided = defaultdict(list), len(under_way), self.now, self.now
                yield self.limit

    def settle(self, seconds: float = 20) -> list[Limit]:
        """Run for a while; return the second half of the decisions."""
        decided = list(self.run(seconds))
        return decided[len(decided) // 2 :]


def redmine(**options: object) -> Tracker:
    """Return a tracker as a real one was measured on two processors: 35 calls a second, however many at once."""
    return Tracker(1, {"POST issues": 0.035, "POST time_entries": 0.022}, **options)  # type: ignore[arg-type]


def mean(limits: list[Limit]) -> float:
    return sum(one.calls for one in limits) / len(limits)


def test_a_tracker_of_pure_latency_is_given_all_that_may_be_within_seconds() -> None:
    tracker = Tracker(1000, {"POST issues": 0.1, "POST time_entries": 0.1})
    limits = list(tracker.run(6))
    assert limits[-1].calls == BOUND
    assert limits[-1].why is CallLimitBy.BOUND


def test_a_tracker_that_does_one_thing_at_a_time_is_filled_and_not_flooded() -> None:
    limits = redmine().settle()
    assert 2.5 < mean(limits) < 4.5
    assert max(one.calls for one in limits) < 6
    assert {one.why for one in limits} == {CallLimitBy.QUEUEING}


@pytest.mark.parametrize("side_by_side", [4, 16, 40])
def test_as_many_calls_as_it_answers_side_by_side_and_a_few_more(side_by_side: int) -> None:
    limits = Tracker(side_by_side, {"POST issues": 0.05}).settle()
    assert side_by_side < mean(limits) < side_by_side * 1.3 + 4


def test_what_is_made_of_the_tracker_is_no_less_than_with_any_fixed_number() -> None:
    tracker = Tracker(4, {"POST issues": 0.05}, jitter=0.0)
    before = list(tracker.run(5))
    assert before
    tracker.answered, began = 0, tracker.now
    list(tracker.run(120))
    assert tracker.answered / (tracker.now - began) > 0.97 * 4 / 0.05


def test_calls_that_differ_much_are_not_taken_to_wait() -> None:
    tracker = Tracker(1000, {"POST issues": 0.1}, jitter=0.6)
    assert mean(tracker.settle()) > 40


def test_an_operation_that_takes_long_alone_is_not_taken_to_wait() -> None:
    tracker = Tracker(1000, {"POST issues": 0.02})
    list(tracker.run(5))
    tracker.seconds = {"POST issues": 0.02, "GET issues": 0.4}
    assert tracker.settle()[-1].calls == BOUND


def test_a_tracker_that_becomes_slower_for_good_is_measured_again() -> None:
    tracker = Tracker(1000, {"POST issues": 0.02})
    list(tracker.run(5))
    tracker.seconds = {"POST issues": 0.2}
    assert list(tracker.run(5))[-1].calls < BOUND / 2
    assert list(tracker.run(MEASURED_EVERY_S * 2.5))[-1].calls > BOUND / 2


def test_as_long_as_nobody_wants_more_the_limit_does_not_open() -> None:
    tracker = Tracker(1000, {"POST issues": 0.02}, wanted=2)
    assert tracker.settle()[-1].calls == LEAST
    tracker.wanted = 1000
    assert list(tracker.run(5))[-1].calls == BOUND


def test_a_refused_or_lost_measure_does_not_hold_everybody_up() -> None:
    """Calls that take longer than the time for measuring: it goes on all the same."""
    tracker = Tracker(1000, {"POST issues": 4.0})
    assert list(tracker.run(40))[-1].calls > 4
