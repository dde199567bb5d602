"""When a worker ends itself: messages wait and it is handed none. Anything else is no reason."""

from __future__ import annotations

import pytest

from worker.watchdog import LOOKS, Watchdog

pytestmark = pytest.mark.promise("OPS-18")


def looks(watchdog: Watchdog, backlog: int, count: int = LOOKS * 3) -> list[bool]:
    return [watchdog.look(backlog) for _ in range(count)]


def test_a_worker_that_is_handed_nothing_while_messages_wait_ends() -> None:
    watchdog = Watchdog()
    with watchdog.at_work():
        pass
    assert looks(watchdog, 5, LOOKS + 1) == [False] * LOOKS + [True]


def test_a_worker_that_was_never_handed_anything_ends_too() -> None:
    assert looks(Watchdog(), 1, LOOKS) == [False] * (LOOKS - 1) + [True]


def test_an_idle_worker_goes_on_for_ever() -> None:
    assert not any(looks(Watchdog(), 0))


def test_a_worker_that_is_at_work_goes_on_however_long_that_takes() -> None:
    watchdog = Watchdog()
    with watchdog.at_work():
        assert not any(looks(watchdog, 100))


def test_a_worker_that_is_handed_one_message_after_the_other_goes_on_whatever_waits() -> None:
    watchdog = Watchdog()
    for _ in range(LOOKS * 3):
        with watchdog.at_work():
            pass
        assert not watchdog.look(1000)


def test_what_cannot_be_known_is_no_reason() -> None:
    watchdog = Watchdog()
    for _ in range(LOOKS * 3):
        assert not watchdog.look(5)
        watchdog.look_away()
