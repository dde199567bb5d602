"""Calls stay within the limit and release their slots, and a slow call delays only its own ticket."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Self

import pytest

from tests.support.together import called, claimed, noted
from tests.support.waiting import until
from tests.unit.runtime.scheduling import PATIENCE_S, Claim, Ping, Stage, Write
from worker.runtime.scheduler import CLAIMS_PER_CALL
from worker.runtime.slots import Slots


def test_a_slow_call_holds_up_its_own_ticket_only(stage: Stage) -> None:
    others_are_done = threading.Event()

    async def workflow(ticket_id: int) -> str:
        if ticket_id == 1:
            await called(others_are_done.wait, PATIENCE_S)
            return "in time" if others_are_done.is_set() else "too late"
        await Write(stage.database, ticket_id)
        if ticket_id == 3:
            others_are_done.set()
        return "done"

    assert stage.drive(workflow, 1, 2, 3, calls=2) == {1: "in time", 2: "done", 3: "done"}


def test_no_more_calls_are_made_at_once_than_may_be(stage: Stage) -> None:
    change, at_once, most = threading.Lock(), [0], [0]
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def call() -> None:
        with change:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        both.wait()
        with change:
            at_once[0] -= 1

    async def workflow(_ticket_id: int) -> None:
        await called(call)

    stage.drive(workflow, *range(1, 9), calls=2)
    assert most == [2]


@pytest.mark.parametrize("is_limited", [False, True])
def test_no_more_claims_are_made_than_find_their_call_free_soon(stage: Stage, *, is_limited: bool) -> None:
    """Their leases run while they wait for other calls; with a rate limit, the wait may be long."""
    calling, go_on = threading.Event(), threading.Event()

    def call() -> None:
        calling.set()
        assert go_on.wait(PATIENCE_S)

    async def workflow(ticket_id: int) -> None:
        await claimed(Claim(stage.database, ticket_id), called(call))

    scheduler = stage.started(workflow, calls=2, is_limited=is_limited)
    scheduler.take(range(1, 20))
    assert calling.wait(PATIENCE_S)
    most = 2 if is_limited else 2 * CLAIMS_PER_CALL
    until(lambda: sum(map(len, stage.database.transactions)) == most)
    time.sleep(0.1)
    assert sum(map(len, stage.database.transactions)) == most
    scheduler.stop()
    go_on.set()


def test_a_slot_that_was_taken_for_nothing_is_given_back(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> str:
        await claimed(Claim(stage.database, ticket_id))
        for _ in range(100):
            if ticket_id == 2 or 2 in stage.ended:
                return "in time"
            await Write(stage.database, ticket_id)
        return "too late"

    assert stage.drive(workflow, 1, 2, calls=1) == {1: "in time", 2: "in time"}


def test_the_slot_of_a_claim_that_failed_is_given_back(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await claimed(Claim(stage.database, ticket_id, fails="always" if ticket_id < 3 else ""))

    assert stage.drive(workflow, 1, 2, 3, calls=1) == {1: ValueError, 2: ValueError, 3: 30}


def test_what_is_noted_after_a_call_waits_for_no_call(stage: Stage) -> None:
    """Other tickets' calls may take long."""
    is_noted, calls = threading.Event(), threading.Semaphore(0)

    async def workflow(ticket_id: int) -> None:
        await Write(stage.database, ticket_id)
        if ticket_id == 2:
            await noted(is_noted.set)
        else:
            assert await called(calls.acquire, timeout=PATIENCE_S)

    scheduler = stage.started(workflow, calls=1)
    try:
        scheduler.take([1, 2])
        assert is_noted.wait(PATIENCE_S)
    finally:
        calls.release()


def test_a_call_begins_once_it_is_claimed_however_slow_redis_is(stage: Stage) -> None:
    """A frozen Redis would use up the claim's lease."""
    has_begun = threading.Event()

    class Slow(Ping):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            return [has_begun.wait(PATIENCE_S)] * len(actions)

    async def workflow(ticket_id: int) -> int:
        if ticket_id == 1:
            await claimed(Claim(stage.database, ticket_id), called(has_begun.set))
            return 0
        return await Slow(ticket_id)

    assert stage.drive(workflow, 1, 2)[2] is True


def test_a_write_that_failed_with_others_waits_for_no_call(stage: Stage) -> None:
    """The result of a call may get lost until it is stored."""
    is_written = threading.Event()

    async def workflow(ticket_id: int) -> bool:
        if ticket_id == 1:
            return await called(is_written.wait, PATIENCE_S)
        await Write(stage.database, ticket_id, fails="with others")
        is_written.set()
        return True

    assert stage.drive(workflow, 1, 2, calls=1) == {1: True, 2: True}


@pytest.mark.parametrize(
    ("priority", "order"), [((), [1, 2, 3]), ((3,), [3, 1, 2]), ((2, 3), [2, 3, 1])], ids=str
)
def test_slots_are_handed_out_in_order_those_with_priority_first(
    priority: tuple[int, ...], order: list[int]
) -> None:
    handed_out = list[int]()

    async def wait(slots: Slots, number: int) -> None:
        assert await slots.take(has_priority=number in priority)
        handed_out.append(number)
        slots.release()

    async def run() -> None:
        slots = Slots(lambda: 1)
        assert await slots.take()
        waiting = [asyncio.create_task(wait(slots, number)) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        assert (slots.taken, slots.waiting) == (1, 3)
        slots.release()
        await asyncio.gather(*waiting)
        assert (slots.taken, slots.waiting) == (0, 0)

    asyncio.run(run())
    assert handed_out == order


def test_fewer_slots_take_none_away_and_more_are_handed_out_with_the_next_release() -> None:
    async def run() -> None:
        size = [2]
        slots = Slots(lambda: size[0])
        assert await slots.take()
        assert await slots.take()
        size[0] = 1
        waiting = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.release()
        await asyncio.sleep(0)
        assert not waiting.done(), "one of two was too many"
        more = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        size[0] = 2
        slots.release()
        assert await waiting
        assert await more
        assert slots.taken == 2

    asyncio.run(run())


def test_whoever_waits_for_a_slot_is_told_to_look_whether_it_still_may() -> None:
    asked = list[int]()

    async def run() -> None:
        slots = Slots(lambda: 0, lambda: asked.append(1))
        waiting = [asyncio.create_task(slots.take(has_priority=one)) for one in (False, True)]
        await asyncio.sleep(0)
        slots.wake()
        assert await asyncio.gather(*waiting) == [False, False]
        assert (slots.taken, slots.waiting) == (0, 0)

    asyncio.run(run())
    assert asked == [1, 1]
