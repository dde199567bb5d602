"""Checks a rendered payload against its operation: fills in missing fields, and rejects values that cannot be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from shared.errors import TemplateError
from shared.events.text import cut, hours, one_line
from shared.notices.notice import Notice
from shared.notices.templates import JsonType, TemplateProblem, TemplateWarning
from shared.templating.operations import FIELDS, UPDATES, Field, Operation
from shared.templating.reader import Node, Object, Scalar, Source, Text
from shared.templating.values import (
    Json,
    UnlocatedError,
    as_number,
    follow,
    is_empty,
    kind_of,
    number,
    to_text,
)

_WANTED: Mapping[str, Notice] = {
    "integer": JsonType.AN_INTEGER(),
    "number": JsonType.A_NUMBER(),
    "text": JsonType.A_TEXT(),
    "list": JsonType.A_LIST(),
    "map": JsonType.AN_OBJECT(),
    "boolean": JsonType.TRUE_OR_FALSE(),
    "date": JsonType.A_DATE(example="2026-11-21"),
}
_BOOLEANS = ("true", "false", "1", "0")


CUSTOM_FIELDS = (
    Field("custom_fields", "list", "By id and value"),
    Field("custom_field_values", "map", "By id"),
)
"""Both forms of custom fields that the tracker accepts for any object; it answers 500 to a value of another type."""
FOR_A_PERSON = (Operation.TIME_ENTRY_CREATE, Operation.MEMBERSHIP_CREATE)


def check_shape(operation: Operation, source: Source, document: Node) -> None:
    """Check, before anything is rendered, that the body is an object with the operation's top key.

    Raises:
        TemplateError: if it is something else.
    """
    wanted = TemplateProblem.TOP_KEY_MISSING(name=operation.top_key)
    if not isinstance(document, Object) or operation.top_key not in document.members:
        raise source.error(wanted, document.at)
    inner = document.members[operation.top_key]
    if not isinstance(inner, Object) and not (isinstance(inner, Text) and "{{" in inner.text):
        raise source.error(TemplateProblem.TOP_KEY_NO_OBJECT(name=operation.top_key), inner.at)


def check_constants(operation: Operation, source: Source, document: Node) -> None:
    """Check the values that are the same in every rendering, so that faults are reported on saving the template.

    Raises:
        TemplateError: if the tracker would refuse or misinterpret one.
    """
    inner = document.members[operation.top_key] if isinstance(document, Object) else document
    checks = Checks(operation, source, document, {})
    for field in FIELDS[operation]:
        node = inner.members.get(field.name) if isinstance(inner, Object) else None
        if isinstance(node, Scalar) and node.value is not None:
            checks.typed(field, node.value)
        elif isinstance(node, Text) and "{{" not in node.text:
            checks.typed(field, node.text)


class Checks:
    """Completes one payload; afterwards, `filled_in` and `warnings` show what was done.

    Args:
        operation: the operation of the payload.
        source: the template.
        document: its JSON, for the positions of errors.
        context: the data that it was rendered from.
    """

    def __init__(
        self, operation: Operation, source: Source, document: Node, context: Mapping[str, Any]
    ) -> None:
        self._operation, self._source, self._document, self._context = operation, source, document, context
        self.filled_in: list[str] = []
        self.warnings: list[Notice] = []

    def complete(self, payload: Json) -> dict[str, Any]:
        """Return the payload with its required fields, and with the types that the tracker accepts.

        Raises:
            TemplateError: if a value cannot be sent, or names another issue, person or project than the context.
        """
        top = self._operation.top_key
        body = payload.get(top) if isinstance(payload, dict) else None
        if not isinstance(body, dict):
            raise self._error(TemplateProblem.TOP_KEY_NO_OBJECT(name=top), None)
        self.warnings += [
            TemplateWarning.STANDS_BESIDE(name=name, top=top) for name in payload if name != top
        ]
        for field in (*FIELDS[self._operation], *CUSTOM_FIELDS):
            if field.name in body:
                body[field.name] = self.typed(field, body[field.name])
            if field.required and is_empty(body.get(field.name)):
                self._fill_in(field, body)
        self._compare(body)
        return {top: body}  # the tracker would read other top-level keys, too: an API key, time spent

    def _fill_in(self, field: Field, body: dict[str, Any]) -> None:
        value = _KNOWN[field.name](self._known) if field.filled_in else None
        if value is None:
            self.warnings.append(
                TemplateWarning.FIELD_NOT_SENT(field=f"{self._operation.top_key}.{field.name}")
            )
        else:
            body[field.name] = self.typed(field, value)
            self.filled_in.append(f"{self._operation.top_key}.{field.name}")

    def _compare(self, body: dict[str, Any]) -> None:
        issue_id = self._known("issue", "id")
        if self._operation is Operation.TIME_ENTRY_CREATE and body.get("issue_id", issue_id) != issue_id:
            raise self._error(TemplateProblem.ISSUE_IS_ANOTHER(), "issue_id")
        user_id = self._known("person", "tracker_user_id")
        if self._operation in FOR_A_PERSON and user_id not in (None, body.get("user_id", user_id)):
            raise self._error(TemplateProblem.PERSON_IS_ANOTHER(), "user_id")
        project_id = self._known("project", "tracker_project_id")
        if self._operation in UPDATES and body.get("project_id", project_id) != project_id:
            raise self._error(TemplateProblem.PROJECT_IS_ANOTHER(), "project_id")
        if self._operation is Operation.ISSUE_CREATE and body.get("project_id") != project_id:
            self.warnings.append(TemplateWarning.PROJECT_NOT_LINKED())

    def typed(self, field: Field, value: Json) -> Json:
        """Return a field's value in the type that the tracker accepts.

        Raises:
            TemplateError: if the value does not fit the field.
        """
        kind = field.type
        if kind in ("integer", "number"):
            return self._in_range(field, self._number(field, value))
        if (kind == "boolean" and to_text(value) not in _BOOLEANS) or (
            kind == "date" and not _is_date(value)
        ):
            raise self._unfit(field, value)
        if (kind == "list" and not isinstance(value, list)) or (
            kind == "map" and not isinstance(value, dict)
        ):
            raise self._unfit(field, value)
        if field.name == "custom_fields" and not all(isinstance(one, dict) for one in value):
            raise self._error(TemplateProblem.CUSTOM_FIELDS_UNFIT(), field.name)
        if kind != "text":
            return value
        if isinstance(value, (list, dict)):
            raise self._unfit(field, value)
        text = to_text(value)
        if field.longest and len(text) > field.longest:
            self.warnings.append(
                TemplateWarning.FIELD_WAS_CUT(
                    field=f"{self._operation.top_key}.{field.name}", most=field.longest
                )
            )
            return cut(text, field.longest, "" if field.name == "subject" else "…")
        return text if text.strip() or field.name != "subject" else ""

    def _number(self, field: Field, value: Json) -> Json:
        try:
            given = as_number(value)
            if field.type == "number" or isinstance(given, int):
                return given
            if given.is_integer():
                return number(int(given))
        except UnlocatedError:
            raise self._unfit(field, value) from None
        raise self._unfit(field, value)

    def _in_range(self, field: Field, value: Json) -> Json:
        if field.least is not None and value < field.least:
            raise self._error(
                TemplateProblem.FIELD_TOO_SMALL(field=field.name, least=field.least), field.name
            )
        if field.most is not None and value > field.most:
            raise self._error(TemplateProblem.FIELD_TOO_LARGE(field=field.name, most=field.most), field.name)
        return value

    def _unfit(self, field: Field, value: Json) -> TemplateError:
        wanted = _WANTED[field.type]
        return self._error(
            TemplateProblem.FIELD_IS_UNFIT(field=field.name, wanted=wanted, got=kind_of(value)), field.name
        )

    def _known(self, *segments: str) -> Json:
        return follow(self._context, segments)[1]

    def _error(self, problem: Notice, name: str | None) -> TemplateError:
        node = self._document
        for key in (self._operation.top_key, name):
            if key and isinstance(node, Object):
                node = node.members.get(key, node)
        return self._source.error(problem, node.at)


def _is_date(value: Json) -> bool:
    """Return whether the tracker accepts a value as a day; an empty text removes a date."""
    if value == "":
        return True
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


Known = Callable[..., Json]


def _subject(known: Known) -> str | None:
    title, ticket_id = known("ticket", "title"), known("ticket", "id")
    subject = one_line(title, 255) if isinstance(title, str) else ""
    return subject or (f"Ticket #{to_text(ticket_id)}" if ticket_id is not None else None)


def _hours(known: Known) -> float | None:
    seconds = known("task", "actiontime")
    return hours(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else None


def _roles(known: Known) -> list[Json] | None:
    role_id = known("config", "default_role_id")
    return None if role_id is None else [role_id]


_KNOWN: dict[str, Callable[[Known], Json]] = {
    "project_id": lambda known: known("project", "tracker_project_id"),
    "subject": _subject,
    "issue_id": lambda known: known("issue", "id"),
    "hours": _hours,
    "user_id": lambda known: known("person", "tracker_user_id"),
    "role_ids": _roles,
}
