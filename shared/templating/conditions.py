"""Conditions, and what counts as true."""

from __future__ import annotations

from shared.codes.templates import Flaw
from shared.templating.functions import Function, Parameter
from shared.templating.values import Fault, Json, as_number, to_text

_OTHER = Parameter("other")
_MORE = Parameter("other", repeated=True)


def is_true(value: Json) -> bool:
    """Tell whether a condition holds: null, false, 0 and empty texts, lists and objects are false."""
    return bool(value)


def equal(value: Json, other: Json) -> bool:
    """Tell whether two values are the same; a number equals its text."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, str) and isinstance(other, (int, float)):
        return value == to_text(other)
    if isinstance(other, str) and isinstance(value, (int, float)):
        return other == to_text(value)
    return bool(value == other)


def _greater(value: Json, other: Json) -> bool:
    if value is None or other is None:
        return False
    if isinstance(value, (list, dict, bool)) or isinstance(other, (list, dict, bool)):
        raise Fault(Flaw.NUMBERS_ARE_COMPARED())
    return as_number(value) > as_number(other)


CONDITIONS: tuple[Function, ...] = (
    Function("eq", equal, (_OTHER,), "the same; a number equals its text", "{{#if (eq ticket.status 5)}}", True),
    Function("ne", lambda value, other: not equal(value, other), (_OTHER,), "not the same",
             "{{#if (ne ticket.entity_id 0)}}", True),
    Function("gt", _greater, (_OTHER,), "a greater number; null is never greater",
             "{{#if (gt task.actiontime 3600)}}", True),
    Function("and", lambda *values: all(map(is_true, values)), (_MORE,), "all of them hold",
             "{{#if (and task.content (eq task.state 2))}}", True),
    Function("or", lambda *values: any(map(is_true, values)), (_MORE,), "one of them holds",
             "{{#if (or task.content ticket.content)}}", True),
    Function("not", lambda value: not is_true(value), (), "does not hold", "{{#if (not ticket.project_id)}}", True),
)  # fmt: skip
