"""Keeps to this process's share of the calls that may be under way at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from shared.redis.concurrency_limit import TOLD_EVERY_S, ConcurrencyLimit, Limit
from shared.telemetry.logs import get_logger
from shared.tracker.meter import Meter
from worker.runtime.gradient import adapted

log = get_logger("limiter")
NO_SOONER_S = 0.05


class Quota:
    """Tells what this process wants and has seen, and decides on the limit where it is its turn.

    Args:
        limit: that of the installation.
        meter: of this process's calls.
        worker: this process's name.
        bound: calls that it can make at once.

    Attributes:
        share: calls that it may have under way now.
        limit: that of the installation, as it was told last.
    """

    def __init__(self, limit: ConcurrencyLimit, meter: Meter, worker: str, bound: int) -> None:
        self._limit, self._meter, self._worker, self._bound = limit, meter, worker, bound
        self._soon = threading.Event()
        self._was_at_work = self._failed = False
        self.share = 1
        self.limit: Limit | None = None

    def soon(self) -> None:
        """Tell at once: more is wanted than may be, or something again."""
        self._soon.set()

    def keep_telling(self, wanted: Callable[[], int], changed: Callable[[], None]) -> None:
        """Tell, in a thread of its own, as long as the process lives.

        Args:
            wanted: returns how many calls it would make at once.
            changed: called where the share has become another.
        """

        def tell() -> None:
            while True:
                before = self.share
                has_told = self._try_to_tell(wanted())
                if self.share != before:
                    changed()
                if has_told:
                    time.sleep(NO_SOONER_S)
                self._soon.wait(TOLD_EVERY_S - NO_SOONER_S)
                self._soon.clear()

        threading.Thread(target=tell, daemon=True, name="limiter").start()

    def _try_to_tell(self, wanted: int) -> bool:
        has_told = True
        try:
            has_told = self.tell(wanted)
        except Exception as fault:  # noqa: BLE001 (with a share that nobody changes any more, a process may stand still)
            self.share = max(1, self.share)
            if not self._failed:
                log.warning("the call limit stays as it was", error=type(fault).__name__)
            self._failed = True
        else:
            self._failed = False
        return has_told

    def tell(self, wanted: int) -> bool:
        """Tell once; False where there is nothing to tell.

        A process that comes back to work may make one call before it has told.

        Raises:
            RedisError: it cannot be told; the share stays as it was.
        """
        calls = self._meter.read()
        if not (wanted or calls or self._was_at_work):
            return False
        self._limit.note(calls)
        told = self._limit.tell(self._worker, min(wanted, self._bound), self._bound, calls)
        limit = told.limit
        if told.seen is not None:
            limit = adapted(limit, told.seen)
            self._limit.decide(limit)
        self._was_at_work = wanted > 0
        self.limit = limit
        self.share = told.share(self._worker, limit) if wanted else 1
        return True
