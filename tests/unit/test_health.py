"""A worker ends itself only if it is stuck, or if messages wait and it receives none."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from worker import health
from worker.health import EXIT_CODE, STARVING_LOOKS, Health, NoProgress, ProgressCheck


@dataclass
class Worked:
    """A stand-in for the scheduler and the queues."""

    is_at_work: bool = False
    stuck: list[float | None] = field(default_factory=list)
    waiting: int = 0

    @property
    def stuck_since(self) -> float | None:
        """Take the next value of `stuck`."""
        return self.stuck.pop(0) if self.stuck else None

    def count(self) -> int:
        """Return the number of waiting messages."""
        return self.waiting


def looks(check: ProgressCheck, count: int = STARVING_LOOKS * 3) -> int:
    """Check up to `count` times; return after how many checks the worker was told to end."""
    for number in range(count):
        try:
            assert check.look()
        except NoProgress:
            return number
    return count


pytestmark = pytest.mark.promise("OPS-18")
FOR_EVER = STARVING_LOOKS * 3


def test_a_worker_that_is_handed_nothing_while_messages_wait_ends_after_a_minute() -> None:
    worked = Worked(waiting=5)
    check = ProgressCheck(worked, worked.count)
    with check.at_work():
        pass
    assert looks(check) == STARVING_LOOKS
    assert STARVING_LOOKS * health.LOOK_S == 60


def test_a_worker_that_was_never_handed_anything_ends_too() -> None:
    worked = Worked(waiting=1)
    assert looks(ProgressCheck(worked, worked.count)) == STARVING_LOOKS - 1


def test_an_idle_worker_goes_on_for_ever() -> None:
    worked = Worked()
    assert looks(ProgressCheck(worked, worked.count)) == FOR_EVER


def test_a_worker_whose_tickets_wait_goes_on_however_long_that_takes() -> None:
    """They may wait for the circuit breaker, the rate limiter, the database, or a free call."""
    worked = Worked(waiting=100, is_at_work=True)
    assert looks(ProgressCheck(worked, worked.count)) == FOR_EVER


def test_a_worker_whose_tasks_wait_goes_on_however_long_that_takes() -> None:
    """They may wait for room, or until the API key can be decrypted."""
    worked = Worked(waiting=100)
    check = ProgressCheck(worked, worked.count)
    with check.at_work():
        assert looks(check) == FOR_EVER


def test_a_worker_that_is_handed_one_message_after_the_other_goes_on_whatever_waits() -> None:
    worked = Worked(waiting=1000)
    check = ProgressCheck(worked, worked.count)
    for _ in range(FOR_EVER):
        with check.at_work():
            pass
        assert check.look()


def test_what_cannot_be_known_is_no_reason() -> None:
    def ask() -> int:
        raise RedisConnectionError("gone")

    assert looks(ProgressCheck(Worked(), ask)) == FOR_EVER


def test_a_broker_that_was_away_begins_the_minute_anew() -> None:
    worked, is_away = Worked(waiting=1), False

    def ask() -> int:
        if is_away:
            raise RedisConnectionError("gone")
        return worked.waiting

    check = ProgressCheck(worked, ask)
    assert looks(check, STARVING_LOOKS - 1) == STARVING_LOOKS - 1
    is_away = True
    assert check.look()
    is_away = False
    assert looks(check) == STARVING_LOOKS - 1


def test_what_was_stopped_and_goes_on_is_not_stuck() -> None:
    """After a freeze, every operation seems to have taken long."""
    worked = Worked(stuck=[None, 1.0, 2.0, None, 2.0, None, 3.0, 3.0, 4.0])
    check = ProgressCheck(worked, worked.count)
    assert [check.look() for _ in range(7)] == [True, False, False, True, False, True, False]
    with pytest.raises(NoProgress):
        check.look()


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An event that is set when this process ends itself."""
    ended = threading.Event()

    def end(code: int) -> None:
        assert code == EXIT_CODE
        ended.set()

    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr(health, "LOOK_S", 0.01)
    return ended


def test_a_process_without_progress_ends_with_the_code_that_has_it_started_again(
    ends: threading.Event,
) -> None:
    worked = Worked(waiting=1)
    made = Health(None)
    made.look = ProgressCheck(worked, worked.count).look
    made.start()
    assert ends.wait(60)


def test_a_process_that_is_stuck_is_not_shown_as_alive_before_it_ends(
    ends: threading.Event, tmp_path: Path
) -> None:
    path = tmp_path / "heartbeat"
    worked = Worked(stuck=[1.0, 1.0])
    made = Health(str(path))
    made.look = ProgressCheck(worked, worked.count).look
    made.start()
    assert ends.wait(60)
    assert not path.exists()
