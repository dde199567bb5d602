"""Times and durations for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from shared.notices.language import counted, said

MINUTE, HOUR, DAY = 60, 3600, 86400


def when(moment: datetime | None, now: datetime | None = None) -> str:
    """Return a time as a person would say it: `2 minutes ago`, `in 5 seconds`, or its date in UTC.

    Args:
        moment: the time, None for none.
        now: the time to count from, now by default.
    """
    if moment is None:
        return ""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    distance = int(abs(seconds))
    if distance < 1:
        return said("now")
    if distance >= 7 * DAY:
        return moment.astimezone(UTC).strftime(said("%Y-%m-%d %H:%M"))
    if distance < MINUTE:
        long = counted("%(n)d second", "%(n)d seconds", distance) % {"n": distance}
    elif distance < HOUR:
        n = distance // MINUTE
        long = counted("%(n)d minute", "%(n)d minutes", n) % {"n": n}
    elif distance < DAY:
        n = distance // HOUR
        long = counted("%(n)d hour", "%(n)d hours", n) % {"n": n}
    else:
        n = distance // DAY
        long = counted("%(n)d day", "%(n)d days", n) % {"n": n}
    return (said("%(time)s ago") if seconds > 0 else said("in %(time)s")) % {"time": long}


def lasting(seconds: float) -> str:
    """Return a duration as a person would say it."""
    if seconds < MINUTE:
        return said("%(n)d s") % {"n": round(seconds)}
    if seconds < HOUR:
        return said("%(n)d min") % {"n": seconds // MINUTE}
    return said("%(n)d h") % {"n": seconds // HOUR}


def stamp(moment: Any) -> str:
    """Return a time as ISO 8601 in UTC, with Z.

    Raises:
        TypeError: if `moment` is no date and time.
    """
    if not isinstance(moment, datetime):
        raise TypeError(f"{type(moment).__name__} is not JSON")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
