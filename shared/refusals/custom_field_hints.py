"""Hints about custom fields of issues, time entries and projects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shared.metadata.confirming import some_of
from shared.notices.hints import Hint
from shared.refusals.judging import Fields, Rule, as_integer, blank, choices_of, is_date, number
from shared.refusals.known import Explanation, KnownMetadata
from shared.store.configuration.metadata import Entry

MOST_CHOICES = 20
LONGEST_NAMED = 20
BOOLEANS = ("0", "1", 0, 1, True, False)


def rule_for(top_key: str) -> Rule:
    """Return the rule for the custom fields of the object that a top-level key names."""

    def rule(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
        own = fields_of(known, top_key, as_integer(fields.get("tracker_id")))
        given = given_values(fields)
        for field in own:
            where = place(top_key, field.tracker_id)
            if not blank(given.get(field.tracker_id)):
                yield from _about_value(field, given[field.tracker_id], where)
            elif is_missing(field) or (field.tracker_id in given and field.details["is_required"]):
                yield Explanation(where, Hint.CUSTOM_FIELD_REQUIRED(name=field.name))
        strange = given.keys() - {one.tracker_id for one in own} if known.custom_fields else ()
        for field_id in sorted(strange):
            yield Explanation(place(top_key, field_id), Hint.UNKNOWN_CUSTOM_FIELD(**choices_of(own)))
        for name in _names_without_id(fields):
            yield Explanation(place(top_key, name), Hint.UNKNOWN_CUSTOM_FIELD(**choices_of(own)))

    return rule


def fields_of(known: KnownMetadata, customized_type: str, issue_type_id: int | None) -> list[Entry]:
    """Return the custom fields that an object has.

    Args:
        known: the cache.
        customized_type: issue, time_entry or project.
        issue_type_id: the type of an issue; None if the tracker chooses it, so that every field of issues counts.
    """

    def applies(field: Entry) -> bool:
        types = field.details.get("tracker_ids") or []
        return customized_type != "issue" or not types or issue_type_id is None or issue_type_id in types

    fields = [
        one for one in known.custom_fields.values() if one.details["customized_type"] == customized_type
    ]
    return sorted(filter(applies, fields), key=lambda one: one.tracker_id)


def is_missing(field: Entry) -> bool:
    """Return whether the tracker refuses an object without this field."""
    return bool(field.details["is_required"]) and field.details["default_value"] is None


def given_values(fields: Fields) -> dict[int, Any]:
    """Return the custom fields of a payload, id to value, from both forms that the tracker accepts."""
    found: dict[int, Any] = {}
    listed = fields.get("custom_fields")
    for one in listed if isinstance(listed, list) else ():
        field_id = as_integer(one.get("id")) if isinstance(one, dict) else None
        if field_id is not None:
            found[field_id] = one.get("value")
    mapped = fields.get("custom_field_values")
    for key, value in (mapped if isinstance(mapped, dict) else {}).items():
        field_id = as_integer(key)
        if field_id is not None:
            found[field_id] = value
    return found


def _names_without_id(fields: Fields) -> list[str]:
    mapped = fields.get("custom_field_values")
    return (
        [str(key)[:LONGEST_NAMED] for key in mapped if as_integer(key) is None]
        if isinstance(mapped, dict)
        else []
    )


def place(top_key: str, field_id: int | str) -> str:
    """Return the path of a custom field in a payload."""
    shape = "custom_field_values.{}" if top_key == "project" else "custom_fields[{}]"
    return f"{top_key}.{shape.format(field_id)}"


def _about_value(field: Entry, value: Any, where: str) -> Iterator[Explanation]:
    values = value if isinstance(value, list) else [value]
    choices = [str(one["value"]) for one in field.details["possible_values"]]
    kind = field.details["field_format"]
    if isinstance(value, list) and len(value) > 1 and not field.details["multiple"]:
        yield Explanation(where, Hint.CUSTOM_FIELD_TAKES_ONE_VALUE(name=field.name))
    elif kind in ("list", "enumeration") and choices:
        if any(str(one) not in choices for one in values):
            some = some_of(choices, MOST_CHOICES)
            why = Hint.CUSTOM_FIELD_NOT_A_CHOICE(field_id=field.tracker_id, name=field.name, **some)
            yield Explanation(where, why)
    elif not all(_fits(kind, one) for one in values):
        yield Explanation(where, WANTED[kind](name=field.name))


def _fits(kind: str, value: Any) -> bool:
    if kind == "int":
        return as_integer(value.strip().lstrip("+-") if isinstance(value, str) else value) is not None
    if kind == "float":
        return number(value) is not None
    if kind == "date":
        return is_date(value)
    return kind != "bool" or value in BOOLEANS


WANTED = {
    "int": Hint.CUSTOM_FIELD_TAKES_INTEGER,
    "float": Hint.CUSTOM_FIELD_TAKES_NUMBER,
    "date": Hint.CUSTOM_FIELD_TAKES_DATE,
    "bool": Hint.CUSTOM_FIELD_TAKES_BOOLEAN,
}
