"""Each ticket has one sync pass at a time, within the process's limits, and an error ends only its own ticket."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import structlog
from sqlalchemy.exc import OperationalError

from tests.support.together import Begin, called, drive_all
from tests.support.waiting import until
from tests.unit.runtime.scheduling import PATIENCE_S, Ping, Stage, Write
from worker.runtime.inbox import MOST_WAITING
from worker.ticket.steps import Workflow


def test_each_ticket_s_log_lines_name_it(stage: Stage) -> None:
    """This holds in the workflow and in the threads that execute its steps; afterwards no context is left."""
    said: list[tuple[int, dict[str, Any]]] = []

    def say(ticket_id: int) -> None:
        said.append((ticket_id, structlog.contextvars.get_contextvars()))

    async def workflow(ticket_id: int) -> None:
        for _ in range(3):
            say(ticket_id)
            await Ping(ticket_id)
            await called(say, ticket_id)

    stage.drive(workflow, *range(1, 9))
    assert max(map(len, Ping.groups)) > 1, "they took turns"
    assert len(said) == 8 * 6
    assert all(context == {"ticket_id": ticket_id} for ticket_id, context in said)
    assert structlog.contextvars.get_contextvars() == {}


def test_a_ticket_that_is_notified_while_it_is_synced_is_synced_once_more_and_never_twice_at_once(
    stage: Stage,
) -> None:
    begun, is_notified, is_over = threading.Event(), threading.Event(), threading.Event()
    went: list[str] = []

    async def workflow(_ticket_id: int) -> None:
        await called(went.append, "begins")
        begun.set()
        await called(is_notified.wait, PATIENCE_S)
        await called(went.append, "ends")
        if len(went) == 4:
            is_over.set()

    scheduler = stage.started(workflow)
    scheduler.take([1])
    assert begun.wait(PATIENCE_S)
    scheduler.take([1])
    scheduler.take([1])
    is_notified.set()
    assert is_over.wait(PATIENCE_S)
    assert scheduler.close() == []
    assert went == ["begins", "ends", "begins", "ends"]


def test_a_thread_that_hands_tickets_over_waits_while_too_many_wait_and_gets_them_back_at_the_end(
    stage: Stage,
) -> None:
    """So other processes get the messages for which this process has no room."""
    go_on, ended = threading.Event(), list[int]()

    async def workflow(ticket_id: int) -> None:
        await called(go_on.wait, PATIENCE_S)
        ended.append(ticket_id)

    scheduler = stage.started(workflow, calls=1)
    most = scheduler.most
    room = most + MOST_WAITING
    for ticket_id in range(1, room + 1):
        assert scheduler.take([ticket_id]) == []
    until(lambda: scheduler.take([1], patience=0) == [1])
    refused: list[int] = []
    waiting = threading.Thread(target=lambda: refused.extend(scheduler.take([1000])))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert scheduler.take([1001], patience=0) == [1001], "a caller that does not wait gets them back"
    scheduler.stop()
    assert scheduler.take([1001], patience=0) == [1001]
    waiting.join(PATIENCE_S)
    go_on.set()
    left = scheduler.close()
    assert refused == [1000]
    assert sorted({*ended, *left}) == list(range(1, room + 1))
    assert len(ended) <= most, "what had not been begun is left to others"


def test_tickets_that_are_running_and_notified_once_more_keep_no_other_from_being_taken(stage: Stage) -> None:
    go_on = threading.Event()

    async def workflow(_ticket_id: int) -> None:
        await called(go_on.wait, PATIENCE_S)

    scheduler = stage.started(workflow)
    for _ in range(2):
        for ticket_id in range(scheduler.most):
            assert scheduler.take([ticket_id]) == []
        until(lambda: len(scheduler.running) == scheduler.most)
    assert scheduler.take([1000], patience=0) == []
    go_on.set()


def test_an_error_that_a_workflow_does_not_handle_ends_it_alone(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        if ticket_id == 2:
            raise KeyError(ticket_id)
        return await Write(stage.database, ticket_id)

    assert stage.drive(workflow, 1, 2, 3) == {1: 10, 2: KeyError, 3: 30}


class Panic(BaseException):
    """A failure inside a library that is written in another language."""


class Panicking(Ping):
    """A round trip that panics."""

    @classmethod
    def execute_many(cls, actions: Any) -> Any:  # noqa: ARG003
        raise Panic


def panic() -> None:
    raise Panic


async def panic_in_the_workflow(_ticket_id: int) -> None:
    panic()


async def panic_in_a_thread(_ticket_id: int) -> None:
    await called(panic)


async def panic_in_a_lane(ticket_id: int) -> None:
    await Panicking(ticket_id)


def no_workflow(_ticket_id: int) -> Workflow[Any]:
    raise ValueError


@pytest.mark.parametrize(
    "workflow",
    [no_workflow, panic_in_the_workflow, panic_in_a_thread, panic_in_a_lane],
)
def test_a_scheduler_that_fails_itself_gives_up_its_process(stage: Stage, workflow: Begin) -> None:
    """Otherwise it would accept tickets forever and do nothing."""
    scheduler = stage.started(workflow)
    scheduler.take([1])
    assert stage.given_up.wait(PATIENCE_S)


def test_what_ends_the_process_is_raised_and_ends_every_workflow(stage: Stage) -> None:
    told: list[int] = []

    async def workflow(ticket_id: int) -> None:
        try:
            await Write(stage.database, ticket_id)
            if ticket_id == 2:
                raise Panic
            await called(int, "1")
        finally:
            told.append(ticket_id)

    with pytest.raises(Panic):
        drive_all(stage.scheduler(workflow), [1, 2, 3])
    assert sorted(told) == [1, 2, 3]


@pytest.mark.parametrize("is_limited", [False, True])
def test_with_a_rate_limit_a_ticket_begins_once_a_call_is_free(stage: Stage, *, is_limited: bool) -> None:
    """A ticket that starts earlier could only wait, while the data that it has loaded grows old."""
    several, running = threading.Event(), set[int]()

    async def workflow(ticket_id: int) -> None:
        running.add(ticket_id)
        if len(running) > 1:
            several.set()
        await called(several.wait, 0.2)
        running.discard(ticket_id)

    stage.drive(workflow, 1, 2, 3, calls=1, is_limited=is_limited)
    assert several.is_set() is not is_limited


def test_with_a_rate_limit_a_slow_ticket_holds_up_no_other(stage: Stage) -> None:
    the_last = threading.Event()

    async def workflow(ticket_id: int) -> bool:
        if ticket_id == 1:
            await called(the_last.wait, PATIENCE_S)
        elif ticket_id == 5:
            the_last.set()
        else:
            await called(lambda: None)
        return the_last.is_set() or ticket_id != 1

    assert set(stage.drive(workflow, 1, 2, 3, 4, 5, calls=2, is_limited=True).values()) == {True}


@pytest.mark.promise("SEC-36")
def test_what_the_database_says_is_logged_by_its_kind_only(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    said = OperationalError("INSERT", {"payload": "hidden-word"}, Exception("DETAIL: (hidden-word)"))

    def refuse() -> None:
        raise said

    async def workflow(_ticket_id: int) -> None:
        await called(refuse)

    with structlog.testing.capture_logs() as logged:
        assert stage.drive(workflow, 1) == {1: OperationalError}
    assert logged or caplog.records
    assert "hidden-word" not in f"{logged} {caplog.text}"
