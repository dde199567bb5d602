"""Periodic jobs of a worker, each in a thread of its own, so that no ticket delays them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.store.tables.database import words_for_the_log
from shared.telemetry.logs import get_logger

log = get_logger("periodic")


class PeriodicJob:
    """Runs a job when beat triggers it, and at longer intervals without beat.

    Args:
        name: the name of the job and of its thread.
        job: does the due work; safe to call at any time in any process.
        interval: seconds after which the job runs without a trigger.
        stopping: set once the process must end.
    """

    def __init__(
        self, name: str, job: Callable[[], object], interval: float, stopping: threading.Event
    ) -> None:
        self._name, self._job, self._interval, self._stopping = name, job, interval, stopping
        self._is_asked_for = threading.Event()

    def start(self) -> None:
        """Start the thread that runs the job, at once and then repeatedly, until the process ends."""
        threading.Thread(target=self._keep_running, daemon=True, name=self._name).start()

    def run_soon(self) -> None:
        """Run the job as soon as its last run has ended."""
        self._is_asked_for.set()

    def _keep_running(self) -> None:
        while not self._stopping.is_set():
            try:
                with failures_put_off(job=self._name):
                    self._job()
            except Exception as error:
                log.error("a job has failed; the next run tries again", job=self._name, exc_info=error)
            self._is_asked_for.wait(self._interval)
            self._is_asked_for.clear()


@contextmanager
def failures_put_off(**about: object) -> Iterator[None]:
    """Log a failure of the database or Redis instead of raising it; the next run does the remaining work."""
    try:
        yield
    except (SQLAlchemyError, RedisError) as error:
        log.warning(
            "put off until the next run", error=type(error).__name__, said=words_for_the_log(error), **about
        )
