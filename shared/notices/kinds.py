"""The kinds of object that must be created exactly once."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class OnTracker(NamedTuple):
    """What a kind creates on the tracker.

    Attributes:
        noun: its name for people.
        wire_name: its name in requests.
        list_name: its name in lists.
        path: where it is created and listed (SPEC 4.2); for an addition, the path of the issues.
        author: the name of its author's field in lists.
    """

    noun: str
    wire_name: str
    list_name: str
    path: str
    author: str = "user"


class Kind(StrEnum):
    """What a ledger row creates, named after its key."""

    TICKET = "ticket"
    TICKET_TASK = "ticket-task"
    FOLLOWUP = "followup"
    SOLUTION = "solution"
    DOCUMENT = "document"

    @property
    def noun(self) -> str:
        """Its name for people."""
        return ON_TRACKER[self].noun

    @property
    def wire_name(self) -> str:
        """Its name in requests and answers."""
        return ON_TRACKER[self].wire_name

    @property
    def list_name(self) -> str:
        """Its name in lists."""
        return ON_TRACKER[self].list_name

    @property
    def path(self) -> str:
        """Where it is created and listed (SPEC 4.2)."""
        return ON_TRACKER[self].path

    @property
    def author(self) -> str:
        """The name of its author's field in lists."""
        return ON_TRACKER[self].author

    @property
    def is_on_issue(self) -> bool:
        """Whether it belongs to an issue, and is gone if the issue is gone."""
        return self is not Kind.TICKET

    @property
    def is_addition(self) -> bool:
        """Whether an update of an issue adds it; the answer contains no id, so it is read with the issue."""
        return self in ADDITIONS


NOTE = OnTracker("note", "issue", "journals", "/issues.json")
ON_TRACKER = {
    Kind.TICKET: OnTracker("issue", "issue", "issues", "/issues.json", "author"),
    Kind.TICKET_TASK: OnTracker("time entry", "time_entry", "time_entries", "/time_entries.json"),
    Kind.FOLLOWUP: NOTE,
    Kind.SOLUTION: NOTE,
    Kind.DOCUMENT: OnTracker("attachment", "issue", "attachments", "/issues.json", "author"),
}
ADDITIONS = (Kind.FOLLOWUP, Kind.SOLUTION, Kind.DOCUMENT)
ON_ISSUE = tuple(kind for kind in Kind if kind.is_on_issue)
ATTRIBUTED = (Kind.TICKET, Kind.TICKET_TASK)
"""Kinds whose wrong authors are listed; those of the other kinds are only in the ticket history."""
RowId = tuple[Kind, int]
"""Identifies a ledger row: the kind that it creates, and its key."""


def row_id_of(key: str) -> RowId:
    """Return the id of the ledger row of an event's key."""
    kind, _, number = key.partition(":")
    return Kind(kind), int(number)
