"""The common parts of input validation: the types of ids, and faults that state plainly what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, ValidationError

from shared.notices.invalid import Faults, Invalid
from shared.notices.notice import Notice
from shared.values.ids import LARGEST

Id = Annotated[int, Field(ge=1, le=LARGEST)]
StrictId = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]
"""An id that must be a number in JSON, not a text."""
OF_A_KEY = "[key]"
CHOICE = re.compile(r"'([^']*)'")
CODES: Mapping[str, tuple[Invalid, Mapping[str, str]]] = {
    "missing": (Invalid.FIELD_REQUIRED, {}),
    "extra_forbidden": (Invalid.FIELD_UNKNOWN, {}),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), (Invalid.WHOLE_NUMBER_EXPECTED, {})),
    "int_parsing_size": (Invalid.SMALLER_NUMBER_EXPECTED, {}),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), (Invalid.NUMBER_EXPECTED, {})),
    "greater_than_equal": (Invalid.NUMBER_TOO_SMALL, {"least": "ge"}),
    "greater_than": (Invalid.NUMBER_NOT_ABOVE, {"limit": "gt"}),
    "less_than_equal": (Invalid.NUMBER_TOO_LARGE, {"most": "le"}),
    "less_than": (Invalid.NUMBER_NOT_BELOW, {"limit": "lt"}),
    **dict.fromkeys(("bool_type", "bool_parsing"), (Invalid.TRUTH_EXPECTED, {})),
    **dict.fromkeys(("string_type", "string_unicode"), (Invalid.TEXT_EXPECTED, {})),
    "string_too_short": (Invalid.TEXT_TOO_SHORT, {"least": "min_length"}),
    "string_too_long": (Invalid.TEXT_TOO_LONG, {"most": "max_length"}),
    "string_pattern_mismatch": (Invalid.TEXT_OF_FORM, {"form": "pattern"}),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"), (Invalid.OBJECT_EXPECTED, {})
    ),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), (Invalid.LIST_EXPECTED, {})),
    "too_short": (Invalid.LIST_TOO_SHORT, {"least": "min_length"}),
    "too_long": (Invalid.LIST_TOO_LONG, {"most": "max_length"}),
    **dict.fromkeys(("literal_error", "enum"), (Invalid.CHOICE_EXPECTED, {"choices": "expected"})),
    "json_invalid": (Invalid.JSON_FAULTY, {"error": "error"}),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        (Invalid.TIME_EXPECTED, {}),
    ),
    "timezone_aware": (Invalid.TIME_WITHOUT_ZONE, {}),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        (Invalid.DAY_EXPECTED, {}),
    ),
    **dict.fromkeys(("ip_v4_network", "ip_v6_network"), (Invalid.NETWORK_EXPECTED, {})),
    **dict.fromkeys(("value_error", "assertion_error"), (Invalid.VALUE_REFUSED, {})),
}
"""Pydantic's error types to our codes, with the names of our parameters and of pydantic's context values."""


class Unfit(ValueError):
    """The error that our validators raise.

    Args:
        notice: what is wrong with the value.
    """

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        super().__init__(str(notice.code))


def model_faults(error: ValidationError) -> Faults:
    """Return path and expectation of each fault, but never the value, which may be a secret."""
    return [(path_of(fault["loc"]), expected(fault)) for fault in error.errors(include_url=False)]


def path_of(location: tuple[int | str, ...]) -> str:
    """Return the path of a fault, such as `ticket.id` or `tags.0`."""
    return ".".join(str(part) for part in location if part != OF_A_KEY)


def expected(fault: Mapping[str, Any]) -> Notice:
    """Return what was expected, from pydantic's description of a fault."""
    kind, told = fault["type"], fault.get("ctx", {})
    if isinstance(told.get("error"), Unfit):
        problem: Notice = told["error"].notice
    elif kind in CODES:
        code, names = CODES[kind]
        problem = code(**{name: _plain(theirs, told[theirs]) for name, theirs in names.items()})
    else:
        problem = Invalid.NOT_AS_EXPECTED(type=kind)
    return Invalid.KEY_NOT_AS_EXPECTED(problem=problem) if OF_A_KEY in fault["loc"] else problem


def is_in_seconds(digits: str) -> bool:
    """Return whether a number looks like a Unix time in seconds, from 2001 to 2286."""
    return re.fullmatch(r"[0-9]{10}", digits) is not None


def is_in_milliseconds(digits: str) -> bool:
    """Return whether a number looks like a Unix time in milliseconds, from 2001 to 2286."""
    return re.fullmatch(r"[0-9]{13}", digits) is not None


def parts_of(address: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it or its port cannot be parsed.

    The errors of `urlsplit` and `port` are not passed on: they quote parts of the URL, such as a password.
    """
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _plain(name: str, value: object) -> object:
    if name == "expected":  # a phrase in English: 'console' or 'json'
        return CHOICE.findall(str(value))
    return value if isinstance(value, (int, float)) else str(value)
