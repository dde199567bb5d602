"""A simple supervisor: restarts a process whenever it has ended."""

from __future__ import annotations

import signal
import threading
import time

from deploy.embedded.child import Child

LOOK_S = 0.1
RESTART_S = 0.3
PATIENCE_S = 60.0
"""How long a process may take to end after SIGTERM before it counts as stuck."""


class Supervised:
    """One process that is restarted when it ends.

    Attributes:
        restarts: how often it was restarted.
        own_ends: exit codes of the times when it ended without a signal from the drill.
        stuck: how often it did not end after SIGTERM and had to be killed.
    """

    def __init__(self, child: Child) -> None:
        self.child = child
        self.restarts = 0
        self.own_ends: list[int | None] = []
        self.stuck = 0
        self._told = False
        self._terminated_at: float | None = None
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The process's name."""
        return self.child.name

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; return False if the process is not running."""
        with self._lock:
            if not self.child.alive:
                return False
            if number in (signal.SIGKILL, signal.SIGTERM):
                self._told = True
            if number == signal.SIGTERM:
                self._terminated_at = self._terminated_at or time.monotonic()
            self.child.send_signal(number)
            return True

    def look(self) -> None:
        """Restart the process if it has ended; kill it if it is stuck after SIGTERM."""
        with self._lock:
            if self.child.alive:
                if self._terminated_at and time.monotonic() - self._terminated_at > PATIENCE_S:
                    self.stuck += 1
                    self._terminated_at = None
                    self.child.kill()
                return
            if not self._told:
                self.own_ends.append(self.child.returncode)
            self._told, self._terminated_at = False, None
        time.sleep(RESTART_S)
        with self._lock:
            self.child.start()
            self.restarts += 1


class Supervisor:
    """Supervises several processes from one thread."""

    def __init__(self) -> None:
        self.members: list[Supervised] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="supervisor", daemon=True)

    def add(self, child: Child) -> Supervised:
        """Start a process and supervise it."""
        child.start()
        member = Supervised(child)
        self.members.append(member)
        return member

    def start(self) -> None:
        """Start the supervision."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the supervision and kill every process."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        for member in self.members:
            member.child.kill()

    def _work(self) -> None:
        while not self._stop.wait(LOOK_S):
            for member in self.members:
                if not self._stop.is_set():
                    member.look()
