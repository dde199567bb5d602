"""What every validated input has in common: the type of ids, and what a fault says: plainly, what was expected."""

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
"""An id that JSON gives as a number, not as a text."""
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
"""What a kind of fault is here, and as which parameter what pydantic tells of it is kept."""


class Unfit(ValueError):
    """What a validator of ours raises.

    Args:
        notice: what is wrong with the value.
    """

    def __init__(self, notice: Notice) -> None:
        self.notice = notice
        super().__init__(str(notice.code))


def model_faults(error: ValidationError) -> Faults:
    """Return (path, what was expected) for each fault; never the value, which may be a secret."""
    return [(path_of(fault["loc"]), expected(fault)) for fault in error.errors(include_url=False)]


def path_of(location: tuple[int | str, ...]) -> str:
    """Return where a fault is: `ticket.id`, `tags.0`."""
    return ".".join(str(part) for part in location if part != OF_A_KEY)


def expected(fault: Mapping[str, Any]) -> Notice:
    """Return what was expected, of a fault as pydantic describes it."""
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
    """Return whether a number counts the seconds since 1970, of a moment from 2001 to 2286."""
    return re.fullmatch(r"[0-9]{10}", digits) is not None


def is_in_milliseconds(digits: str) -> bool:
    """Return whether a number counts the milliseconds since 1970, of a moment from 2001 to 2286."""
    return re.fullmatch(r"[0-9]{13}", digits) is not None


def parts_of(address: str) -> SplitResult | None:
    """Return the parts of an address; None if it has none that can be read, of which its port may be one.

    What `urlsplit` and its port say of it quotes pieces of it, which may be a password's.
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
