"""The filters of a list, as addresses and forms have them, and times as a browser's fields hold them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.datastructures import QueryParams

from producer.admin.queries.events import LONGEST
from producer.console.auth.visitors import Fields

PERIOD = ("from", "to", "offset")
"""Filters of every list that has times."""


def filters_of(asked: QueryParams | Fields, names: Iterable[str]) -> dict[str, str]:
    """Return the filters that an address or a form has, each by its name; empty if it has none.

    Args:
        asked: the parameters of the address, or the fields of the form.
        names: of the filters, besides PERIOD.
    """
    read: Any = asked.text if isinstance(asked, Fields) else lambda name: asked.get(name, "").strip()
    return {name: read(name)[:LONGEST] for name in (*names, *PERIOD)}


def is_filtered(given: dict[str, str]) -> bool:
    """Return whether any filter is set."""
    return any(value for name, value in given.items() if name != "offset")


def period_of(given: dict[str, str]) -> tuple[datetime | None, datetime | None]:
    """Return from when to when filters ask; None for each time that they do not name."""
    return typed_moment(given["from"], given["offset"]), typed_moment(given["to"], given["offset"])


def typed_moment(text: str, offset: str) -> datetime | None:
    """Return what a field for date and time holds; None if it holds none.

    Args:
        text: the field, which has no zone.
        offset: the browser's minutes from UTC.
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
