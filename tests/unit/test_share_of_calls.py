"""A scheduler has no more callers at work than its share of the calls, however many it has."""

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
    """The share that a test gives."""

    def __init__(self, share: int) -> None:
        self.share, self.more_wanted = share, threading.Event()

    def soon(self) -> None:
        self.more_wanted.set()


class Tracker:
    """Its calls last until they are let go."""

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

    with at_work(workflow, callers=CALLERS, share=given) as made:
        yield made
        tracker.let_go.release(1000)


def test_no_more_calls_are_under_way_than_the_share(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    scheduler.take(range(20))
    assert given.more_wanted.wait(60)
    for _ in range(10):
        until(lambda: tracker.under_way == 2)
        tracker.let_go.release()
    assert tracker.under_way <= 2


def test_what_is_wanted_is_what_has_a_caller_and_what_waits(scheduler: Scheduler, tracker: Tracker) -> None:
    scheduler.take(range(5))
    until(lambda: tracker.under_way == 2)
    assert scheduler.wanted == 5
    tracker.let_go.release(5)
    until(lambda: scheduler.wanted == 0)


def test_with_a_larger_share_more_begin_at_once(scheduler: Scheduler, tracker: Tracker, given: Given) -> None:
    scheduler.take(range(20))
    until(lambda: tracker.under_way == 2)
    given.share = 5
    scheduler.look()
    until(lambda: tracker.under_way == 5)
    given.share = 100
    scheduler.look()
    until(lambda: tracker.under_way == CALLERS)


def test_with_a_smaller_share_those_under_way_end_and_fewer_begin(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    given.share = 6
    scheduler.take(range(20))
    until(lambda: tracker.under_way == 6)
    given.share = 1
    for left in (5, 4, 3, 2, 1):
        tracker.let_go.release()
        until(partial(tracker.has_under_way, left))
    tracker.let_go.release()
    until(lambda: tracker.under_way == 1)


def test_without_a_share_everybody_waits_until_there_is_one(
    scheduler: Scheduler, tracker: Tracker, given: Given
) -> None:
    given.share = 0
    scheduler.take(range(3))
    assert given.more_wanted.wait(60)
    assert tracker.under_way == 0
    given.share = 1
    scheduler.look()
    until(lambda: tracker.under_way == 1)
