"""The results of due work. "Nothing to send" is a result, never an error."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.notices.kinds import Kind
from shared.notices.notice import Notice


@dataclass(frozen=True, slots=True)
class Sent:
    """The work was just done on the tracker."""

    reason: Notice


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """The work was done on the tracker earlier."""

    reason: Notice


@dataclass(frozen=True, slots=True)
class Skipped:
    """There is nothing to send.

    Attributes:
        follows_from_settings: whether other settings would send it, for example if a mapping is missing.
    """

    reason: Notice
    follows_from_settings: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """The work will be done later.

    Attributes:
        reason: what it waits for.
        until: when to try again (database clock); None: soon, or after the decision if it is on hold.
        attempt: whether an attempt was used up.
        on_hold: kind and key of the creation that a person must decide on (`deskbridge hold list`).
        follows_from_settings: whether it would not wait with other settings, because trial mode is on.
    """

    reason: Notice
    until: datetime | None = None
    attempt: bool = False
    on_hold: tuple[Kind, int] | None = None
    follows_from_settings: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """The tracker object that a ledger row is linked to.

    Attributes:
        now: whether this call created it.
        wrong_author: why its author is not the intended one, if this call created it.
        is_status_given: whether it was created with the ticket's newest status.
        fields: the fields of an issue that the tracker did not store as they were sent.
    """

    tracker_id: int
    project_id: int
    now: bool = False
    wrong_author: Notice | None = None
    is_status_given: bool = False
    fields: tuple[str, ...] = ()


Result = Sent | AlreadyDone | Skipped | Waiting
