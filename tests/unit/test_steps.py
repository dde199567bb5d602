"""A workflow hands its steps to its driver and continues with the result or the error of each."""

from __future__ import annotations

from typing import NoReturn

import pytest

from shared.errors import LockBusy
from shared.notices.notice import written
from tests.support.together import noted
from worker.ticket.steps import drive


class Ended(BaseException):
    """A stand-in for the exception that stops a process."""


def test_a_way_goes_on_with_what_its_actions_came_to() -> None:
    async def workflow() -> int:
        return await noted(int, "4") + await noted(max, 1, 2)

    assert drive(workflow()) == 6


def test_an_error_is_raised_where_the_action_stands() -> None:
    def busy() -> NoReturn:
        raise LockBusy(written("busy"))

    async def workflow() -> str:
        try:
            return await noted(busy)
        except LockBusy as error:
            return str(await noted(str, error.notice.code))

    assert drive(workflow()) == str(written("busy").code)


@pytest.mark.parametrize("error", [LockBusy(written("busy")), Ended()])
def test_what_a_way_does_not_handle_ends_it_after_its_last_actions(error: BaseException) -> None:
    done: list[str] = []

    def fail() -> NoReturn:
        raise error

    async def workflow() -> None:
        try:
            await noted(fail)
            await noted(done.append, "went on")
        finally:
            await noted(done.append, "cleaned up")

    with pytest.raises(type(error)):
        drive(workflow())
    assert done == ["cleaned up"]
