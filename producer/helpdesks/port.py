"""The port between the producer and the packages of help desks with an event format of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fastapi import Request

from shared.events.delivery import Delivery
from shared.notices.invalid import Faults


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An authentic delivery that cannot be read; it is stored as it came, until it can be.

    Attributes:
        delivery_id: the sender's id of this delivery.
        source: its origin, such as `glpi/ticket`, by which a replay chooses the reader.
        body: the request's body, without the text of a private task or follow-up.
        faults: (path, what is wrong) for each fault.
    """

    delivery_id: str
    source: str
    body: bytes
    faults: Faults


class Intake(Protocol):
    """The producer, as far as the package of a help desk needs it."""

    async def read(self, request: Request) -> bytes:
        """Read a request's body within its limits.

        Raises:
            Problem: if it is too large, too slow, or cut off.
        """

    def admit(self, source: str, size: int) -> None:
        """Count a delivery against the limit of its signer (setting EVENT_LIMIT).

        Args:
            source: the signer; each has its own limit.
            size: bytes of its body; a large one counts as several.

        Raises:
            Problem: 429, with the seconds to wait, if the limit is reached.
        """

    async def keep(
        self, delivery: Delivery | Unreadable, request: Request, *, within: float | None = None
    ) -> dict[str, Any]:
        """Commit a delivery to the journal and notify its ticket.

        Args:
            delivery: the delivery.
            request: the request that brought it.
            within: seconds after which to refuse it, even if the journal then still commits it.

        Returns:
            The answer for the sender.

        Raises:
            Problem: 503, if the journal cannot be written, or not in time.
        """
