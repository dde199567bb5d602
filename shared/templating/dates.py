"""The filter `date`: formats are looked up letter by letter, so that no text can ask the C library for a gigabyte."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shared.codes.templates import Flaw
from shared.templating.values import Fault, Json

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_LETTER = re.compile(r"%(.?)", re.DOTALL)
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}")

LETTERS: dict[str, Callable[[datetime], str]] = {
    "Y": lambda moment: f"{moment.year:04}",
    "y": lambda moment: f"{moment.year % 100:02}",
    "m": lambda moment: f"{moment.month:02}",
    "B": lambda moment: _MONTHS[moment.month - 1],
    "b": lambda moment: _MONTHS[moment.month - 1][:3],
    "d": lambda moment: f"{moment.day:02}",
    "A": lambda moment: _DAYS[moment.weekday()],
    "a": lambda moment: _DAYS[moment.weekday()][:3],
    "H": lambda moment: f"{moment.hour:02}",
    "I": lambda moment: f"{(moment.hour - 1) % 12 + 1:02}",
    "p": lambda moment: "AM" if moment.hour < 12 else "PM",
    "M": lambda moment: f"{moment.minute:02}",
    "S": lambda moment: f"{moment.second:02}",
    "j": lambda moment: f"{moment.timetuple().tm_yday:03}",
    "V": lambda moment: f"{moment.isocalendar().week:02}",
    "z": lambda moment: _offset(moment),
    "Z": lambda moment: (moment.tzname() or "")[:40],
    "%": lambda _: "%",
}


def date_format(value: Json) -> str:
    """Return a format, if every letter of it is known.

    Raises:
        Fault: it is no text, has no letter at all, or one that is not known.
    """
    letters = _LETTER.findall(value) if isinstance(value, str) else []
    if not letters or len(value) > 200 or any(letter not in LETTERS for letter in letters):
        raise Fault(Flaw.DATE_FORMAT_WRONG(letters=[f"%{letter}" for letter in LETTERS], example="%Y-%m-%d"))
    return str(value)


def timezone(value: Json) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        Fault: there is no such zone.
    """
    if isinstance(value, str) and _ZONE.fullmatch(value):
        try:
            return ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # the same answer as for a name that is none
    raise Fault(Flaw.TIME_ZONE_UNKNOWN())


def format_date(value: Json, layout: str = "%Y-%m-%d", zone: ZoneInfo | None = None) -> str:
    """Write a date, or a date and time, in another form.

    Args:
        value: ISO 8601 or RFC 3339 text; a text without offset is taken as it stands.
        layout: see LETTERS.
        zone: a date and time with an offset is converted to it; None: to UTC.

    Raises:
        Fault: the value is not a date.
    """
    moment = _parsed(value)
    try:
        if moment.tzinfo:
            moment = moment.astimezone(zone or UTC)
        return _LETTER.sub(lambda letter: LETTERS[letter[1]](moment), layout)
    except (OverflowError, ValueError):
        raise Fault(Flaw.DATE_BEYOND_RANGE()) from None


def _parsed(value: Json) -> datetime:
    if isinstance(value, str) and len(value) <= 64:
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            pass  # the same answer as for what is no text
    raise Fault(Flaw.DATE_IS_NEEDED())


def _offset(moment: datetime) -> str:
    offset = moment.utcoffset()
    if offset is None:
        return ""
    minutes = int(offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
