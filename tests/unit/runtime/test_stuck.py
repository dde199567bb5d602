"""A scheduler detects work that hangs anywhere, but work that shows progress may take any time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pytest

from shared.process.alive import alive
from tests.support.together import Begin, called
from tests.support.waiting import until
from tests.unit.runtime.scheduling import PATIENCE_S, Hang, Ping, Read, Stage, Write

SOON_S = 0.3
"""Seconds after which work counts as stuck in these tests."""


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hang]:
    for longest in ("LONGEST_WAIT_S", "LONGEST_FUNCTION_S"):
        monkeypatch.setattr(f"worker.runtime.scheduler.{longest}", SOON_S)
    monkeypatch.setattr("worker.runtime.scheduler.TICK_S", SOON_S / 10)
    made = Hang()
    yield made
    made.goes_on.set()


def hanging(stage: Stage, hang: Hang, where: str) -> Begin:
    """Return workflows that hang in the given place."""

    class HangingPing(Ping):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            hang()
            return super().execute_many(actions)

    class HangingWrite(Write):
        @classmethod
        def execute_many(cls, tx: Any, operations: Sequence[Self]) -> Sequence[int]:
            hang()
            return super().execute_many(tx, operations)

    class HangingRead(HangingWrite, Read):
        lane = "read"

    class HangingAlone(Write):
        def carry_out(self) -> int:
            hang()
            return 0

    async def workflow(ticket_id: int) -> None:
        match where:
            case "redis":
                await HangingPing(ticket_id)
            case "write":
                await HangingWrite(stage.database, ticket_id)
            case "read":
                await HangingRead(stage.database, ticket_id)
            case "alone":
                await HangingAlone(stage.database, ticket_id, fails="with others")
            case "call":
                await called(hang)
            case "workflow":
                hang()

    return workflow


@pytest.mark.parametrize("where", ["redis", "write", "read", "alone", "call", "workflow"])
def test_what_hangs_is_noticed_and_what_goes_on_is_not(stage: Stage, hang: Hang, where: str) -> None:
    """A ticket that hangs keeps its lock, so it must be noticed."""
    scheduler = stage.started(hanging(stage, hang, where))
    assert scheduler.stuck_since is None
    scheduler.take([1])
    assert hang.hangs.wait(PATIENCE_S)
    since = until(lambda: scheduler.stuck_since)
    assert scheduler.stuck_since == since, "so whoever looks twice knows that it does not go on"
    hang.goes_on.set()
    until(lambda: scheduler.stuck_since is None and not scheduler.is_at_work)
    assert scheduler.close() == []


def test_a_function_that_shows_progress_may_take_as_long_as_it_does(stage: Stage, hang: Hang) -> None:
    """A read of all metadata makes many calls, each of which may wait for the rate limiter."""
    is_over = threading.Event()

    def read_all() -> None:
        while not is_over.wait(SOON_S / 10):
            alive()

    async def workflow(_ticket_id: int) -> None:
        await called(read_all)

    scheduler = stage.started(workflow)
    scheduler.take([1])
    end = time.monotonic() + 3 * SOON_S
    while time.monotonic() < end:
        assert scheduler.stuck_since is None
        time.sleep(SOON_S / 10)
    is_over.set()


def test_an_idle_scheduler_is_not_stuck(stage: Stage, hang: Hang) -> None:
    scheduler = stage.started(hanging(stage, hang, "call"))
    time.sleep(2 * SOON_S)
    assert scheduler.stuck_since is None
