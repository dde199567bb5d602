"""A ticket's way hands its actions to whoever drives it, and goes on with what came of each."""

from __future__ import annotations

from typing import NoReturn, cast

import pytest

from shared.codes.notice import written
from shared.errors import LockBusy
from shared.tracker.client import TrackerClient
from tests.support.together import noted
from worker.ticket.steps import TrackerCall, drive


class Ended(BaseException):
    """Stands for a process that is stopped."""


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


class Client:
    """Stands for a client of the tracker: notes what is asked of it."""

    def __init__(self, *, is_limited: bool) -> None:
        self.is_limited, self.asked = is_limited, list[tuple[object, ...]]()

    def begin(self, *about: object, **more: object) -> str:
        self.asked.append((*about, more))
        return "begun"


@pytest.mark.parametrize(
    ("is_limited", "has_turn", "begun"), [(False, False, "begun"), (True, True, "begun"), (True, False, None)]
)
def test_a_call_leaves_at_once_unless_it_must_wait_for_the_rate_limit(
    *, is_limited: bool, has_turn: bool, begun: str | None
) -> None:
    client = Client(is_limited=is_limited)
    call = TrackerCall(
        cast("TrackerClient", client), "GET", "/users.json", params={"limit": 1}, has_turn=has_turn
    )
    assert cast("object", call.send_first()) == begun
    sent = [("GET", "/users.json", None, None, None, {"params": {"limit": 1}})]
    assert client.asked == (sent if begun else [])
