"""The operations that accept templates (CONTRACT "Templates"), and the tracker's custom fields that they send."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

CustomizedType = Literal["issue", "time_entry", "project"]


class Operation(StrEnum):
    """A write call whose body may come from a template."""

    ISSUE_CREATE = "issue.create"
    ISSUE_UPDATE_STATUS = "issue.update_status"
    TIME_ENTRY_CREATE = "time_entry.create"
    PROJECT_CREATE = "project.create"
    MEMBERSHIP_CREATE = "membership.create"

    @property
    def top_key(self) -> str:
        """The one key of the request body (SPEC 4.2)."""
        return self.value.partition(".")[0]

    @property
    def from_form(self) -> bool:
        """Whether it starts from a form; the others start from a ticket's event."""
        return self is Operation.PROJECT_CREATE


OPERATIONS: tuple[Operation, ...] = tuple(Operation)


@dataclass(frozen=True, slots=True)
class CustomField:
    """A custom field of the tracker, as the metadata cache knows it.

    Attributes:
        id: the tracker's id of the field.
        name: its name, for people.
        customized_type: what it belongs to.
        field_format: the tracker's type: string, text, int, float, bool, date, list, user, version, …
        required: whether a creation without it is refused (SPEC section 7).
        possible_values: what a list field accepts.
        multiple: whether it takes a list of values.
        default_value: the tracker's own default, None where it has none.
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
        """Tell whether the operation's object has this field."""
        creates = operation is not Operation.ISSUE_UPDATE_STATUS
        return creates and self.customized_type == operation.top_key
