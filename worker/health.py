"""The health check: a thread that checks whether this process makes progress, reports that, or ends the process.

It feeds systemd's watchdog and the heartbeat file. For this check, a worker that waits for the circuit breaker, the
rate limiter, the database or a key that cannot be opened makes progress.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from shared.process.supervisor import LIVES, READY, notify
from shared.telemetry.logs import get_logger

log = get_logger("health")
LOOK_S = 5.0
STARVING_LOOKS = 12
"""The number of checks (one minute) after which a worker ends that gets no message although messages wait."""

EXIT_CODE = 75
"""EX_TEMPFAIL: the supervisor should start it again."""


class NoProgress(Exception):
    """This process makes no progress and ends, so that it is restarted."""


class Health:
    """Checks every few seconds, in a thread of its own, whether this process is healthy.

    Args:
        heartbeat_path: the file that is touched while the process is healthy, or None.

    Attributes:
        look: returns whether the process is healthy; raises `NoProgress` if it must end. A worker sets it.
    """

    def __init__(self, heartbeat_path: str | None) -> None:
        self._path = Path(heartbeat_path) if heartbeat_path else None
        self.look: Callable[[], bool] = lambda: True

    def start(self) -> None:
        """Tell systemd that the process is ready, and start the checks."""
        threading.Thread(target=self._keep_looking, daemon=True, name="health").start()
        notify(READY)

    def _keep_looking(self) -> None:
        try:
            while True:
                if self.look():
                    self._show()
                time.sleep(LOOK_S)
        except NoProgress as why:
            log.critical(
                "no progress; the process ends to be started again", reason=str(why), exit_code=EXIT_CODE
            )
            os._exit(EXIT_CODE)

    def _show(self) -> None:
        notify(LIVES)
        try:
            if self._path:
                self._path.touch()
        except OSError as error:
            log.warning("no heartbeat could be left", path=str(self._path), error=error.strerror)


class Progress(Protocol):
    """The scheduler of a worker's tickets, as the health check sees it.

    Attributes:
        is_at_work: whether it has any work.
        stuck_since: since when it has waited, if that is longer than any wait can take; else None.
    """

    @property
    def is_at_work(self) -> bool: ...
    @property
    def stuck_since(self) -> float | None: ...


class ProgressCheck:
    """Checks whether a worker's running work makes progress, and whether the worker gets messages that wait.

    After a broken connection, Celery has been seen to look alive and never fetch a message again.

    Args:
        scheduler: runs the tickets.
        waiting: returns how many messages wait in the queues.
    """

    def __init__(self, scheduler: Progress, waiting: Callable[[], int]) -> None:
        self._scheduler, self._waiting = scheduler, waiting
        self._change = threading.Lock()
        self._at_work = self._begun = self._begun_before = 0
        self._starved = 0
        self._stuck_since: float | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a Celery task while it runs."""
        with self._change:
            self._at_work += 1
            self._begun += 1
        try:
            yield
        finally:
            with self._change:
                self._at_work -= 1

    def look(self) -> bool:
        """Return whether the worker is healthy; to be called at regular intervals.

        It counts calls and not seconds, because a process that was frozen only seems to have waited.

        Raises:
            NoProgress: if the worker is stuck, or gets no messages.
        """
        before, self._stuck_since = self._stuck_since, self._scheduler.stuck_since
        if self._stuck_since is not None:
            if self._stuck_since == before:
                raise NoProgress("what is waited for does not come")
            return False
        self._starved = self._starved + 1 if self._is_starving() else 0
        if self._starved >= STARVING_LOOKS:
            raise NoProgress("messages wait, and this worker is handed none")
        return True

    def _is_starving(self) -> bool:
        with self._change:
            is_busy = self._at_work or self._begun != self._begun_before or self._scheduler.is_at_work
            self._begun_before = self._begun
        try:
            return not is_busy and self._waiting() > 0
        except Exception as error:  # noqa: BLE001 (it is not known what waits, and the thread goes on)
            log.info("it is not known how many messages wait", error=type(error).__name__)
            return False
