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
    """Return the step that makes a call, which needs a slot."""
    return BlockingCall(Pool.TRACKER, partial(do, *args, **kwargs))


def noted(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
    """Return the step that records something about a finished call."""
    return Blocking(Pool.NOTES, partial(do, *args, **kwargs))


async def claimed(claim: Step[T], *then: Step[Any]) -> T:
    """Run a claim and then the calls for it, in one slot; return the claim's result."""
    async with Slot():
        result = await claim
        for step in then:
            await step
        return result


def drive_together(
    begin: Begin, ticket_ids: Iterable[int], *, callers: int = 4, is_limited: bool = False
) -> None:
    """Run the workflows of some tickets to their ends, sharing their steps as a worker does.

    Args:
        begin: returns the workflow of a ticket.
        ticket_ids: the tickets.
        callers: maximum number of calls at once.
        is_limited: whether calls wait for a rate limit.

    Raises:
        BaseException: if something ends the process.
    """
    drive_all(Scheduler(begin, callers, is_limited=is_limited), ticket_ids)


def drive_all(scheduler: Scheduler, ticket_ids: Iterable[int]) -> None:
    """Run the workflows of some tickets to their ends with a scheduler, in this thread.

    Raises:
        BaseException: if something ends the process; every workflow has received it.
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
    """Run a scheduler in its own thread during the block.

    Args:
        begin: returns the workflow of a ticket.
        callers: maximum number of calls at once.
        limit: current concurrency limit; by default `callers`.
    """
    made = Scheduler(begin, callers, limit=limit)
    made.start()
    try:
        yield made
    finally:
        made.close()
