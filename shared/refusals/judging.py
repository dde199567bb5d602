"""What the rules of hints share: reading a payload's values, and asking the cache about an id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from shared.metadata.confirming import named
from shared.refusals.known import Entries, Hint, Known
from shared.store.metadata import Entry

Fields = Mapping[str, Any]
Rule = Callable[[Fields, Known], Iterator[Hint]]
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
SINCE = "as of the last metadata synchronisation"


def whole(value: Any) -> int | None:
    """Return an id, also one written as text; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def number(value: Any) -> float | None:
    """Return a number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def blank(value: Any) -> bool:
    """Tell whether the tracker takes a value for none."""
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def is_date(value: Any) -> bool:
    """Tell whether a value is a day as the tracker takes it."""
    if not isinstance(value, str) or not DAY.fullmatch(value.strip()):
        return False
    try:
        return bool(date.fromisoformat(value.strip()))
    except ValueError:
        return False


def unknown(fields: Fields, name: str, choices: Entries) -> bool:
    """Tell whether a field is sent and is none of the choices; an empty cache denies nothing."""
    return bool(choices) and not blank(fields.get(name)) and whole(fields[name]) not in choices


def text_hint(fields: Fields, place: str, longest: int, record: str) -> Iterator[Hint]:
    """Explain a text that is needed and must not be too long.

    Args:
        fields: the payload's, below its top key.
        place: the field with its top key, such as `issue.subject`.
        longest: most characters.
        record: the knowledge record about it.
    """
    name = place.partition(".")[2]
    text = fields.get(name)
    if blank(text):
        yield Hint(place, f"the {name} is empty", record)
    elif len(str(text)) > longest:
        yield Hint(place, f"the {name} has {len(str(text))} characters; at most {longest} are taken", record)


def there_are(choices: Entries) -> str:
    """Return the choices for a person."""
    in_order: list[Entry] = sorted(choices.values(), key=lambda one: one.tracker_id)
    return f"there are: {named(in_order)}" if in_order else "there is none"
