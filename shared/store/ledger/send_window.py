"""The time within which a claim may send; afterwards another process may work on the same creation."""

from __future__ import annotations

import time

from shared.errors import LeaseExpired
from shared.notices.faults import Fault


def _now() -> float:
    """Return monotonic seconds, from a clock that also runs while the machine sleeps if the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


class SendWindow:
    """The time within which a claim may send, by the monotonic clock; it starts before the claim is committed.

    Args:
        seconds: the claim's lease.
    """

    def __init__(self, seconds: float) -> None:
        self._ends = _now() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time has passed."""
        return _now() >= self._ends

    def check(self) -> None:
        """Check, right before each request of a claim, that it may still send; also before repeats as the API user.

        Raises:
            LeaseExpired: if the lease has expired, so that nothing more may be sent for this claim.
        """
        if self.is_over:
            raise LeaseExpired(Fault.LEASE_RAN_OUT())
