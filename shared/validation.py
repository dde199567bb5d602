"""What every validated input has in common: the type of ids, and what a fault says: plainly, what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from shared.ids import LARGEST

Id = Annotated[int, Field(ge=1, le=LARGEST)]
OF_A_KEY = "[key]"
WORDS: Mapping[str, str] = {
    "missing": "required",
    "extra_forbidden": "there is no such field",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "expected a whole number"),
    "int_parsing_size": "expected a smaller number",
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "expected a number"),
    "greater_than_equal": "expected {ge} or more",
    "greater_than": "expected more than {gt}",
    "less_than_equal": "expected {le} or less",
    "less_than": "expected less than {lt}",
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    **dict.fromkeys(("string_type", "string_unicode"), "expected text"),
    "string_too_short": "too short: {min_length} is the least number of characters",
    "string_too_long": "too long: {max_length} is the largest number of characters",
    "string_pattern_mismatch": "expected text of the form {pattern}",
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"), "expected an object"
    ),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), "expected a list"),
    "too_short": "too few: {min_length} is the least number",
    "too_long": "too many: {max_length} is the largest number",
    **dict.fromkeys(("literal_error", "enum"), "expected {expected}"),
    "json_invalid": "not JSON: {error}",
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        "expected a time such as 2026-11-21T09:30:00Z",
    ),
    "timezone_aware": "expected a time with its zone, such as 2026-11-21T09:30:00Z",
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "expected a day such as 2026-11-21",
    ),
    **dict.fromkeys(("ip_v4_network", "ip_v6_network"), "expected a network such as 10.0.0.0/8"),
    **dict.fromkeys(("value_error", "assertion_error"), "{error}"),
}
"""What is said for a kind of fault, with what pydantic tells of it."""


def model_faults(error: ValidationError) -> list[tuple[str, str]]:
    """Return (path, what was expected) for each fault; never the value, which may be a secret."""
    return [(path_of(fault["loc"]), in_words(fault)) for fault in error.errors(include_url=False)]


def path_of(location: tuple[int | str, ...]) -> str:
    """Return where a fault is: `ticket.id`, `tags.0`."""
    return ".".join(str(part) for part in location if part != OF_A_KEY)


def in_words(fault: Mapping[str, Any]) -> str:
    """Return what was expected, of a fault as pydantic describes it."""
    words = WORDS.get(fault["type"])
    told = words.format(**fault.get("ctx", {})) if words else f"not as expected ({fault['type']})"
    return f"{told} before the colon" if OF_A_KEY in fault["loc"] else told
