"""The two kinds of creation that must have exactly one effect."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a ledger row creates, named after its key."""

    TICKET = "ticket"
    TICKET_TASK = "ticket-task"

    @property
    def noun(self) -> str:
        """What it is on the tracker."""
        return "issue" if self is Kind.TICKET else "time entry"

    @property
    def wire_name(self) -> str:
        """Its name in requests and answers."""
        return "issue" if self is Kind.TICKET else "time_entry"

    @property
    def list_name(self) -> str:
        """Its name in lists."""
        return "issues" if self is Kind.TICKET else "time_entries"

    @property
    def path(self) -> str:
        """Where it is created and listed (SPEC 4.2)."""
        return "/issues.json" if self is Kind.TICKET else "/time_entries.json"
