"""Reads values from request bodies, as tolerant of odd types as the tracker."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from deploy.sandbox.tracker.answers import RefusedError, broken
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.releases import Release

_HOURS_AND_MINUTES = re.compile(r"^(\d+)\s*(?::|[hH])\s*(\d*)\s*m?$")
_LINE_END = re.compile(r"\r\n|\r|\n")
_MINUTES = re.compile(r"^(\d+)\s*m(?:in)?$")
_INTEGER = re.compile(r"\s*[+-]?\d+\s*\Z")
_FLOAT = re.compile(r"\s*[+-]?\d+(\.\d+)?\s*\Z")
_DECIMAL = re.compile(r"^-?\d+(?:[.,]\d+)?h?$")


def whole(value: object) -> int | None:
    """Return an id given as a number or digits; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value) if math.isfinite(value) else None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def text(value: object) -> str | None:
    """Return the value for a text column; numbers, lists and objects become JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    return json.dumps(value)


def blank(value: str | None) -> bool:
    """Return whether a text counts as missing: only whitespace."""
    return value is None or not value.strip()


def refuse_null_character(call: Call, *values: str | None) -> None:
    """Answer 500 for U+0000 if the settings say that the database cannot store it."""
    if call.tracker.settings.null_is_500 and any(value and "\x00" in value for value in values):
        raise RefusedError(broken())


def stored_lines(value: str | None) -> str | None:
    """Return a text with the line ends of stored descriptions: CR LF."""
    return None if value is None else _LINE_END.sub("\r\n", value)


def edited(call: Call, value: str | None) -> str | None:
    """Return a text as the tracker stores it: unchanged, unless it edits texts."""
    if not call.tracker.settings.edits_texts or value is None or blank(value):
        return value
    return f"<p>{value.strip()}</p>"


def hours(value: object) -> float | None:
    """Return hours from a number or an accepted notation; None if they cannot be parsed.

    Accepted: `1.5`, `1,5`, `1:30`, `1h30`, `2h`, `90m`. The result is not rounded.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    notation = str(value).strip()
    if _DECIMAL.match(notation):
        return float(notation.rstrip("h").replace(",", "."))
    minutes = _MINUTES.match(notation)
    if minutes:
        return int(minutes[1]) / 60
    found = _HOURS_AND_MINUTES.match(notation)
    return int(found[1]) + int(found[2] or 0) / 60 if found else None


def two_decimals(value: float) -> float:
    """Return hours rounded to two decimals, halves away from zero as written (0.005 -> 0.01, 2.675 -> 2.68)."""
    if not math.isfinite(value) or abs(value) > 1e12:
        return value
    steps = float(math.floor(abs(value) * 100 + 0.5))
    if (steps + 0.5) / 100 <= abs(value):
        steps += 1
    return math.copysign(steps / 100, value) if steps else 0.0


def listed_hours(value: float, release: Release) -> float:
    """Return the hours that the tracker lists for those that were sent."""
    whole_minutes = release.whole_minutes and math.isfinite(value)
    return two_decimals(_nearest(value * 60) / 60 if whole_minutes else value)


def _nearest(value: float) -> int:
    """Return the nearest whole number, halves away from zero."""
    return int(Decimal(value).to_integral_value(ROUND_HALF_UP))


def iso_date(value: object) -> str | None:
    """Return a date as YYYY-MM-DD, or None if it is not a date."""
    try:
        return date.fromisoformat(str(value).strip()[:10]).isoformat()
    except ValueError:
        return None


def custom_values(call: Call, kind: str, attributes: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the custom-field values of a body, in either notation, and their errors.

    Returns:
        The values by field id (as text), unknown ids left out; and the errors.
    """
    given: dict[int | None, Any] = {}
    pairs = attributes.get("custom_fields")
    for pair in pairs if isinstance(pairs, list) else []:
        if isinstance(pair, dict):
            given[whole(pair.get("id"))] = pair.get("value")
    values = attributes.get("custom_field_values")
    for key, value in values.items() if isinstance(values, dict) else ():
        given[whole(key)] = value
    kept: dict[str, Any] = {}
    errors = []
    for row in call.tracker.custom_fields.values():
        if row.kind != kind:
            continue
        value = text(given.get(row.id))
        if row.id in given:
            kept[str(row.id)] = value
        if row.id in call.tracker.settings.required_custom_fields and blank(value):
            errors.append(call.fault(row.name, "blank"))
        elif row.possible_values and value and value not in row.possible_values:
            errors.append(call.fault(row.name, "inclusion"))
        elif value and (found := _format_fault(row.field_format, value)):
            errors.append(call.fault(row.name, found))
    refuse_null_character(call, *kept.values())
    return kept, errors


def _format_fault(field_format: str, value: str) -> str | None:
    """Return the error in the value of a custom field by its format, or None; booleans may be any text."""
    if field_format == "int" and not _INTEGER.match(value):
        return "not_a_number"
    if field_format == "float" and not _FLOAT.match(value):
        return "invalid"
    if field_format == "date" and iso_date(value) != value:
        return "not_a_date"
    return None
