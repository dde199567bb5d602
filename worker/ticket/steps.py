"""The steps of a ticket's workflow: the workflow awaits them, and the scheduler executes them.

A workflow is ordinary `async def` code without asyncio. Each step passes itself to the workflow's driver, which sends
back the result or raises the error in the workflow. Between two steps a workflow only makes decisions.

The methods of `TicketContext` create the steps, so a workflow need not know their classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Sequence
from enum import Enum, auto
from typing import Any, Generic, Self, TypeVar

from shared.redis.locks import HeldLock, Locks
from shared.tracker.answers import Answer
from shared.tracker.client import Request, TrackerClient

T = TypeVar("T")
R = TypeVar("R", covariant=True)

Workflow = Coroutine["Step[Any]", Any, T]


class Step(ABC, Generic[R]):
    """An operation for one ticket, which its workflow awaits."""

    def __await__(self) -> Generator[Step[Any], Any, R]:
        """Pass this step to the driver, and return its result."""
        result: R = yield self
        return result

    @abstractmethod
    def carry_out(self) -> R:
        """Execute the step now, for this ticket alone."""


class Starting(Step[R]):
    """A step that starts something new: the scheduler refuses it (`NotStarted`) while it stops or after an outage."""


class RedisOp(Step[R]):
    """An operation on Redis; one round trip executes all waiting operations of a class."""

    def carry_out(self) -> R:
        """Execute the operation for one ticket."""
        (found,) = self.execute_many([self])
        if isinstance(found, Exception):
            raise found
        return found

    @classmethod
    @abstractmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[R | Exception]:
        """Execute several operations of this class; return their results, in order.

        Raises:
            Exception: if all of them fail.
        """


class Admission(RedisOp[R], Starting[R]):
    """The request to work on a ticket, which records the number of outages that the process knows of."""


class Release(RedisOp[None]):
    """The release of a lock."""

    def __init__(self, locks: Locks, held: HeldLock) -> None:
        self._locks, self._held = locks, held

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[None]:
        """Release all of the locks in one round trip."""
        actions[0]._locks.release_all([one._held for one in actions])
        return [None] * len(actions)


class Holding:
    """Holds a lock that is already taken until the `async with` block ends."""

    def __init__(self, locks: Locks, held: HeldLock) -> None:
        self._locks, self._held = locks, held

    async def __aenter__(self) -> None:
        """Do nothing: the lock is held."""

    async def __aexit__(self, *_: object) -> None:
        """Release the lock."""
        await Release(self._locks, self._held)


class Pool(Enum):
    """The thread pools for blocking functions."""

    TRACKER = auto()
    """For functions that call the tracker: one thread for each possible concurrent call."""
    HELPDESK = auto()
    NOTES = auto()
    """For bookkeeping after a call: it makes no call itself, and never queues behind one."""
    OTHERS = auto()
    """For everything else that may take long: rendering, large loads."""


class Blocking(Step[R]):
    """A function that may block: it runs in a thread of a pool."""

    def __init__(self, pool: Pool, do: Callable[[], R]) -> None:
        self.pool, self._do = pool, do

    def carry_out(self) -> R:
        """Call the function."""
        return self._do()


class BlockingCall(Blocking[R], Starting[R]):
    """A blocking function that calls the tracker or the help desk."""


class Slot:
    """One of the claims that this process may have at once, held until the `async with` block ends.

    A row that is claimed within the block soon gets a call, so its lease does not expire in a long queue.

    Attributes:
        give_back: releases the slot; None if it is not held.
    """

    def __init__(self) -> None:
        self.give_back: Callable[[], None] | None = None

    @property
    def is_held(self) -> bool:
        """Whether it is held."""
        return self.give_back is not None

    async def __aenter__(self) -> Self:
        """Wait for the slot.

        Raises:
            NotStarted: if nothing new may start.
        """
        await TakeSlot(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the slot."""
        self.release()

    def release(self) -> None:
        """Release the slot if it is held."""
        if self.give_back is not None:
            self.give_back()
            self.give_back = None


class TakeSlot(Starting[None]):
    """The wait for a slot."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot

    def carry_out(self) -> None:
        """Do nothing: a ticket that runs alone needs no slot."""


class FileSlot(Slot):
    """One of the files that this process may hold at once, until the `async with` block ends.

    If no slot becomes free soon, none is held: a ticket that waited longer would take the place of others.

    Args:
        is_retry: whether the file failed before; such files leave one slot to the others.
    """

    def __init__(self, *, is_retry: bool = False) -> None:
        super().__init__()
        self.is_retry = is_retry

    async def __aenter__(self) -> Self:
        """Wait briefly for the slot.

        Raises:
            NotStarted: if nothing new may start.
        """
        await TakeFile(self)
        return self


class TakeFile(Starting[None]):
    """The brief wait for a file's slot."""

    def __init__(self, slot: FileSlot) -> None:
        self.slot = slot

    def carry_out(self) -> None:
        """Take the slot: a ticket that runs alone has no competitor."""
        self.slot.give_back = lambda: None


class TrackerCall(Starting[Answer]):
    """One request to the tracker."""

    def __init__(self, client: TrackerClient, request: Request) -> None:
        self._client, self.request = client, request

    def carry_out(self) -> Answer:
        """Send the request from this thread.

        Raises:
            TrackerError: as for `TrackerClient.send`.
        """
        return self._client.send_from_thread(self.request)

    async def send(self) -> Answer:
        """Send the request on the event loop.

        Raises:
            TrackerError: as for `TrackerClient.send`.
        """
        return await self._client.send(self.request)


def drive(workflow: Workflow[T], error: BaseException | None = None) -> T:
    """Run one ticket's workflow alone, executing each step at once.

    Args:
        workflow: the workflow.
        error: an error to raise in the workflow first; None resumes it.

    Raises:
        BaseException: if the workflow does not handle an error.
    """
    result: Any = None
    try:
        while True:
            step = workflow.send(result) if error is None else workflow.throw(error)
            result, error = None, None
            try:
                result = step.carry_out()
            except BaseException as fault:  # noqa: BLE001 (it belongs to the workflow)
                error = fault
    except StopIteration as end:
        returned: T = end.value
        return returned
    finally:
        workflow.close()
