"""Codes of the concurrency limit: what limits how many calls a worker makes to the tracker at once."""

from __future__ import annotations

from dataclasses import dataclass

from shared.notices.notice import Code, Message, Notice


class CallLimitBy(Code, article="KB-TRACKER-008"):
    """What the limit follows (decision 22)."""

    OPENING = Message(
        "limited_while_opening",
        "they take hardly longer than without load, so more are made as soon as they are wanted",
    )
    """Calls take hardly longer than without load: more are made as soon as they are wanted."""
    QUEUEING = Message(
        "limited_by_queueing",
        "they take {ratio:.1f} times as long as without load, so more would only wait within the tracker",
    )
    """Calls take longer than without load: more would only wait in the tracker."""
    ERRORS = Message("limited_by_errors", "some got no answer, or were refused because of load")
    """Calls got no answer, or were refused because of load."""
    BOUND = Message("limited_by_workers", "that is all that the worker can make (--concurrency)")
    """All that the worker can make are made."""


@dataclass(frozen=True, slots=True)
class CallLimit:
    """How many calls a worker makes at once, and what limits them.

    Attributes:
        size: calls.
        why: what limits them.
        ratio: how many times as long as without load calls took in the last window.
    """

    size: int
    why: CallLimitBy = CallLimitBy.OPENING
    ratio: float = 1.0

    @property
    def because(self) -> Notice:
        """What limits them, as a notice."""
        return self.why(ratio=self.ratio)
