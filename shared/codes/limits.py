"""Codes of the call limit: why so many calls, and no more, go to the tracker at once."""

from __future__ import annotations

from shared.codes.notice import Code


class CallLimitBy(Code):
    """What the limit follows (docs/decisions/0022)."""

    OPENING = "limited_while_opening"
    """Twice as many do clearly more: even more are tried as soon as they are wanted."""
    QUEUEING = "limited_by_queueing"
    """More do hardly more: they would only wait within the tracker."""
    BOUND = "limited_by_workers"
    """All that the workers can make are made."""
