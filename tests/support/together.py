"""Drives many tickets to their ends in the thread of whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import ParamSpec, TypeVar

from worker.sync.actions import Step, drive
from worker.sync.coordinator import Coordinator

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)


class Called(Step[R]):
    """A call of a way that has claimed something: a caller makes it."""

    begins = calls = True

    def __init__(self, do: Callable[[], R]) -> None:
        self._do = do

    def carry_out(self) -> R:
        """Make it."""
        return self._do()


def called(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Called[T]:
    """Return the action of making a call."""
    return Called(lambda: do(*args, **kwargs))


def drive_together(coordinator: Coordinator, ticket_ids: Iterable[int]) -> None:
    """Drive some tickets as a worker does that shares their steps.

    Raises:
        BaseException: what ends the process; every way has got it.
    """
    coordinator.take(list(ticket_ids))
    try:
        while coordinator.is_at_work:
            coordinator._turn()
    except BaseException as end:
        for going in coordinator._going.values():
            with suppress(BaseException):
                drive(going.way, end)
        raise
