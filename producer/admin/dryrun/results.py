"""Results of dry runs."""

from __future__ import annotations

from typing import Any, Self

from pydantic import AwareDatetime

from producer.admin.presenters.shapes import Answer, Caution, Reasoned, WithNotice
from shared.errors import BridgeError
from shared.notices.doctor_setup import Named
from shared.notices.notice import Notice, notice_json
from shared.notices.render import sentence
from shared.refusals.known import Explanation


class DryRunRefused(BridgeError):
    """A dry run that cannot be made; objects created for it are deleted, or in the list of what is left."""


class Hint(WithNotice):
    """A possible cause of a refusal; `record` is an article (`deskbridge article show`)."""

    field: str
    problem: str
    record: str

    sentence_name = "problem"

    @classmethod
    def of(cls, one: Explanation) -> Self:
        """Return an explanation as a hint."""
        return cls(field=one.field, problem=sentence(one.why), record=one.record, **notice_json(one.why))

    def __str__(self) -> str:
        return str(Explanation(self.field, self.notice))


class Left(Reasoned):
    """An object that a dry run may have left in Redmine."""

    id: int
    kind: str
    mark: str
    tracker_id: int | None
    begun_at: AwareDatetime
    reason: str | None

    @property
    def why(self) -> Notice | None:
        """Why it is still there, as far as it is known."""
        return super().notice

    @property
    def notice(self) -> Notice:
        """What it is, and why it is still there."""
        about = {"kind": self.kind, "mark": self.mark, "because": self.why or Named.NOT_DELETED_YET()}
        if self.tracker_id:
            return Named.LEFT_ON_TRACKER(tracker_id=self.tracker_id, **about)
        return Named.LEFT_WITHOUT_NUMBER(**about)


class DryRun(Answer):
    """The result of a dry run; `answer` is Redmine's answer, unchanged.

    `payload` is what the template gives. In a dry run a mark is added to a new issue's subject, or to a new project's
    name and identifier, so that it is found and deleted whatever happens.
    """

    payload: dict[str, Any]
    warnings: list[str]
    cautions: list[Caution]
    filled_in: list[str]
    pruned: list[str]
    method: str
    path: str
    status: int | None
    """None if no answer came."""

    answer: str
    ok: bool
    hints: list[Hint]
    created: str | None
    """Such as `issue #17`; for a status update, the issue on which it was tried; None if nothing was created."""

    deleted: bool | None
    """Whether everything that was created, also temporarily, is gone; None if nothing was created."""

    left: list[Left]
    milliseconds: int

    printed_last = ("cautions",)
