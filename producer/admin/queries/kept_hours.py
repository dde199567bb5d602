"""A cache of hours reports that took long to make: each is kept for some minutes, with its time."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import NamedTuple

from producer.admin.queries.hours import HoursReport, hours_of
from producer.admin.services import Services

KEPT_S = 300.0
LONG_S = 1.0
"""A report that took less time is not kept."""

MOST_KEPT = 12
READERS = 2
"""Reports that are made at the same time, in threads of their own, so that no other page waits for them."""


class KeptReport(NamedTuple):
    """A report and its time.

    Attributes:
        made_at: start of its calculation; None: it was not kept, so it is new.
        seconds: time limit for reading Redmine.
    """

    report: HoursReport
    made_at: datetime | None
    seconds: float


class KeptHours:
    """Makes hours reports, one at a time for each month, however many people load the page.

    Args:
        services: the collaborators.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._kept: dict[str, tuple[float, KeptReport]] = {}
        self._making: defaultdict[str, Lock] = defaultdict(Lock)  # by the month without its year
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="hours")
        self._latest: dict[tuple[str, float], asyncio.Future[KeptReport]] = {}

    def close(self) -> None:
        """Make no report any more that was not begun."""
        self._readers.shutdown(wait=False, cancel_futures=True)

    async def look(self, month: str, seconds: float, *, again: bool = False) -> KeptReport:
        """Return the report of a month, without a thread of the other pages: `of` makes it in one of the readers."""
        key = (month, seconds)
        latest = self._latest.get(key)
        if latest is None or again:
            make = partial(self.of, month, seconds, again=again, asked=time.monotonic())
            latest = asyncio.get_running_loop().run_in_executor(self._readers, make)
            self._latest[key] = latest
            latest.add_done_callback(lambda _: self._latest.pop(key, None))
        return await asyncio.shield(latest)

    def of(
        self, month: str, seconds: float, *, again: bool = False, asked: float | None = None
    ) -> KeptReport:
        """Return the report of a month.

        Args:
            month: such as `2026-11`.
            seconds: time limit for reading Redmine.
            again: whether to ignore a report that was kept before this call.
            asked: time of this call, if it had to wait.

        Raises:
            ValueError: if `month` is no month.
        """
        asked = time.monotonic() if asked is None else asked
        with self._making[month[-2:]]:
            until, kept = self._kept.get(month, (0.0, None))
            # a report that was begun after this call is new enough in any case
            is_new = kept is not None and asked < until and (not again or until - KEPT_S > asked)
            if kept is not None and is_new and (kept.report.live or kept.seconds >= seconds):
                return kept
            began, now = time.monotonic(), datetime.now(UTC)
            report = hours_of(self._services, month, seconds)
            self._kept.pop(month, None)
            if time.monotonic() - began < LONG_S:
                return KeptReport(report, None, seconds)
            while len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[month] = (began + KEPT_S, KeptReport(report, now, seconds))
            return self._kept[month][1]
