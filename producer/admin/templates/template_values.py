"""Finds payload values that the tracker would refuse, in closed lists and custom fields, by the cached metadata."""

from __future__ import annotations

from typing import Any

from producer.admin.records.transaction import Transaction
from shared.errors import TemplateError
from shared.notices.hints import Hint
from shared.refusals.hints import hints
from shared.refusals.judging import as_integer
from shared.refusals.known import Explanation, known_of
from shared.templating.operations import Operation
from shared.templating.reader import Array, Node, Object, Scalar, Text, read

OF_A_VALUE = (
    Hint.UNKNOWN_PRIORITY,
    Hint.UNKNOWN_ISSUE_TYPE,
    Hint.UNKNOWN_STATUS,
    Hint.UNKNOWN_WATCHERS,
    Hint.UNKNOWN_ASSIGNEE,
    Hint.UNKNOWN_CATEGORY,
    Hint.NO_USABLE_ROLE,
    Hint.ACTIVITY_NOT_ENABLED,
    Hint.CUSTOM_FIELD_NOT_A_CHOICE,
    Hint.CUSTOM_FIELD_TAKES_ONE_VALUE,
    Hint.CUSTOM_FIELD_TAKES_INTEGER,
    Hint.CUSTOM_FIELD_TAKES_NUMBER,
    Hint.CUSTOM_FIELD_TAKES_DATE,
    Hint.CUSTOM_FIELD_TAKES_BOOLEAN,
)
"""Faults of values that are present; what a payload lacks may be filled in when it is rendered."""
TAGS = object()
"""Stand-in for a text with tags, which a rendering replaces."""


def unfit_values(tx: Transaction, operation: Operation, payload: dict[str, Any]) -> list[Explanation]:
    """Return the values of a payload that the tracker would refuse; none if the cache is empty."""
    fields = payload.get(operation.top_key)
    project_id = as_integer(fields.get("project_id")) if isinstance(fields, dict) else None
    found = hints(operation, payload, known_of(tx, project_id))
    return [one for one in found if one.why.code in OF_A_VALUE]


def unfit_constant(tx: Transaction, operation: Operation, body: str) -> TemplateError | None:
    """Return the fault of a value that is the same in every rendering, or None.

    Args:
        tx: an open transaction.
        operation: what the template is for.
        body: the template, which must compile.
    """
    source, document = read(body)
    constants = _constant(document)
    if not isinstance(document, Object) or not isinstance(constants, dict):
        return None
    inner = document.members.get(operation.top_key)
    for one in unfit_values(tx, operation, constants):
        if one.why.code == Hint.NO_USABLE_ROLE and not _is_constant(inner, "role_ids"):
            continue
        name = one.field.partition(".")[2].split("[")[0].split(".")[0]
        at = inner.members[name].at if isinstance(inner, Object) and name in inner.members else document.at
        return source.error(one.notice, at)
    return None


def _is_constant(inner: Node | None, name: str) -> bool:
    """Return whether a list in a template has no tags; otherwise a rendering may add what is missing."""
    found = inner.members.get(name) if isinstance(inner, Object) else None
    return isinstance(found, Array) and all(_constant(one) is not TAGS for one in found.items)


def _constant(node: Node) -> Any:
    """Return the part of a template that is the same in every rendering."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Text):
        return TAGS if "{{" in node.text else node.text
    if isinstance(node, Array):
        return [one for one in map(_constant, node.items) if one is not TAGS]
    members = {name: _constant(member) for name, member in node.members.items()}
    return {name: value for name, value in members.items() if value is not TAGS}
