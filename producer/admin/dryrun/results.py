"""What a dry run tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.errors import BridgeError
from shared.notices.doctor_setup import Named
from shared.notices.notice import Notice
from shared.refusals.known import Explanation


class DryRunRefused(BridgeError):
    """A dry run that cannot be made; whatever was made for it is deleted or in the list."""


@dataclass(frozen=True, slots=True)
class Left:
    """Something that a dry run asked the tracker for and that is not known to be gone.

    Attributes:
        id: its number in our own list.
        kind: issue or project.
        mark: what it carries in its subject, or as its identifier.
        tracker_id: the tracker's id; None where no answer told it.
        begun_at: when it was asked for, by the database's clock.
        why: why it is still there, as far as it is known.
    """

    id: int
    kind: str
    mark: str
    tracker_id: int | None
    begun_at: datetime
    why: Notice | None

    @property
    def notice(self) -> Notice:
        """What it is, and why it is still there."""
        about = {"kind": self.kind, "mark": self.mark, "because": self.why or Named.NOT_DELETED_YET()}
        if self.tracker_id:
            return Named.LEFT_ON_TRACKER(tracker_id=self.tracker_id, **about)
        return Named.LEFT_WITHOUT_NUMBER(**about)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What one dry run did.

    Attributes:
        payload: as rendered, without the mark.
        warnings: what a person should know, the rendering's and our own.
        filled_in, pruned: as in `shared.templating.render.Rendering`.
        method, path: the call that was tried.
        status: its HTTP status; None where no answer came.
        answer: its body, unchanged.
        ok: whether the tracker took the payload.
        hints: what explains the refusal; where it was taken, what the tracker ignored or was not asked.
        created: such as `issue #17`; None where nothing was created. Of a status update: what it was tried on.
        deleted: whether everything that was made, what was only temporary included, is known to be gone again; None
            where nothing was made.
        left: what is not, kept in the list until it is gone.
        milliseconds: time from the first request to the last answer.
    """

    payload: dict[str, Any]
    warnings: tuple[Notice, ...]
    filled_in: tuple[str, ...]
    pruned: tuple[str, ...]
    method: str
    path: str
    status: int | None
    answer: str
    ok: bool
    hints: list[Explanation] = field(default_factory=list)
    created: str | None = None
    deleted: bool | None = None
    left: list[Left] = field(default_factory=list)
    milliseconds: int = 0
