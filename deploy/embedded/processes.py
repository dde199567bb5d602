"""Named child processes: started, watched, and stopped in order."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from deploy.embedded.child import READY_TIMEOUT, STOP_TIMEOUT, Account, Child
from deploy.embedded.errors import ChildDied

__all__ = ["Account", "Child", "ProcessGroup", "Stoppable"]


class Stoppable(Protocol):
    """What a `ProcessGroup` can stop: a `Child`, or a server of this package."""

    @property
    def name(self) -> str: ...

    @property
    def alive(self) -> bool: ...

    def stop(self, timeout: float = ...) -> object: ...

    def kill(self) -> object: ...

    def death_notice(self) -> str: ...


class ProcessGroup:
    """Processes that belong together: started one after the other, stopped in reverse order.

    A context manager: leaving it stops everything, also on Ctrl-C and after an error.

    Args:
        stop_timeout: seconds each process has to stop before it is killed.
    """

    def __init__(self, stop_timeout: float = STOP_TIMEOUT) -> None:
        self._stop_timeout = stop_timeout
        self._members: list[Stoppable] = []

    @property
    def members(self) -> tuple[Stoppable, ...]:
        """What was started, in that order."""
        return tuple(self._members)

    def start(
        self, child: Child, ready: Callable[[], bool] | None = None, timeout: float = READY_TIMEOUT
    ) -> Child:
        """Start a child and wait until it is ready.

        Args:
            child: not yet started.
            ready: asks whether it can be used; None means it need not be waited for.
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
        """Stop `member`, which is started already, together with the others."""
        self._members.append(member)

    def check(self) -> None:
        """Make sure that everything still runs.

        Raises:
            ChildDied: names the first that has ended and shows the end of its log.
        """
        for member in self._members:
            if not member.alive:
                raise ChildDied(member.death_notice())

    def stop(self) -> None:
        """Stop everything, the last started first. Interrupted (a second Ctrl-C), it kills what is left."""
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
