"""What a ticket's way awaits: each says what is to be done; whoever drives the way decides when, and with whom.

Each kind says where it is at home: `RedisOp` is shared by many tickets in one round trip, `DbOp` (`drain.py`) in one
transaction, and `Apart` is each ticket's own, and may take long.

`async` and `await` without asyncio: an action hands itself to its driver, which sends back what came of it, or throws
the error in where it stands. Between two actions a way only decides, and does no input or output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, ClassVar, Generic, ParamSpec, Self, TypeVar

from shared.coordination.locks import HeldLock, Locks
from shared.tracker.client import Exchange

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)

Workflow = Coroutine["Step[Any]", Any, T]


class Step(ABC, Generic[R]):
    """Something to be done for one ticket.

    Attributes:
        begins: whether it begins what a process that is to end leaves to others, and what does not begin in a pause.
        calls: whether it may call the tracker, for which a caller is needed.
        enters: whether it asks for that pause: what was known of one before counts no more.
    """

    begins: ClassVar[bool] = False
    calls: ClassVar[bool] = False
    enters: ClassVar[bool] = False

    def __await__(self) -> Generator[Step[Any], Any, R]:
        """Hand this action to the driver, and return what came of it."""
        result: R = yield self
        return result

    def send_first(self) -> Exchange | None:
        """Send the request that it begins with, without waiting for anything; None: it has none, or it was not sent.

        What was sent is given to `carry_out` once it is over, which then goes on from there.
        """
        return None

    @abstractmethod
    def carry_out(self) -> R:
        """Do it at once, for this ticket alone."""


class Apart(Step[R]):
    """What each ticket does for itself: rare, or long."""

    def __init__(self, do: Callable[[], R]) -> None:
        self._do = do

    def carry_out(self) -> R:
        """Do it."""
        return self._do()


def apart(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Apart[T]:
    """Return the action of calling a function."""
    return Apart(lambda: do(*args, **kwargs))


class Aside(Apart[R]):
    """What is told of a call that is over: it makes none, and waits behind no caller."""


def aside(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Aside[T]:
    """Return the action of calling a function that makes no call to the tracker."""
    return Aside(lambda: do(*args, **kwargs))


class Begin(Apart[R]):
    """The same, which may call the tracker, and which neither a process that is to end begins nor one that pauses."""

    begins = calls = True


def begin(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Begin[T]:
    """Return the action of calling a function, unless the process is to end or a pause begins.

    Raises:
        LockBusy: it is, or one has begun (where it is awaited).
    """
    return Begin(lambda: do(*args, **kwargs))


class Ask(Apart[R]):
    """What somebody else than the tracker is asked, and which does not begin either."""

    begins = True


def ask(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Ask[T]:
    """Return the action of calling a function that asks the helpdesk, unless the process is to end or a pause begins.

    Raises:
        LockBusy: it is, or one has begun (where it is awaited).
    """
    return Ask(lambda: do(*args, **kwargs))


class RedisOp(Step[R]):
    """What is done for many tickets in one round trip."""

    def carry_out(self) -> R:
        """Do it: the set of one."""
        (found,) = self.execute_many([self])
        if isinstance(found, Exception):
            raise found
        return found

    @classmethod
    @abstractmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[R | Exception]:
        """Do some; return what came of each, in their order.

        Raises:
            Exception: what has failed for all of them.
        """


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
    """Holds a lock that was taken for the length of an `async with`."""

    def __init__(self, locks: Locks, held: HeldLock) -> None:
        self._locks, self._held = locks, held

    async def __aenter__(self) -> None:
        """Go on: it is held."""

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        await Release(self._locks, self._held)


def drive(way: Workflow[T], error: BaseException | None = None) -> T:
    """Drive one ticket's way by itself: each action is carried out at once.

    Args:
        way: the way.
        error: raised in it where it stands; None: it goes on.

    Raises:
        BaseException: whatever the way does not handle.
    """
    result: Any = None
    try:
        while True:
            step = way.send(result) if error is None else way.throw(error)
            result, error = None, None
            try:
                result = step.carry_out()
            except BaseException as fault:  # noqa: BLE001 (it belongs to the way, where it stands)
                error = fault
    except StopIteration as end:
        returned: T = end.value
        return returned
    finally:
        way.close()
