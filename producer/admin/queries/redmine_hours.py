"""Reads a month's time entries from Redmine, page by page at the rate limit."""

from __future__ import annotations

import re
import time
from datetime import date, timedelta
from typing import Any, NamedTuple

from shared.errors import OutcomeUnknown
from shared.metadata.synchronisation import Connect
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.tracker.lists import PagedList, TrackerLists, retry_if_changed
from shared.values.ids import id_in

MONTH = "(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])"
"""The form of a month, such as 2026-11."""

READ_S = 60.0
"""Time limit for reading a month, in seconds."""


class TimeEntry(NamedTuple):
    """A time entry as Redmine has it."""

    id: int
    user_id: int | None
    user: str
    hours: float


def month_of(month: str) -> tuple[date, date]:
    """Return the first day and the last day of a month such as `2026-11`.

    Raises:
        ValueError: if `month` is no month.
    """
    if not re.fullmatch(MONTH, month):
        raise ValueError(month)
    first = date.fromisoformat(f"{month}-01")
    following = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return first, following - timedelta(days=1)


def time_entries_of(connect: Connect, month: str, seconds: float = READ_S) -> list[TimeEntry]:
    """Return every time entry of a month.

    Args:
        connect: returns the configuration and a client for Redmine.
        month: such as `2026-11`.
        seconds: time limit.

    Raises:
        SettingsError: if Redmine is not set up.
        TrackerError: if Redmine cannot be read, or not within the time limit.
    """
    _, client = connect()
    lists, path, name = TrackerLists(client), Kind.TICKET_TASK.path, Kind.TICKET_TASK.list_name
    first, last = month_of(month)
    began = time.monotonic()

    def read() -> list[TimeEntry]:
        found: list[TimeEntry] = []

        def taken(pages: PagedList, rows: list[dict[str, Any]]) -> None:
            found.extend(_entry(one) for one in rows)
            if time.monotonic() - began > seconds:
                raise OutcomeUnknown("GET", pages.path, detail=Detail.TOO_MANY_PAGES(pages=len(found) // 100))

        lists.read_pages([PagedList(path, name, {"spent_on": f"><{first}|{last}"})], taken)
        return found

    with lists.open_throughout():
        return retry_if_changed(read)


def _entry(row: dict[str, Any]) -> TimeEntry:
    user, hours = row.get("user"), row.get("hours")
    return TimeEntry(
        id=int(row.get("id") or 0),
        user_id=id_in(user),
        user=str(user.get("name") or "") if isinstance(user, dict) else "",
        hours=float(hours) if isinstance(hours, (int, float)) else 0.0,
    )
