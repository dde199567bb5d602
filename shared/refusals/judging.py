"""Helpers of the hints' rules: they read values of a payload, and look up ids in the cache."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from shared.metadata.confirming import some_of
from shared.refusals.known import Entries, Explanation, KnownMetadata
from shared.store.configuration.metadata import Entry
from shared.values.ids import read_id

Fields = Mapping[str, Any]
Rule = Callable[[Fields, KnownMetadata], Iterator[Explanation]]
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def as_integer(value: Any) -> int | None:
    """Return an integer, also if it is written as text, or None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return read_id(value.strip()) if isinstance(value, str) else None


def number(value: Any) -> float | None:
    """Return a number, also if it is written as text, or None for anything else."""
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
    """Return whether the tracker accepts a value as a day."""
    if not isinstance(value, str) or not DAY.fullmatch(value.strip()):
        return False
    try:
        return bool(date.fromisoformat(value.strip()))
    except ValueError:
        return False


def unknown(fields: Fields, name: str, choices: Entries) -> bool:
    """Return whether a field is sent and is not one of the choices; always False if the cache is empty."""
    return bool(choices) and not blank(fields.get(name)) and as_integer(fields[name]) not in choices


def choices_of(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the notice parameters `choices` (the first ten) and `more` (the number of the others)."""
    return some_of([str(one) for one in sorted(entries, key=lambda one: one.tracker_id)])


def names_of(named: Mapping[int, str]) -> dict[str, Any]:
    """Return the notice parameters `choices` and `more` for ids with names."""
    return some_of([f"{one} ({named[one]})" for one in sorted(named)])
