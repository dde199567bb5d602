"""The operations that accept templates, and the fields that each of them accepts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from shared.events.payloads import LONGEST_COMMENT, LONGEST_SUBJECT

CustomizedType = Literal["issue", "time_entry", "project"]


class Operation(StrEnum):
    """A request to Redmine whose body can come from a template."""

    ISSUE_CREATE = "issue.create"
    ISSUE_UPDATE_STATUS = "issue.update_status"
    TIME_ENTRY_CREATE = "time_entry.create"
    NOTE_CREATE = "note.create"
    PROJECT_CREATE = "project.create"
    MEMBERSHIP_CREATE = "membership.create"

    @property
    def top_key(self) -> str:
        """The only top-level key of the request body (SPEC 4.2)."""
        return "issue" if self in UPDATES else self.value.partition(".")[0]

    @property
    def from_form(self) -> bool:
        """Whether it starts from a form; the others start from a ticket's event."""
        return self is Operation.PROJECT_CREATE


UPDATES = (Operation.ISSUE_UPDATE_STATUS, Operation.NOTE_CREATE)
"""Updates of an existing issue; they accept no custom fields."""
OPERATIONS: tuple[Operation, ...] = tuple(Operation)


@dataclass(frozen=True, slots=True)
class CustomField:
    """A custom field of the tracker, as the metadata cache stores it.

    Attributes:
        id: the tracker's id of the field.
        name: its name, for people.
        customized_type: the type of object that it belongs to.
        field_format: the tracker's type: string, text, int, float, bool, date, list, user, version, …
        required: whether a creation without it is refused (SPEC section 7).
        possible_values: the values that a list field accepts.
        multiple: whether it accepts a list of values.
        default_value: the tracker's own default, or None.
    """

    id: int
    name: str
    customized_type: CustomizedType
    field_format: str = "string"
    required: bool = False
    possible_values: tuple[str, ...] = ()
    multiple: bool = False
    default_value: str | None = None

    def belongs_to(self, operation: Operation) -> bool:
        """Return whether the operation's object has this field."""
        creates = operation not in UPDATES
        return creates and self.customized_type == operation.top_key


FieldType = Literal["text", "integer", "number", "boolean", "date", "list", "map"]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request body.

    Attributes:
        name: its key below the operation's top key; `custom_fields[7]` is the entry with id 7 of that list.
        type: the type that Redmine accepts.
        description: its meaning.
        required: whether Redmine refuses the call without it.
        filled_in: whether deskbridge adds it if a template omits it.
        longest: maximum number of characters of a text.
        possible_values: the values that it accepts, if there is a fixed list.
        least, most: the range of a number.
    """

    name: str
    type: FieldType
    description: str
    required: bool = False
    filled_in: bool = False
    longest: int | None = None
    possible_values: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


_NOTES = Field("notes", "text", "Comment on the issue")
FIELDS: dict[Operation, tuple[Field, ...]] = {
    Operation.ISSUE_CREATE: (
        Field("project_id", "integer", "Redmine project", required=True, filled_in=True),
        Field("subject", "text", "Subject", required=True, filled_in=True, longest=LONGEST_SUBJECT),
        Field("description", "text", "Description"),
        Field("tracker_id", "integer", "Issue type"),
        Field("status_id", "integer", "Status"),
        Field("priority_id", "integer", "Priority"),
        Field("category_id", "integer", "Category"),
        Field("assigned_to_id", "integer", "Assignee"),
        Field("watcher_user_ids", "list", "Watchers"),
        Field("parent_issue_id", "integer", "Parent issue"),
        Field("fixed_version_id", "integer", "Target version"),
        Field("start_date", "date", "Start date"),
        Field("due_date", "date", "Due date"),
        Field("estimated_hours", "number", "Estimated time", least=0),
        Field("done_ratio", "integer", "Percent done", least=0, most=100),
        Field("is_private", "boolean", "Private"),
        Field("custom_fields", "list", "Custom fields, as objects with id and value"),
    ),
    Operation.ISSUE_UPDATE_STATUS: (
        Field("status_id", "integer", "Status", required=True),
        Field("done_ratio", "integer", "Percent done", least=0, most=100),
        _NOTES,
        Field("private_notes", "boolean", "Whether the comment is private"),
    ),
    Operation.TIME_ENTRY_CREATE: (
        Field("issue_id", "integer", "Issue; only the ticket's own", required=True, filled_in=True),
        Field("hours", "number", "Decimal hours", required=True, filled_in=True, least=0),
        Field("comments", "text", "Comment; Redmine may require one", longest=LONGEST_COMMENT),
        Field("activity_id", "integer", "Activity; it must be enabled in the project"),
        Field("spent_on", "date", "Day; today where it is left out"),
        Field("user_id", "integer", "Redmine user; only the user of the membership"),
        Field("custom_fields", "list", "Custom fields, as objects with id and value"),
    ),
    Operation.NOTE_CREATE: (
        Field("notes", "text", "Text of the note", required=True),
        Field("private_notes", "boolean", "Whether the note is private; of a private follow-up always"),
    ),
    Operation.PROJECT_CREATE: (
        Field("name", "text", "Name", required=True, longest=255),
        Field("identifier", "text", "Lowercase letters, digits and dashes", required=True),
        Field("description", "text", "Description"),
        Field("is_public", "boolean", "Whether the project is public"),
        Field("parent_id", "integer", "Parent project"),
        Field("enabled_module_names", "list", "Modules"),
        Field("inherit_members", "boolean", "Whether the parent's members are members"),
        Field("custom_field_values", "map", "Custom fields, id to value"),
    ),
    Operation.MEMBERSHIP_CREATE: (
        Field(
            "user_id",
            "integer",
            "Redmine user; only the user of the membership",
            required=True,
            filled_in=True,
        ),
        Field("role_ids", "list", "Roles", required=True, filled_in=True),
    ),
}
_TYPES: dict[str, FieldType] = {
    "int": "integer", "float": "number", "bool": "boolean", "date": "date", "user": "integer", "version": "integer",
    "progressbar": "integer",
}  # fmt: skip


def fields_for(operation: Operation | str, custom_fields: tuple[CustomField, ...] = ()) -> tuple[Field, ...]:
    """Return all fields that an operation's payload may contain.

    Args:
        operation: one of OPERATIONS.
        custom_fields: the tracker's, from the metadata cache; those of other objects are left out.

    Raises:
        ValueError: if there is no such operation.
    """
    operation = Operation(operation)
    container = "custom_field_values.{}" if operation.from_form else "custom_fields[{}]"
    own = [field for field in custom_fields if field.belongs_to(operation)]
    return (
        *FIELDS[operation],
        *(
            Field(
                container.format(one.id),
                "list" if one.multiple else _TYPES.get(one.field_format, "text"),
                one.name,
                required=one.required,
                possible_values=one.possible_values,
            )
            for one in own
        ),
    )
