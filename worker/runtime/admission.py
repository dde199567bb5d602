"""Decides whether something new may start: not while the process stops, nor for tickets admitted before an outage."""

from __future__ import annotations

from shared.errors import BridgeError, NotStarted, SettingsError, TrackerOutage
from shared.notices.faults import Fault
from shared.notices.notice import Notice

OUTAGES = (TrackerOutage, SettingsError)
"""The errors that open the circuit breaker."""


class Admission:
    """Refuses anything new while the process stops, or after an outage.

    Every process knows of an outage once the ticket that met it has opened the circuit breaker in Redis. Until that
    ticket's workflow has ended, this process admits no other ticket.

    Attributes:
        is_stopping: whether the process must end.
        refused: the tickets that were refused for that reason: other processes must sync them.
    """

    def __init__(self) -> None:
        self.is_stopping = False
        self.refused = set[int]()
        self._outages, self._because = 0, Fault.WORKER_ENDS()
        self._not_known = set[int]()

    def enter(self, seen: int) -> int:
        """Return how many outages a ticket knows of when it asks for admission.

        Args:
            seen: how many outages it knew of before.
        """
        return seen if self._not_known else self._outages

    def check(self, ticket_id: int, seen: int) -> None:
        """Make sure that something new may start for a ticket.

        Args:
            ticket_id: the ticket.
            seen: how many outages it knew of when it was admitted.

        Raises:
            NotStarted: if it may not.
        """
        if self.is_stopping:
            self.refused.add(ticket_id)
            raise NotStarted(Fault.WORKER_ENDS())
        if seen < self._outages:
            raise NotStarted(self._because)

    def note(self, ticket_id: int, error: BaseException) -> bool:
        """Record a ticket's error; return whether it is an outage, after which admitted tickets start nothing new."""
        if not isinstance(error, OUTAGES):
            return False
        self._outages, self._because = self._outages + 1, _why(error)
        self._not_known.add(ticket_id)
        return True

    def ended(self, ticket_id: int) -> None:
        """Record that a ticket's workflow has ended: if it met an outage, every process knows of that now."""
        self._not_known.discard(ticket_id)


def _why(error: BridgeError) -> Notice:
    return error.notice
