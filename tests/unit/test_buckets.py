"""Token buckets limit the requests of each source, and their number is limited."""

from __future__ import annotations

import pytest

from producer.http.buckets import Buckets


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_full_bucket_is_used_up_and_fills_again(clock: Clock) -> None:
    buckets = Buckets(2, 3, clock=clock)
    for _ in range(3):
        assert buckets.wait("a") == 0
        buckets.take("a")
    assert buckets.wait("a") == 0.5
    clock.now += 0.5
    assert buckets.wait("a") == 0
    buckets.take("a")
    assert buckets.wait("a") == 0.5


def test_a_bucket_never_holds_more_than_it_can(clock: Clock) -> None:
    buckets = Buckets(2, 3, clock=clock)
    buckets.take("a")
    clock.now += 3600
    buckets.take("a", 3)
    assert buckets.wait("a") > 0


def test_a_debt_is_waited_for(clock: Clock) -> None:
    buckets = Buckets(10, 10, clock=clock)
    buckets.take("a", 500)
    assert buckets.wait("a") == pytest.approx(49.1)


def test_each_source_has_a_bucket_of_its_own(clock: Clock) -> None:
    buckets = Buckets(1, 1, clock=clock)
    buckets.take("a")
    assert buckets.wait("a") == 1
    assert buckets.wait("b") == 0


@pytest.mark.promise("SEC-20")
def test_only_so_many_sources_are_remembered_and_the_busy_ones_stay(clock: Clock) -> None:
    buckets = Buckets(1, 1, most=10, clock=clock)
    buckets.take("busy")
    for number in range(1000):
        buckets.take(number)
        buckets.take("busy")
    assert len(buckets._levels) == 10
    assert buckets.wait("busy") > 100
    assert buckets.wait(0) == 0


def test_asking_alone_remembers_nobody(clock: Clock) -> None:
    buckets = Buckets(1, 1, clock=clock)
    for number in range(1000):
        buckets.wait(number)
    assert len(buckets._levels) == 0
