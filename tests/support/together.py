"""Drives the workflows of many tickets at once, as a worker does, and makes steps for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from worker.runtime.scheduler import Limit, Scheduler
from worker.ticket.steps import Blocking, BlockingCall, Pool, Slot, Step, Workflow, drive

P = ParamSpec("P")
T = TypeVar("T")
Begin = Callable[[int], Workflow[Any]]


def called(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
    """Return the step of making a call, for which a caller is needed."""
    return BlockingCall(Pool.TRACKER, partial(do, *args, **kwargs))


def noted(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
    """Return the step of noting something about a call that has ended."""
    return Blocking(Pool.NOTES, partial(do, *args, **kwargs))


async def claimed(claim: Step[T], *then: Step[Any]) -> T:
    """Claim something, then make the calls for which it was claimed; return the claim's result."""
    async with Slot():
        result = await claim
        for step in then:
            await step
        return result


def drive_together(
    begin: Begin, ticket_ids: Iterable[int], *, callers: int = 4, is_limited: bool = False
) -> None:
    """Drive some tickets to their ends, as a worker does that shares their steps.

    Args:
        begin: returns the workflow of a ticket.
        ticket_ids: the tickets.
        callers: how many calls may be made at once.
        is_limited: whether calls wait for a rate limit.

    Raises:
        BaseException: what ends the process.
    """
    drive_all(Scheduler(begin, callers, is_limited=is_limited), ticket_ids)


def drive_all(scheduler: Scheduler, ticket_ids: Iterable[int]) -> None:
    """Drive some tickets to their ends by a scheduler, in this thread.

    Raises:
        BaseException: what ends the process; every workflow has got it.
    """
    try:
        scheduler.take(list(ticket_ids))
        scheduler.run_until_idle()
    except BaseException as end:
        for ticket in scheduler.running.values():
            with suppress(BaseException):
                drive(ticket.workflow, end)
        raise
    finally:
        scheduler.close(patience=0)


@contextmanager
def at_work(begin: Begin, *, callers: int = 4, limit: Limit | None = None) -> Iterator[Scheduler]:
    """Have a scheduler work in a thread of its own during the block.

    Args:
        begin: returns the workflow of a ticket.
        callers: how many calls may be made at once at most.
        limit: how many may be made now; None: all of them.
    """
    made = Scheduler(begin, callers, limit=limit)
    made.start()
    try:
        yield made
    finally:
        made.close()
