"""Whether this worker can open the stored API key: if not, it takes no tickets, but other workers continue."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.errors import SettingsError
from shared.notices.notice import Notice
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.telemetry.logs import get_logger, reason_fields

LOOKED_AT_EVERY_S = 5.0
log = get_logger("worker")


class Ability:
    """Records that the key cannot be opened, reports it by heartbeats, and retries until it can.

    Args:
        heartbeats: where that is reported.
        look: opens the key; raises a SettingsError if it cannot be opened.
        stopping: set once the process must end.
    """

    def __init__(self, heartbeats: Heartbeats, look: Callable[[], object], stopping: threading.Event) -> None:
        self._heartbeats, self._look, self._stopping = heartbeats, look, stopping
        self._able, self._change = threading.Event(), threading.Lock()
        self._able.set()

    @property
    def is_able(self) -> bool:
        """Whether the key can be opened, as far as is known."""
        return self._able.is_set()

    def lose(self, why: Notice) -> None:
        """Take no more tickets until the key can be opened.

        Args:
            why: why it could not be opened.
        """
        with self._change:
            if not self._able.is_set():
                return
            self._able.clear()
        log.error("this worker takes no tickets until it can open the API key", **reason_fields(why))
        threading.Thread(target=self._look_until_able, daemon=True, name="ability").start()

    def wait(self) -> bool:
        """Wait until the key can be opened; return False if the process must end before that."""
        while not self._able.wait(1.0):
            if self._stopping.is_set():
                return False
        return True

    def _look_until_able(self) -> None:
        while not self._stopping.is_set():
            with suppress(RedisError):
                self._heartbeats.mark_unable(WORKER)
            with suppress(SettingsError, SQLAlchemyError, RedisError):
                self._look()
                break
            self._stopping.wait(LOOKED_AT_EVERY_S)
        with suppress(RedisError):
            self._heartbeats.able(WORKER)
        self._able.set()
        log.info("this worker can open the API key again, and goes on")
