"""Plain JSON data, the only data that templates use: limits, conversions, and the pruning of nulls."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from shared.notices.notice import Notice
from shared.notices.templates import JsonType, TemplateProblem
from shared.values.characters import NOT_TEMPLATE_TEXT
from shared.values.ids import LARGEST

BODY_BYTES = 64 * 1024
JSON_DEPTH = 20
TAGS = 100
FILTERS_PER_TAG = 6
DEPTH = 4
"""The maximum nesting of blocks, and of parentheses."""
ITEMS_PER_EACH = 200
OUTPUT_BYTES = 1024 * 1024
SECONDS = 0.5


Json = Any
"""None, bool, int, float, str, list and dict with text keys, as `json.loads` returns them."""

NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?")


class UnlocatedError(Exception):
    """A fault in a template, without its position; the caller knows the position and raises a TemplateError.

    Args:
        notice: the fault; it never quotes a value, which may be a ticket's.
    """

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        super().__init__(str(notice.code))


def plain(value: object, depth: int = 0) -> Json:
    """Return a copy of a value of the context, if it is plain JSON data.

    Raises:
        UnlocatedError: if it is something else, or larger or deeper than JSON data of the help desk can be.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, str) and kind is str:
        if len(value) > OUTPUT_BYTES:
            raise UnlocatedError(TemplateProblem.TEXT_TOO_LARGE())
        return value
    if kind is int or kind is float:
        return number(value)
    if depth >= JSON_DEPTH:
        raise UnlocatedError(TemplateProblem.DATA_TOO_DEEP(most=JSON_DEPTH))
    if isinstance(value, list) and kind is list:
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict) and kind is dict and all(type(key) is str for key in value):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    raise UnlocatedError(TemplateProblem.DATA_NOT_PLAIN())


def number(value: Any) -> Json:
    """Return a number, if JSON and the tracker can represent it.

    Raises:
        UnlocatedError: if it is infinite, NaN, or beyond 64 bits.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise UnlocatedError(TemplateProblem.NUMBER_NOT_FINITE())
    if isinstance(value, int) and abs(value) > LARGEST:
        raise UnlocatedError(TemplateProblem.INTEGER_TOO_LARGE())
    return value


def follow(value: Json, segments: tuple[str, ...]) -> tuple[bool, Json]:
    """Follow a path, which consists of keys of objects and indices of lists only.

    Returns:
        Whether the path exists (a path through a null always does), and the value.
    """
    for segment in segments:
        if type(value) is dict:
            if segment not in value:
                return False, None
            value = value[segment]
        elif type(value) is list and segment.isascii() and segment.isdigit() and len(segment) < 7:
            if int(segment) >= len(value):
                return False, None
            value = value[int(segment)]
        else:
            return value is None, None
    return True, plain(value)


_JSON_TYPES: dict[type, JsonType] = {
    bool: JsonType.A_BOOLEAN,
    int: JsonType.A_NUMBER,
    float: JsonType.A_NUMBER,
    str: JsonType.A_TEXT,
    list: JsonType.A_LIST,
    dict: JsonType.AN_OBJECT,
}


def is_empty(value: Json) -> bool:
    """Return whether a value is null, or an empty text, list or object; 0 and false are not empty."""
    return value is None or value == "" or value == [] or value == {}


def to_text(value: Json) -> str:
    """Return a value as it appears inside a text: null as an empty text, lists with commas, objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, list):
        return ", ".join(to_text(item) for item in value)
    return to_json(value) if isinstance(value, dict) else str(value)


def to_json(value: Json) -> str:
    """Return a value as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def as_text(value: Json) -> str:
    """Return a text, or a number or boolean as text.

    Raises:
        UnlocatedError: if it is a list, an object or null.
    """
    if isinstance(value, (list, dict)) or value is None:
        raise UnlocatedError(TemplateProblem.TEXT_IS_NEEDED(got=kind_of(value)))
    return to_text(value)


def as_number(value: Json) -> int | float:
    """Return a number, also if it is written as text.

    Raises:
        UnlocatedError: if it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UnlocatedError(TemplateProblem.NUMBER_IS_NEEDED(got=kind_of(value)))
    if not isinstance(value, str):
        return value
    written = value.strip()
    if not NUMBER.fullmatch(written):
        raise UnlocatedError(TemplateProblem.TEXT_IS_NO_NUMBER())
    parsed: int | float = number(float(written) if "." in written else int(written))
    return parsed


def as_integer(value: Json) -> int:
    """Return a number as an integer, also if it is written as text; decimals are dropped.

    Raises:
        UnlocatedError: if it is not a number, or beyond 64 bits.
    """
    parsed: int = number(int(as_number(value)))
    return parsed


def as_decimal(value: Json) -> Decimal:
    """Return a number as the decimal that people write: 1.005 is exactly 1.005."""
    return Decimal(repr(as_number(value)))


def as_any(value: Json) -> Json:
    """Return a value as it is."""
    return value


def kind_of(value: Json) -> Notice:
    """Return the JSON type of a value, as a notice."""
    return _JSON_TYPES.get(type(value), JsonType.JSON_NULL)()


def size(value: Json) -> int:
    """Return the approximate size of a value as JSON, in bytes."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list):
        return 2 + sum(size(item) + 1 for item in value)
    if isinstance(value, dict):
        return 2 + sum(size(key) + size(item) + 4 for key, item in value.items())
    return 8


def pruned(value: Json, name: str, report: Callable[[str], None]) -> Json:
    """Return a value without its nulls (SPEC 9.1), and its texts without characters that no tracker accepts.

    Args:
        value: not null itself.
        name: its path in the payload, such as `issue.custom_fields`.
        report: receives the path of each member or item that is left out.
    """
    if isinstance(value, str):
        return NOT_TEMPLATE_TEXT.sub("", value)
    if isinstance(value, dict):
        members = {}
        for key, item in value.items():
            path = f"{name}.{key}" if name else key
            if item is None:
                report(path)
            else:
                members[NOT_TEMPLATE_TEXT.sub("", key)] = pruned(item, path, report)
        return members
    if isinstance(value, list):
        items = []
        for index, item in enumerate(value):
            path = f"{name}.{index}"
            if item is None:
                report(path)
            else:
                items.append(pruned(item, path, report))
        return items
    return value
