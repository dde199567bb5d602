"""Workers that run one at a time, each to the next point where the machine wants to look at it.

A worker is a thread. It runs while everybody else stands still; at every point (before a transaction, after its
commit, before and after a call) it may be left standing, go on, or be killed there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

PATIENCE_S = 20.0
END = 1_000_000

Stop = int | str
"""Where to stand next: after so many points, or at the next one whose name begins so."""


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it."""


class Actor:
    """One worker.

    Attributes:
        skew: how far its wall clock is ahead of the database's, in seconds.
        claims: what it has claimed, by kind and key: when whatever it sends for it must have arrived.
        pending_additions: the events of follow-ups, solutions and documents that were pending when it began.
        syncs: how many pieces of work it has begun.
        killed: those in which it was killed.
        errors: what its work raised and no worker would survive.
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
        """Whether it stands somewhere inside its work."""
        return self._thread is not None

    def begin(self, work: Callable[[], Any], stop: Stop) -> None:
        """Begin a piece of work, and stand where that says."""
        self.is_dead = False
        self.syncs += 1
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True, name=self.name)
        self._stop = stop
        self._thread.start()
        self._wait()

    def go_on(self, stop: Stop) -> None:
        """Go on from the point it stands at, and stand again where that says."""
        self._stop = stop
        self._go.release()
        self._wait()

    def kill(self) -> None:
        """End it where it stands; nothing of it has any effect any more."""
        self.is_dead = True
        self.killed.add(self.syncs)
        self.go_on(END)

    def point(self, name: str) -> None:
        """Called by the work at each point: stand here until told to go on.

        Raises:
            Killed: it ends here.
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
        except BaseException as error:  # noqa: BLE001 (told by the machine, in its own thread)
            self.errors.append(error)
        self._thread = None
        self._stands.release()

    def _wait(self) -> None:
        assert self._stands.acquire(timeout=PATIENCE_S), f"{self.name} hangs"


class Stage:
    """Knows who runs at the moment: a worker's thread, or (without threads) whoever the machine itself plays."""

    def __init__(self) -> None:
        self._playing = threading.local()
        self._others = Actor("whoever else")

    @property
    def actor(self) -> Actor:
        """Who runs at the moment."""
        playing: Actor = getattr(self._playing, "actor", self._others)
        return playing

    def play(self, actor: Actor, work: Callable[[], Any]) -> Callable[[], Any]:
        """Return the work as that worker's."""

        def played() -> Any:
            self._playing.actor = actor
            return work()

        return played

    def point(self, name: str) -> None:
        """A point in the work of whoever runs."""
        self.actor.point(name)
