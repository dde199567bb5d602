"""What came of something that was to be done. "Nothing to send" is a result, never an error."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.notices.kinds import Kind
from shared.notices.notice import Notice


@dataclass(frozen=True, slots=True)
class Sent:
    """It was done on the tracker just now."""

    reason: Notice


@dataclass(frozen=True, slots=True)
class AlreadyDone:
    """The tracker has it from before."""

    reason: Notice


@dataclass(frozen=True, slots=True)
class Skipped:
    """There is nothing to send.

    Attributes:
        follows_from_settings: whether with other settings it would be sent: a link, or a mapping, is wanting.
    """

    reason: Notice
    follows_from_settings: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """It will be done later.

    Attributes:
        reason: what it waits for.
        until: when to look again (database clock); None: when whatever it waits for happens.
        attempt: whether an attempt was used up.
        on_hold: the creation that a person is to decide on (`deskbridge hold list`): its kind and key.
        follows_from_settings: whether with other settings it would not wait: trial mode is on.
    """

    reason: Notice
    until: datetime | None = None
    attempt: bool = False
    on_hold: tuple[Kind, int] | None = None
    follows_from_settings: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """The object that a ledger row is linked to.

    Attributes:
        now: whether it was created by this very call.
        wrong_author: why it has, since just now, another author than was meant.
        is_status_given: whether the ticket's newest status was given with it.
        fields: those of an issue that the tracker has not as they were sent.
    """

    tracker_id: int
    project_id: int
    now: bool = False
    wrong_author: Notice | None = None
    is_status_given: bool = False
    fields: tuple[str, ...] = ()


Result = Sent | AlreadyDone | Skipped | Waiting
