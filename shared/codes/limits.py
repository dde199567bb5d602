"""Codes of the call limit: why so many calls, and no more, go to the tracker at once."""

from __future__ import annotations

from shared.codes.coded import Code


class CallLimitBy(Code):
    """What the limit follows (docs/decisions/0022)."""

    MEASURING = "limited_to_measure"
    """It is being found out how long calls take one at a time."""
    OPENING = "limited_while_opening"
    """They take hardly longer together than alone: more are tried as soon as they are wanted."""
    QUEUEING = "limited_by_queueing"
    """They wait for each other within the tracker: more would make nothing faster."""
    BOUND = "limited_by_workers"
    """All that the workers can make are made."""
