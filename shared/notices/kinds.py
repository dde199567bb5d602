"""The kinds of creation that must have exactly one effect."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class OnTracker(NamedTuple):
    """What a kind creates on the tracker.

    Attributes:
        noun: what people call it.
        wire_name: its name in requests.
        list_name: its name in lists.
        path: where it is created and listed (SPEC 4.2); of an addition, where the issues are that it belongs to.
        author: what lists call the person who made it.
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
        """What it is on the tracker."""
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
        """What lists call the person who made it."""
        return ON_TRACKER[self].author

    @property
    def is_on_issue(self) -> bool:
        """Whether it belongs to an issue, and goes with it."""
        return self is not Kind.TICKET

    @property
    def is_addition(self) -> bool:
        """Whether it is added to an issue by an update of it, whose answer names no id; it is read with the issue."""
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
"""Those that are listed if they have another author than was meant; of notes only the ticket's history tells."""
RowId = tuple[Kind, int]
"""A row of the ledger: what it creates, and its key."""
