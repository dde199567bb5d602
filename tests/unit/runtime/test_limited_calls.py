"""A scheduler makes no more concurrent calls than the concurrency limit allows, even if it has room for more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.together import at_work, called
from tests.support.waiting import until
from worker.runtime.scheduler import Scheduler

CALLERS = 8


class Given:
    """A limit that the test sets."""

    def __init__(self, size: int) -> None:
        self.size, self.is_wanted = size, threading.Event()

    def want(self) -> None:
        self.is_wanted.set()


class Tracker:
    """A tracker whose calls last until the test releases them."""

    def __init__(self) -> None:
        self.under_way = 0
        self.let_go = threading.Semaphore(0)
        self._change = threading.Lock()

    def has_under_way(self, count: int) -> bool:
        return self.under_way == count

    def call(self) -> None:
        with self._change:
            self.under_way += 1
        assert self.let_go.acquire(timeout=90)
        with self._change:
            self.under_way -= 1


@pytest.fixture
def tracker() -> Tracker:
    return Tracker()


@pytest.fixture
def given() -> Given:
    return Given(2)


@pytest.fixture
def scheduler(tracker: Tracker, given: Given) -> Iterator[Scheduler]:
    async def workflow(ticket_id: int) -> None:
        await called(tracker.call)

    with at_work(workflow, callers=CALLERS, limit=given) as made:
        yield made
        tracker.let_go.release(1000)


def test_no_more_calls_are_under_way_than_the_limit(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    scheduler.take(range(20))
    assert given.is_wanted.wait(60)
    for _ in range(10):
        until(lambda: tracker.under_way == 2)
        tracker.let_go.release()
    assert tracker.under_way <= 2


def test_with_a_larger_limit_more_begin_as_soon_as_a_call_has_ended(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    scheduler.take(range(20))
    until(lambda: tracker.under_way == 2)
    given.size = 5
    tracker.let_go.release()
    until(lambda: tracker.under_way == 5)
    given.size = 100
    tracker.let_go.release()
    until(lambda: tracker.under_way == CALLERS)


def test_with_a_smaller_limit_those_under_way_end_and_fewer_begin(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    given.size = 6
    scheduler.take(range(20))
    until(lambda: tracker.under_way == 6)
    given.size = 1
    for left in (5, 4, 3, 2, 1):
        tracker.let_go.release()
        until(partial(tracker.has_under_way, left))
    tracker.let_go.release()
    until(lambda: tracker.under_way == 1)
