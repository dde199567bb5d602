"""Codes of the concurrency limit: what limits a worker's concurrent calls to the tracker."""

from __future__ import annotations

from dataclasses import dataclass

from shared.notices.notice import Code, Message, Notice


class CallLimitBy(Code, article="KB-TRACKER-008"):
    """What limits a worker's concurrent calls to Redmine (decision 22)."""

    OPENING = Message(
        "limited_while_opening",
        "response times have hardly grown under load, so the worker will make more calls when needed",
    )
    """Calls take hardly longer than without load: more are made as soon as they are needed."""
    QUEUEING = Message(
        "limited_by_queueing",
        (
            "responses take {ratio:.1f} times as long as without load, so more calls would only wait inside "
            "Redmine"
        ),
    )
    """Calls take longer than without load: more would only wait in the tracker."""
    ERRORS = Message(
        "limited_by_errors", "some calls got no answer, or Redmine rejected them because of load"
    )
    """Calls got no answer, or were refused because of load."""
    BOUND = Message("limited_by_workers", "this is the worker's maximum (--concurrency)")
    """The limit is the worker's maximum."""


@dataclass(frozen=True, slots=True)
class CallLimit:
    """The limit of a worker's concurrent calls.

    Attributes:
        size: the largest number of concurrent calls.
        why: what limits them.
        ratio: duration of calls in the last window, relative to calls without load.
    """

    size: int
    why: CallLimitBy = CallLimitBy.OPENING
    ratio: float = 1.0

    @property
    def because(self) -> Notice:
        """What limits them, as a notice."""
        return self.why(ratio=self.ratio)
