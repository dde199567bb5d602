"""Workers that run one at a time, each to the next point where the state machine stops it.

A worker is a thread that runs while all other actors are stopped. At each point (before a transaction, after its
commit, before and after a call) it may stop, continue, or be killed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

PATIENCE_S = 20.0
END = 1_000_000

Stop = int | str
"""Where to stop next: after this many points, or at the next point whose name begins with this text."""


class Killed(BaseException):
    """A stand-in for SIGKILL, which deskbridge's code never catches."""


class Actor:
    """One worker.

    Attributes:
        skew: how far its wall clock is ahead of the database's, in seconds.
        claims: its claims, by kind and key: the time by which requests for the row must have arrived.
        pending_additions: the events of follow-ups, solutions and documents that were pending when it began.
        syncs: how many pieces of work it has started.
        killed: the numbers of the pieces of work in which it was killed.
        errors: errors that its work did not handle and no worker would survive.
    """

    def __init__(self, name: str, skew: float = 0.0) -> None:
        self.name, self.skew = name, skew
        self.claims: dict[tuple[str, int], float] = {}
        self.pending_additions: set[int] = set()
        self.errors: list[BaseException] = []
        self.is_dead = False
        self.syncs, self.killed = 0, set[int]()
        self.at = ""
        self._stop: Stop = END
        self._thread: threading.Thread | None = None
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def is_busy(self) -> bool:
        """Whether it has started work and not finished it."""
        return self._thread is not None

    def begin(self, work: Callable[[], Any], stop: Stop) -> None:
        """Start a piece of work and run to the stop."""
        self.is_dead = False
        self.syncs += 1
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True, name=self.name)
        self._stop = stop
        self._thread.start()
        self._wait()

    def go_on(self, stop: Stop) -> None:
        """Continue from the current point to the next stop."""
        self._stop = stop
        self._go.release()
        self._wait()

    def kill(self) -> None:
        """Kill the worker at its current point; its work has no further effect."""
        self.is_dead = True
        self.killed.add(self.syncs)
        self.go_on(END)

    def point(self, name: str) -> None:
        """Wait here if this is the stop, until `go_on` or `kill`; the work calls this at each point.

        Raises:
            Killed: if the worker was killed.
        """
        if self.is_dead:
            raise Killed
        if self._thread is None:
            return
        if self._is_here(name):
            self.at = name
            self._stands.release()
            self._go.acquire()
            if self.is_dead:
                raise Killed

    def _is_here(self, name: str) -> bool:
        if isinstance(self._stop, str):
            return name.startswith(self._stop)
        self._stop -= 1
        return self._stop < 0

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 (the state machine reports it in its own thread)
            self.errors.append(error)
        self._thread = None
        self._stands.release()

    def _wait(self) -> None:
        assert self._stands.acquire(timeout=PATIENCE_S), f"{self.name} hangs"


class Stage:
    """Knows the running actor: a worker in its thread, or an actor that the state machine plays in its own thread."""

    def __init__(self) -> None:
        self._playing = threading.local()
        self._others = Actor("whoever else")

    @property
    def actor(self) -> Actor:
        """The running actor."""
        playing: Actor = getattr(self._playing, "actor", self._others)
        return playing

    def play(self, actor: Actor, work: Callable[[], Any]) -> Callable[[], Any]:
        """Return the work as a function that runs in a worker's name."""

        def played() -> Any:
            self._playing.actor = actor
            return work()

        return played

    def point(self, name: str) -> None:
        """Mark a point in the running actor's work."""
        self.actor.point(name)
