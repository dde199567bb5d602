"""Drives a ticket's workflow by hand, up to where something else is to happen: the tests' one door to its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from unittest import mock

from shared.codes.kinds import Kind
from tests.support.bridge import Bridge
from worker.sync.actions import Step, Workflow
from worker.sync.creation import Call

A = TypeVar("A", bound=Step[Any])


def way_up_to(bridge: Bridge, kind: type[A], ticket_id: int = 4711) -> tuple[Workflow[Any], A]:
    """Drive a ticket's workflow up to a step of a kind; return both."""
    way, step = way_until(bridge, lambda one: isinstance(one, kind), ticket_id)
    return way, step  # type: ignore[return-value]


def way_until(
    bridge: Bridge, is_it: Callable[[Step[Any]], bool], ticket_id: int = 4711
) -> tuple[Workflow[Any], Step[Any]]:
    """Drive a ticket's workflow up to a step; return both."""
    way = bridge.service.way(ticket_id)
    return way, up_to(way, way.send(None), is_it)


def up_to(way: Workflow[Any], step: Step[Any], is_it: Callable[[Step[Any]], bool]) -> Step[Any]:
    """Carry out a workflow's steps, from one of them up to another, which is returned."""
    while not is_it(step):
        try:
            result = step.carry_out()
        except Exception as error:  # noqa: BLE001 (it belongs to the workflow)
            step = way.throw(error)
        else:
            step = way.send(result)
    return step


async def going_on(way: Workflow[Any], result: Any) -> None:
    """Go on with a workflow where it stands."""
    with suppress(StopIteration):
        action = way.send(result)
        while True:
            try:
                result = await action
            except Exception as error:  # noqa: BLE001 (it belongs to the workflow)
                action = way.throw(error)
            else:
                action = way.send(result)


def is_start(step: Step[Any]) -> bool:
    """Tell whether a step starts something, which a process that stops, or an outage, does not."""
    return step.begins


def is_admission(step: Step[Any]) -> bool:
    """Tell whether a step asks to work on a ticket."""
    return step.enters


def is_creation(step: Step[Any]) -> bool:
    """Tell whether a step sends what was claimed."""
    return isinstance(step, Call)


@contextmanager
def noting_creations(note: Callable[[Kind, int], None]) -> Iterator[None]:
    """Have it noted for which row each request of a creation is sent, right before it is.

    Args:
        note: is given the kind and the key of the row.
    """
    real = Call.carry_out

    def carry_out(call: Call, *begun: Any) -> Any:
        note(call.creation.kind, call.creation.key)
        return real(call, *begun)

    with mock.patch.object(Call, "carry_out", carry_out):
        yield


class Killed(BaseException):
    """A process that is killed does nothing more, whatever its workflow would still see to."""


def kill(way: Workflow[Any]) -> None:
    """End a workflow where it stands."""
    with suppress(Killed):
        while True:
            way.throw(Killed())
