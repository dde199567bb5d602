"""Times as a browser's fields hold them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


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
