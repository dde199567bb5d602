"""What a ticket's way awaits: each says what is to be done; whoever drives the way decides when, and with whom.

`async` and `await` without asyncio: an action hands itself to its driver, which sends back what came of it, or throws
the error in where it stands. Between two actions a way only decides, and does no input or output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, ParamSpec, TypeVar

from shared.coordination.locks import HeldLock, Locks

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)

Way = Coroutine["Action[Any]", Any, T]


class Action(ABC, Generic[R]):
    """Something to be done for one ticket."""

    def __await__(self) -> Generator[Action[Any], Any, R]:
        """Hand this action to the driver, and return what came of it."""
        result: R = yield self
        return result

    @abstractmethod
    def carry_out(self) -> R:
        """Do it at once, for this ticket alone."""


class Apart(Action[R]):
    """What each ticket does for itself: rare, or a question to the tracker."""

    def __init__(self, do: Callable[[], R]) -> None:
        self._do = do

    def carry_out(self) -> R:
        """Do it."""
        return self._do()


def apart(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Apart[T]:
    """Return the action of calling a function."""
    return Apart(lambda: do(*args, **kwargs))


class TicketLock:
    """Holds a ticket's lock for the length of an `async with`.

    Raises:
        LockBusy: somebody else holds it.
    """

    def __init__(self, locks: Locks, ticket_id: int) -> None:
        self._locks, self._name = locks, f"ticket:{ticket_id}"

    async def __aenter__(self) -> HeldLock:
        """Take it."""
        self._held = await apart(self._locks.take, self._name)
        return self._held

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        await apart(self._held.release)


def drive(way: Way[T]) -> T:
    """Drive one ticket's way by itself: each action is carried out at once.

    Raises:
        BaseException: whatever the way does not handle.
    """
    result, error = None, None
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
