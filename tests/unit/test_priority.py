"""Tickets that a person waits for start before the backlog, even before tickets already in the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from tests.support.together import at_work, called
from tests.support.waiting import until
from worker.runtime.inbox import MOST_WAITING_WITH_PRIORITY
from worker.runtime.scheduler import Scheduler


@contextmanager
def blocked() -> Iterator[tuple[Scheduler, list[int], threading.Event]]:
    """Yield a scheduler whose only call is blocked until the event is set, while the rest of 25 tickets wait."""
    called_for, may_end = list[int](), threading.Event()

    def call(ticket_id: int) -> None:
        called_for.append(ticket_id)
        assert may_end.wait(90)

    async def workflow(ticket_id: int) -> None:
        await called(call, ticket_id)

    with at_work(workflow, callers=1) as scheduler:
        scheduler.take(range(1, 26))
        until(lambda: called_for == [1])
        yield scheduler, called_for, may_end
        may_end.set()


def test_it_is_begun_before_all_that_wait() -> None:
    with blocked() as (scheduler, called_for, may_end):
        assert scheduler.take([], has_priority=True) == []
        assert scheduler.take([77, 25], has_priority=True) == []
        until(lambda: {77, 25} <= set(scheduler.running))
        may_end.set()
        until(lambda: not scheduler.is_at_work)
    assert called_for[:3] == [1, 77, 25], "before whatever had begun to load"
    assert sorted(called_for) == [*range(1, 26), 77]


def test_a_pass_over_it_that_waits_for_its_call_goes_before_all_that_wait() -> None:
    """It would otherwise keep the ticket's lock, and the new pass, until the backlog before it is done."""
    with blocked() as (scheduler, called_for, may_end):
        until(lambda: 5 in scheduler.running)
        scheduler.take([5], has_priority=True)
        until(lambda: scheduler.running[5].has_priority)
        may_end.set()
        until(lambda: not scheduler.is_at_work)
    assert called_for[:2] == [1, 5]
    assert called_for[2:4].count(5) == 1, "and the new pass follows at once"


def test_a_worker_that_is_full_takes_no_message_of_the_others_and_still_takes_one_with_priority() -> None:
    with blocked() as (scheduler, _, _):
        scheduler.take(range(100, 200))
        assert scheduler.take([300], patience=0.05) == [300]
        assert scheduler.take([301], has_priority=True, patience=0.05) == []


def test_a_worker_keeps_no_long_queue_of_what_people_wait_for() -> None:
    """Another worker may be able to start them at once."""
    with blocked() as (scheduler, _, _):
        many = range(100, 100 + 4 * MOST_WAITING_WITH_PRIORITY)
        assert scheduler.take(many, has_priority=True) == []
        assert scheduler.take([500], has_priority=True, patience=0.05) == [500]


def test_it_is_begun_although_more_tickets_are_running_than_may_be_by_now() -> None:
    """The concurrency limit has fallen since they started."""
    go_on, limit = threading.Event(), SimpleNamespace(size=8, want=lambda: None)

    async def workflow(_ticket_id: int) -> None:
        await called(go_on.wait, 90)

    with at_work(workflow, callers=8, limit=limit) as scheduler:
        scheduler.take(range(1, 31))
        until(lambda: len(scheduler.running) == 30)
        limit.size = 1
        scheduler.take([77], has_priority=True)
        until(lambda: 77 in scheduler.running)
        go_on.set()
