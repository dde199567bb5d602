"""Drives a ticket's way by hand, up to where something else is to happen."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

from tests.support.bridge import Bridge
from worker.sync.actions import Action, Way

A = TypeVar("A", bound=Action[Any])


def way_up_to(bridge: Bridge, kind: type[A], ticket_id: int = 4711) -> tuple[Way[Any], A]:
    """Drive a ticket's way up to an action of a kind; return both."""
    way = bridge.service.way(ticket_id)
    action = way.send(None)
    while not isinstance(action, kind):
        try:
            result = action.carry_out()
        except Exception as error:  # noqa: BLE001 (it belongs to the way)
            action = way.throw(error)
        else:
            action = way.send(result)
    return way, action


async def going_on(way: Way[Any], result: Any) -> None:
    """Go on with a way where it stands."""
    with suppress(StopIteration):
        action = way.send(result)
        while True:
            try:
                result = await action
            except Exception as error:  # noqa: BLE001 (it belongs to the way)
                action = way.throw(error)
            else:
                action = way.send(result)


class Killed(BaseException):
    """A process that is killed does nothing more, whatever its way would still see to."""


def kill(way: Way[Any]) -> None:
    """End a way where it stands."""
    with suppress(Killed):
        while True:
            way.throw(Killed())
