"""Named child processes: started, watched, and stopped in order."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from deploy.embedded.child import READY_TIMEOUT, STOP_TIMEOUT, Account, Child
from deploy.embedded.errors import ChildDied

__all__ = ["Account", "Child", "ProcessGroup", "Stoppable"]


class Stoppable(Protocol):
    """A process that a `ProcessGroup` can stop: a `Child`, or a server of this package."""

    @property
    def name(self) -> str: ...

    @property
    def alive(self) -> bool: ...

    def stop(self, timeout: float = ...) -> object: ...

    def kill(self) -> object: ...

    def death_notice(self) -> str: ...


class ProcessGroup:
    """Processes that are started one after the other and stopped in reverse order.

    A context manager: its end stops everything, even on Ctrl-C and after an error.

    Args:
        stop_timeout: seconds that each process has to stop before it is killed.
    """

    def __init__(self, stop_timeout: float = STOP_TIMEOUT) -> None:
        self._stop_timeout = stop_timeout
        self._members: list[Stoppable] = []

    @property
    def members(self) -> tuple[Stoppable, ...]:
        """The processes, in the order of their start."""
        return tuple(self._members)

    def start(
        self, child: Child, ready: Callable[[], bool] | None = None, timeout: float = READY_TIMEOUT
    ) -> Child:
        """Start a child and wait until it is ready.

        Args:
            child: the child, not started yet.
            ready: returns whether it can be used; None does not wait.
            timeout: seconds to wait.

        Raises:
            EmbeddedError, ChildDied, NotReady: as `Child.start` and `Child.wait_ready`.
        """
        self._members.append(child)
        child.start()
        if ready is not None:
            child.wait_ready(ready, timeout)
        return child

    def adopt(self, member: Stoppable) -> None:
        """Add `member`, which is already running, so that it is stopped with the others."""
        self._members.append(member)

    def check(self) -> None:
        """Check that every process is still running.

        Raises:
            ChildDied: if a process has ended; the message has the first one's name and end of log.
        """
        for member in self._members:
            if not member.alive:
                raise ChildDied(member.death_notice())

    def stop(self) -> None:
        """Stop everything, the last started first. If interrupted (by a second Ctrl-C), kill the rest."""
        try:
            while self._members:
                self._members[-1].stop(self._stop_timeout)
                self._members.pop()
        finally:
            while self._members:
                self._members.pop().kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
