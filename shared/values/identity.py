"""What identifies an object on the tracker beside its id, which may belong to another object after a restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.notices.kinds import Kind
from shared.values.ids import id_in


@dataclass(frozen=True, slots=True)
class Identity:
    """When and by whom an object was created; None if that is unknown."""

    created_on: datetime | None = None
    author_id: int | None = None

    @classmethod
    def of(cls, kind: Kind, listed: Mapping[str, Any]) -> Identity:
        """Return the identity of an object as the tracker lists it."""
        return cls(moment_of(listed.get("created_on")), id_in(listed.get(kind.author)))

    def is_of_another_time(self, other: Identity) -> bool:
        """Return whether the two were created at different times, to the second."""
        times = self.created_on, other.created_on
        mine, others = (one and one.replace(microsecond=0) for one in times)
        return mine is not None and others is not None and mine != others

    def is_by_another(self, other: Identity) -> bool:
        """Return whether the two have different authors."""
        authors = self.author_id, other.author_id
        return None not in authors and authors[0] != authors[1]


UNKNOWN = Identity()
ZONES_APART_S, ZONE_STEP_S = 26 * 3600, 15 * 60
"""How far apart time zones are at most, and by what they differ."""


def is_another_item(known: datetime | None, now: datetime | None) -> bool:
    """Return whether the help desk created two items with one id, by their times of creation; False if unknown.

    Times that may only differ by the time zone are equal: a person may have changed the help desk's setting.
    """
    if known is None or now is None:
        return False
    seconds = round(abs(now - known).total_seconds())
    return seconds > ZONES_APART_S or seconds % ZONE_STEP_S != 0


def moment_of(value: Any) -> datetime | None:
    """Return a timestamp of the tracker, or None if it is unreadable."""
    try:
        moment = datetime.fromisoformat(str(value))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        return None
