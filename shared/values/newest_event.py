"""The newest event that was processed, by which Redis recognises a database that lacks it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

STORED = re.compile(r"(\d{1,15}):(\d{1,15}):(\d{1,18})", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class NewestEvent:
    """The newest event that a worker has processed, as Redis remembers it; a restored database does not have it.

    Attributes:
        epoch: when a person last confirmed the database (`InstallationRecord.epoch`); 0: never.
        event_id: its id in the journal, which a restored database gives to another event.
        received_us: when it arrived, by the database's clock (microseconds), which therefore differs.
    """

    epoch: int
    event_id: int
    received_us: int

    @classmethod
    def of(cls, epoch: int, event_id: int, received_at: datetime) -> Self:
        """Return the event of a journal row."""
        return cls(epoch, event_id, (received_at - EPOCH) // MICROSECOND)

    @classmethod
    def read(cls, stored: str | None) -> Self | None:
        """Return the event that Redis stores as `epoch:id:received_us`, or None if the text is another."""
        parts = STORED.fullmatch(stored or "")
        return cls(*map(int, parts.groups())) if parts else None
