"""The steps of a ticket's workflow: what it awaits, and what the scheduler carries out for it.

A workflow is ordinary `async def` code without asyncio: each step hands itself to the driver of the workflow, which
sends the result back, or raises the error in the workflow. Between two steps a workflow only decides.

The methods of `TicketContext` make the steps; a workflow need not know their classes.
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
    """Something that is done for one ticket."""

    def __await__(self) -> Generator[Step[Any], Any, R]:
        """Hand this step to the scheduler, and return its result."""
        result: R = yield self
        return result

    @abstractmethod
    def carry_out(self) -> R:
        """Do it now, for this ticket alone."""


class Starting(Step[R]):
    """A step that starts something new: the scheduler refuses it (`NotStarted`) while stopping or in an outage."""


class RedisOp(Step[R]):
    """An operation on Redis: one round trip serves all tickets that wait for one of the same kind."""

    def carry_out(self) -> R:
        """Do it for one ticket."""
        (found,) = self.execute_many([self])
        if isinstance(found, Exception):
            raise found
        return found

    @classmethod
    @abstractmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[R | Exception]:
        """Do some of a kind; return the result of each, in their order.

        Raises:
            Exception: an error of all of them.
        """


class Admission(RedisOp[R], Starting[R]):
    """The request to work on a ticket: from now on it counts which outages the process knew of."""


class Release(RedisOp[None]):
    """Give a lock back."""

    def __init__(self, locks: Locks, held: HeldLock) -> None:
        self._locks, self._held = locks, held

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[None]:
        """Give all of them back."""
        actions[0]._locks.release_all([one._held for one in actions])
        return [None] * len(actions)


class Holding:
    """Holds a lock that was taken, until the `async with` block ends."""

    def __init__(self, locks: Locks, held: HeldLock) -> None:
        self._locks, self._held = locks, held

    async def __aenter__(self) -> None:
        """Go on: it is held."""

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        await Release(self._locks, self._held)


class Pool(Enum):
    """The threads that carry out a blocking function."""

    TRACKER = auto()
    """Those that call the tracker: as many as there may be calls at once."""
    HELPDESK = auto()
    NOTES = auto()
    """For what is noted about a call that has ended: it makes no call, and waits behind none."""
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
    """The same, for a function that calls the tracker or the help desk."""


class Slot:
    """One of the claims that this process may have at once, held until the `async with` block ends.

    What is claimed within the block finds its call free soon: the claim's lease does not run in a long queue.

    Attributes:
        give_back: gives it back; None: it is not held.
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
            NotBegun: nothing new starts any more.
        """
        await TakeSlot(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        self.release()

    def release(self) -> None:
        """Give it back, if it is held."""
        if self.give_back is not None:
            self.give_back()
            self.give_back = None


class TakeSlot(Starting[None]):
    """Wait for a slot."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot

    def carry_out(self) -> None:
        """Hold it: this ticket is alone."""


class FileSlot(Slot):
    """One of the files that this process may hold at once, until the `async with` block ends.

    It is not held if none was free soon: what waits for one keeps a ticket running that others may need.
    """

    async def __aenter__(self) -> Self:
        """Wait a moment for it.

        Raises:
            NotBegun: nothing new starts any more.
        """
        await TakeFile(self)
        return self


class TakeFile(Starting[None]):
    """Wait a moment for a file's slot."""

    def __init__(self, slot: FileSlot) -> None:
        self.slot = slot

    def carry_out(self) -> None:
        """Hold it: this ticket is alone."""
        self.slot.give_back = lambda: None


class TrackerCall(Starting[Answer]):
    """One request to the tracker."""

    def __init__(self, client: TrackerClient, request: Request) -> None:
        self._client, self.request = client, request

    def carry_out(self) -> Answer:
        """Send it from this thread.

        Raises:
            TrackerError: as `TrackerClient.send`.
        """
        return self._client.send_from_thread(self.request)

    async def send(self) -> Answer:
        """Send it on the event loop.

        Raises:
            TrackerError: as `TrackerClient.send`.
        """
        return await self._client.send(self.request)


def drive(workflow: Workflow[T], error: BaseException | None = None) -> T:
    """Run one ticket's workflow by itself: each step is carried out at once.

    Args:
        workflow: the workflow.
        error: raised in the workflow; None: it goes on.

    Raises:
        BaseException: what the workflow does not handle.
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
