"""What the rules of hints share: reading a payload's values, and asking the cache about an id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from shared.metadata.confirming import some_of
from shared.refusals.known import Entries, Explanation, Known
from shared.store.configuration.metadata import Entry
from shared.values.ids import read_id

Fields = Mapping[str, Any]
Rule = Callable[[Fields, Known], Iterator[Explanation]]
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def whole(value: Any) -> int | None:
    """Return an id, also one written as text; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return read_id(value.strip()) if isinstance(value, str) else None


def number(value: Any) -> float | None:
    """Return a number, also one written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def blank(value: Any) -> bool:
    """Return whether the tracker treats a value as empty."""
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def is_date(value: Any) -> bool:
    """Return whether a value is a day as the tracker takes it."""
    if not isinstance(value, str) or not DAY.fullmatch(value.strip()):
        return False
    try:
        return bool(date.fromisoformat(value.strip()))
    except ValueError:
        return False


def unknown(fields: Fields, name: str, choices: Entries) -> bool:
    """Return whether a field is sent and is none of the choices; an empty cache denies nothing."""
    return bool(choices) and not blank(fields.get(name)) and whole(fields[name]) not in choices


def choices_of(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the parameters `choices`, the first ten, and `more`, how many others there are."""
    return some_of([str(one) for one in sorted(entries, key=lambda one: one.tracker_id)])


def names_of(named: Mapping[int, str]) -> dict[str, Any]:
    """Return the parameters `choices` and `more` for ids with names."""
    return some_of([f"{one} ({named[one]})" for one in sorted(named)])
