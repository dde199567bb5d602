"""Codes of the concurrency limit: what limits how many calls a worker makes to the tracker at once."""

from __future__ import annotations

from dataclasses import dataclass

from shared.codes.notice import Code, Notice


class CallLimitBy(Code):
    """What the limit follows (decision 22)."""

    OPENING = "limited_while_opening"
    """Calls take hardly longer than without load: more are made as soon as they are wanted."""
    QUEUEING = "limited_by_queueing"
    """Calls take longer than without load: more would only wait in the tracker."""
    ERRORS = "limited_by_errors"
    """Calls got no answer, or were refused because of load."""
    BOUND = "limited_by_workers"
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
