"""The time in which a claim may send; afterwards another process may be at work on the same thing."""

from __future__ import annotations

import time

from shared.errors import LeaseOver
from shared.notices.faults import Fault


def _now() -> float:
    """Return the monotonic time that, if the system has it, also goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


class SendWindow:
    """The time in which a claim may send, by the monotonic clock; started before the claim is committed.

    Args:
        seconds: the claim's lease.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = _now() + seconds

    def check(self) -> None:
        """Called right before every send of a claim, the administrator's repeat included.

        Raises:
            LeaseOver: the lease has run out; nothing may be sent for this claim any more.
        """
        if _now() >= self._ends:
            raise LeaseOver(Fault.LEASE_RAN_OUT())
