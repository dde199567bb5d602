"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from producer.admin.presenters.shapes import Shape
from shared.notices.language import N_
from shared.notices.notice import Notice, notice_json
from shared.notices.render import because, sentence

RECORDS: dict[str, str] = {}
"""Each part and its article (producer/admin/knowledge/records); `@check` fills it."""
LABELS = {
    "held": N_("on hold"),
    "helpdesk API": N_("GLPI API"),
    "helpdesk events": N_("GLPI events"),
    "links": N_("mappings"),
    "on the way": N_("creations"),
    "people": N_("users"),
    "refused": N_("rejected"),
    "tracker": N_("Redmine"),
}
"""Names of parts for people, if they differ from the names in the code, which the API keeps."""


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
        check: the part, a key of RECORDS.
        found: what was found.
    """

    check: str
    status: Status
    found: Notice

    @property
    def label(self) -> str:
        """The part's name for people."""
        return LABELS.get(self.check, self.check)

    @property
    def what(self) -> str:
        """What was found, as a sentence."""
        return sentence(self.found)

    @property
    def todo(self) -> str:
        """What to do about it, or about the notice that it quotes; empty if all is well."""
        return "" if self.status is Status.OK else because(self.advice)

    @property
    def advice(self) -> Notice:
        """The notice that says what to do: the one found, or one that it quotes."""
        quoted = (one for one in self.found.params.values() if isinstance(one, Notice) and because(one))
        return self.found if because(self.found) else next(quoted, self.found)

    @property
    def record(self) -> str | None:
        """The article about it, or None if all is well."""
        return None if self.status is Status.OK else RECORDS[self.check]


def ok(check: str, found: Notice) -> CheckResult:
    """Report that all is well."""
    return CheckResult(check, Status.OK, found)


def unknown(check: str, found: Notice) -> CheckResult:
    """Report that a part was not checked."""
    return CheckResult(check, Status.UNKNOWN, found)


def warning(check: str, found: Notice) -> CheckResult:
    """Report that a part works, but needs attention."""
    return CheckResult(check, Status.WARNING, found)


def failure(check: str, found: Notice) -> CheckResult:
    """Report that a part does not work."""
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
