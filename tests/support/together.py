"""Drives many tickets to their ends in the thread of whoever asks, and makes steps for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import ParamSpec, TypeVar

from worker.runtime.scheduler import Scheduler
from worker.ticket.steps import Blocking, BlockingCall, Pool, Slot, Step, drive

P = ParamSpec("P")
T = TypeVar("T")


def called(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
    """Return the step of making a call, for which a caller is needed."""
    return BlockingCall(Pool.TRACKER, partial(do, *args, **kwargs))


def noted(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
    """Return the step of noting something about a call that has ended."""
    return Blocking(Pool.NOTES, partial(do, *args, **kwargs))


async def claimed(claim: Step[T]) -> T:
    """Claim something for a call that follows at once."""
    async with Slot():
        return await claim


def drive_together(scheduler: Scheduler, ticket_ids: Iterable[int]) -> None:
    """Drive some tickets as a worker does that shares their steps.

    Raises:
        BaseException: what ends the process; every workflow has got it.
    """
    scheduler.take(list(ticket_ids))
    try:
        while scheduler.is_at_work:
            scheduler._turn()
    except BaseException as end:
        for going in scheduler._going.values():
            with suppress(BaseException):
                drive(going.workflow, end)
        raise
