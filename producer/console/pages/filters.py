"""Filters of lists, read from addresses and forms, and times, read from a browser's fields."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.datastructures import QueryParams

from producer.admin.queries.events import LONGEST
from producer.console.auth.visitors import Fields

PERIOD = ("from", "to", "offset")
"""Filters that every list with times has."""


def filters_of(asked: QueryParams | Fields, names: Iterable[str]) -> dict[str, str]:
    """Return the filters of an address or a form by name; a missing one is empty.

    Args:
        asked: the parameters of the address, or the fields of the form.
        names: names of the filters, in addition to PERIOD.
    """
    read: Any = asked.text if isinstance(asked, Fields) else lambda name: asked.get(name, "").strip()
    return {name: read(name)[:LONGEST] for name in (*names, *PERIOD)}


def is_filtered(given: dict[str, str]) -> bool:
    """Return whether any filter is set."""
    return any(value for name, value in given.items() if name != "offset")


def period_of(given: dict[str, str]) -> tuple[datetime | None, datetime | None]:
    """Return the start and the end of the filtered period; None for each that is not set."""
    return typed_moment(given["from"], given["offset"]), typed_moment(given["to"], given["offset"])


def typed_moment(text: str, offset: str) -> datetime | None:
    """Return the time in a date-and-time field, or None if it has none.

    Args:
        text: value of the field, which has no time zone.
        offset: minutes to add to the browser's time to get UTC.
    """
    try:
        found = datetime.fromisoformat(text)
        minutes = int(offset or 0)
    except ValueError:
        return None
    if found.tzinfo is not None or abs(minutes) > 24 * 60:
        return None
    try:
        return found.replace(tzinfo=UTC) + timedelta(minutes=minutes)
    except OverflowError:
        return None
