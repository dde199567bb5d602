"""A process that stops or has met an outage starts nothing new, but completes the calls under way."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import suppress

import pytest

from shared.errors import NotStarted, TrackerBusy
from tests.support.together import called, claimed, noted
from tests.support.waiting import until
from tests.unit.runtime.scheduling import PATIENCE_S, Claim, Enter, Hang, Stage, Write
from worker.runtime import runner
from worker.runtime.admission import Admission
from worker.runtime.scheduler import CLAIMS_PER_CALL
from worker.runtime.slots import Slots
from worker.ticket.steps import FileSlot


def busy() -> TrackerBusy:
    return TrackerBusy("POST", "/issues.json", status=429, retry_after=None)


def test_a_process_that_stops_makes_no_more_calls_and_returns_what_others_are_to_sync(stage: Stage) -> None:
    """This includes tickets that are running, because a supervisor does not wait long."""
    is_called, go_on, calls = threading.Event(), threading.Event(), list[int]()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        is_called.set()
        go_on.wait(PATIENCE_S)

    async def workflow(ticket_id: int) -> None:
        if ticket_id < 3:
            await claimed(Claim(stage.database, ticket_id), called(call, ticket_id))
        else:
            await called(call, ticket_id)
        await Write(stage.database, -ticket_id)
        await called(calls.append, ticket_id)

    scheduler = stage.started(workflow, calls=1)
    scheduler.take([1, 2, 3])
    assert is_called.wait(PATIENCE_S)
    scheduler.stop()
    go_on.set()
    assert sorted(scheduler.close()) == [1, 2, 3]
    assert len(calls) == 1
    written = [one for some in stage.database.transactions for one in some if one < 0]
    assert written == [-calls[0]], "what came of the call is written"


def test_a_process_that_stops_refuses_at_once_what_waits_for_a_call(stage: Stage) -> None:
    """It does not matter how long the running call takes."""
    call = Hang()

    async def workflow(_ticket_id: int) -> None:
        await called(call)

    scheduler = stage.started(workflow, calls=1)
    scheduler.take([1, 2, 3])
    assert call.hangs.wait(PATIENCE_S)
    until(lambda: len(scheduler.running) == 3)
    scheduler.stop()
    until(lambda: len(scheduler.running) == 1)
    call.goes_on.set()
    assert sorted(scheduler.close()) == [2, 3]


def test_a_process_that_stops_does_not_wait_for_ever(stage: Stage) -> None:
    call = Hang()

    async def workflow(_ticket_id: int) -> None:
        await called(call)

    scheduler = stage.started(workflow)
    scheduler.take([1])
    assert call.hangs.wait(PATIENCE_S)
    assert scheduler.close(patience=0.1) == [1], "others look whether there is more to do"
    call.goes_on.set()


@pytest.mark.parametrize("is_claimed", [True, False])
def test_an_outage_keeps_every_call_from_beginning_that_is_not_being_made(
    stage: Stage, *, is_claimed: bool
) -> None:
    """This includes tickets admitted before the outage, and those admitted before Redis has recorded it."""
    calls, told, both = list[int](), list[int](), threading.Barrier(2, timeout=PATIENCE_S)

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        both.wait()
        raise busy()

    async def workflow(ticket_id: int) -> None:
        await Enter(ticket_id)
        try:
            if is_claimed:
                await claimed(Claim(stage.database, ticket_id), called(call, ticket_id))
            else:
                await called(call, ticket_id)
        except TrackerBusy:
            await Write(stage.database, -ticket_id)
            await noted(told.append, ticket_id)

    stage.drive(workflow, *range(1, 20), calls=2)
    assert len(calls) == 2
    assert sorted(told) == sorted(calls)
    claims = {one for some in stage.database.transactions for one in some if one > 0}
    assert claims >= set(calls) if is_claimed else not claims
    assert len(claims) <= 2 * CLAIMS_PER_CALL
    assert Counter(stage.ended.values()) == {None: 2, NotStarted: 17}


def test_until_the_ticket_that_met_an_outage_has_ended_no_other_is_let_in(stage: Stage) -> None:
    """Redis has no record of the outage before that."""
    calls, is_known, opens = list[int](), threading.Event(), threading.Event()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        if ticket_id == 1:
            raise busy()

    async def workflow(ticket_id: int) -> None:
        try:
            await Enter(ticket_id)
            await called(call, ticket_id)
        except TrackerBusy:
            is_known.set()
            await noted(opens.wait, PATIENCE_S)
        except NotStarted:
            refused.set()

    refused = threading.Event()
    scheduler = stage.started(workflow)
    scheduler.take([1])
    assert is_known.wait(PATIENCE_S)
    scheduler.take([2])
    assert refused.wait(PATIENCE_S)
    opens.set()
    until(lambda: not scheduler.is_at_work)
    scheduler.take([3])
    until(lambda: calls == [1, 3])


def test_a_ticket_that_is_let_in_after_an_outage_makes_calls(stage: Stage) -> None:
    """This also holds for the probe while no other ticket is admitted."""
    calls = list[int]()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        if len(calls) == 1:
            raise busy()

    async def workflow(ticket_id: int) -> None:
        await Enter(ticket_id)
        with suppress(TrackerBusy):
            await called(call, ticket_id)

    scheduler = stage.started(workflow, calls=1)
    for ticket_id in (1, 2):
        scheduler.take([ticket_id])
        until(lambda: not scheduler.is_at_work)
    assert calls == [1, 2]


def test_a_file_that_becomes_free_as_an_outage_is_met_is_held_by_no_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two lost file slots would be all that a process has."""
    monkeypatch.setattr(runner, "MOST_FILES", 1)
    admission, may_end = Admission(), threading.Event()

    async def holds() -> None:
        async with FileSlot():
            await noted(may_end.wait, PATIENCE_S)
        admission.note(1, busy())

    async def wants() -> bool:
        async with FileSlot() as slot:
            return slot.is_held

    async def all_of_them() -> bool:
        made = runner.Runner(1, Slots(lambda: 1), Slots(lambda: 1), admission, ())
        first = asyncio.create_task(made.run(runner.RunningTicket(1, holds())))
        await asyncio.sleep(0)
        second = asyncio.create_task(made.run(runner.RunningTicket(2, wants())))
        await asyncio.sleep(0)
        may_end.set()
        await first
        with pytest.raises(NotStarted):
            await second
        is_held: bool = await made.run(runner.RunningTicket(3, wants(), outages=1))
        made.close()
        return is_held

    assert asyncio.run(all_of_them())


@pytest.mark.promise("OPS-36")
def test_files_that_failed_before_leave_a_slot_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that are slow each time would be all that a process has."""
    monkeypatch.setattr(runner, "FILE_PATIENCE_S", 0.01)
    may_end = threading.Event()

    async def holds(is_retry: bool) -> bool:
        async with FileSlot(is_retry=is_retry) as slot:
            if slot.is_held:
                await noted(may_end.wait, PATIENCE_S)
            return slot.is_held

    async def all_of_them() -> list[bool]:
        made = runner.Runner(4, Slots(lambda: 4), Slots(lambda: 4), Admission(), ())

        def begun(*kinds: bool) -> list[asyncio.Task[bool]]:
            return [asyncio.create_task(made.run(runner.RunningTicket(7, holds(one)))) for one in kinds]

        first = begun(True, True, False)
        await asyncio.wait(first, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        refused = [task.result() for task in first if task.done()]
        may_end.set()
        held = [await task for task in first]
        again = [await task for task in begun(True, False)]
        made.close()
        assert refused == [False]
        return held + again

    assert asyncio.run(all_of_them()) == [True, False, True, True, True]
