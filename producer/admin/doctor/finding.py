"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from producer.admin.showing.shapes import Shape
from shared.notices.notice import Notice, notice_json
from shared.notices.render import because, sentence

RECORDS = {
    "database": "KB-SERVICE-001",
    "migrations": "KB-SERVICE-002",
    "redis": "KB-SERVICE-003",
    "installation": "KB-SERVICE-003",
    "broker": "KB-SERVICE-004",
    "worker": "KB-SERVICE-005",
    "beat": "KB-SERVICE-006",
    "clock": "KB-SERVICE-007",
    "producer": "KB-SERVICE-008",
    "console": "KB-SERVICE-009",
    "api key": "KB-SETUP-001",
    "tracker": "KB-TRACKER-001",
    "administrator": "KB-TRACKER-002",
    "impersonation": "KB-TRACKER-004",
    "calls": "KB-TRACKER-008",
    "rate limit": "KB-TRACKER-008",
    "modules": "KB-TRACKER-005",
    "activity": "KB-TRACKER-006",
    "custom fields": "KB-TRACKER-003",
    "links": "KB-SETUP-002",
    "role": "KB-SETUP-003",
    "statuses": "KB-SETUP-004",
    "metadata": "KB-SETUP-005",
    "people": "KB-SETUP-006",
    "ids": "KB-SETUP-007",
    "text formatting": "KB-SETUP-008",
    "templates": "KB-TEMPLATE-001",
    "dry runs": "KB-TEMPLATE-002",
    "pending": "KB-WORK-001",
    "on the way": "KB-TRACKER-012",
    "held": "KB-WORK-002",
    "failed": "KB-WORK-003",
    "recovery": "KB-WORK-004",
    "authors": "KB-WORK-005",
    "issue statuses": "KB-SETUP-004",
    "fields": "KB-WORK-007",
    "helpdesk events": "KB-HELPDESK-001",
    "deliveries": "KB-HELPDESK-002",
    "helpdesk API": "KB-HELPDESK-003",
    "reconciliation": "KB-HELPDESK-004",
    "refused": "KB-HELPDESK-005",
    "queue": "KB-HELPDESK-005",
    "skipped": "KB-HELPDESK-006",
    "done state": "KB-HELPDESK-007",
}
"""Each check and the knowledge record that says more about it (producer/admin/knowledge/records)."""


class Status(StrEnum):
    """The status of a part."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The status of one part.

    Attributes:
        check: a key of RECORDS.
        found: what was found.
    """

    check: str
    status: Status
    found: Notice

    @property
    def what(self) -> str:
        """What was found, as a sentence."""
        return sentence(self.found)

    @property
    def todo(self) -> str:
        """What to do about it, else about what it quotes; empty where all is well."""
        return "" if self.status is Status.OK else because(self.advice)

    @property
    def advice(self) -> Notice:
        """The code that says what to do: what was found, else what that quotes."""
        quoted = (one for one in self.found.params.values() if isinstance(one, Notice) and because(one))
        return self.found if because(self.found) else next(quoted, self.found)

    @property
    def record(self) -> str | None:
        """The knowledge record on it; None where all is well."""
        return None if self.status is Status.OK else RECORDS[self.check]


def ok(check: str, found: Notice) -> CheckResult:
    """All is well."""
    return CheckResult(check, Status.OK, found)


def unknown(check: str, found: Notice) -> CheckResult:
    """It was not looked at."""
    return CheckResult(check, Status.UNKNOWN, found)


def warning(check: str, found: Notice) -> CheckResult:
    """It works, but needs attention."""
    return CheckResult(check, Status.WARNING, found)


def failure(check: str, found: Notice) -> CheckResult:
    """It does not work."""
    return CheckResult(check, Status.FAILURE, found)


def finding_json(result: CheckResult) -> Shape:
    return {
        "check": result.check,
        "status": str(result.status),
        **notice_json(result.found),
        "what": result.what,
        "todo": result.todo,
        "record": result.record,
    }
