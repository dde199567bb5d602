"""Whether something new may start: not while the process stops, nor after an outage that not every process knows of."""

from __future__ import annotations

from shared.errors import BridgeError, NotStarted, SettingsError, TrackerOutage
from shared.notices.faults import Fault
from shared.notices.notice import Notice

OUTAGES = (TrackerOutage, SettingsError)
"""What opens the circuit breaker."""


class Admission:
    """Refuses what would start while the process stops, or since an outage.

    Every process knows of an outage once the ticket that met it has opened the circuit breaker in Redis. Until that
    ticket's workflow has ended, this process lets no other ticket in.

    Attributes:
        is_stopping: whether the process is to end.
        refused: the tickets that were refused for that: others are to sync them.
    """

    def __init__(self) -> None:
        self.is_stopping = False
        self.refused = set[int]()
        self._outages, self._because = 0, Fault.WORKER_ENDS()
        self._not_known = set[int]()

    def enter(self, seen: int) -> int:
        """Return how many outages a ticket knows of that asks to be worked on.

        Args:
            seen: of how many it knew before.
        """
        return seen if self._not_known else self._outages

    def check(self, ticket_id: int, seen: int) -> None:
        """Make sure that something new may start for a ticket.

        Args:
            ticket_id: the ticket.
            seen: how many outages it knew of when it was let in.

        Raises:
            NotBegun: it may not.
        """
        if self.is_stopping:
            self.refused.add(ticket_id)
            raise NotStarted(Fault.WORKER_ENDS())
        if seen < self._outages:
            raise NotStarted(self._because)

    def note(self, ticket_id: int, error: BaseException) -> bool:
        """Note an error that a ticket met; tell whether it is an outage: what was let in before starts nothing now."""
        if not isinstance(error, OUTAGES):
            return False
        self._outages, self._because = self._outages + 1, _why(error)
        self._not_known.add(ticket_id)
        return True

    def ended(self, ticket_id: int) -> None:
        """Note that a ticket's workflow has ended: if it met an outage, every process knows of that now."""
        self._not_known.discard(ticket_id)


def _why(error: BridgeError) -> Notice:
    return error.notice
