"""What a helpdesk's room is given by the producer; another helpdesk is one more room over the same two doors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request

from shared.events.delivery import Delivery
from shared.notices.invalid import Faults


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A delivery that is authentic and cannot be read: kept as it came, until it can be.

    Attributes:
        delivery_id: the sender's id of this delivery.
        source: whose it is, such as `glpi/ticket`: anyone who replays it chooses the reader by it.
        body: the request's body, without the text of a private task or follow-up.
        faults: (path, what is wrong) for each fault.
    """

    delivery_id: str
    source: str
    body: bytes
    faults: Faults


class Intake(Protocol):
    """The producer, as far as a helpdesk's room needs it."""

    async def read(self, request: Request) -> bytes:
        """Read a request's body within its limits.

        Raises:
            Problem: too large, too slow, or cut off.
        """

    def admit(self, source: str, size: int) -> None:
        """Count a delivery against the limit of who signed it (setting EVENT_LIMIT).

        Args:
            source: whose it is; each has a limit of its own.
            size: bytes of its body: a large one counts as several.

        Raises:
            Problem: 429, with the seconds to wait.
        """

    async def keep(self, delivery: Delivery | Unreadable, *, within: float | None = None) -> dict[str, Any]:
        """Commit a delivery to the journal and ring for it.

        Args:
            delivery: what came.
            within: seconds after which to refuse, whether or not the journal still takes it.

        Returns:
            The answer for the sender.

        Raises:
            Problem: 503, the journal cannot be written, or not in time.
        """
