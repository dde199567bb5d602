"""The reasons of events, with the current obstacle where an event waits without a reason of its own."""

from __future__ import annotations

from collections.abc import Iterable

from redis import Redis

from shared.diagnosis.obstacle import obstacle
from shared.diagnosis.redis_facts import redis_facts
from shared.notices.notice import Notice
from shared.store.tables.journal import EventState, JournalEvent


def with_reasons(rows: Iterable[JournalEvent], redis: Redis) -> list[tuple[JournalEvent, Notice | None]]:
    """Return events with their reasons; a pending event without a reason gets the current obstacle.

    Args:
        rows: the events.
        redis: queried only if one of them waits without a reason.
    """
    found = list(rows)
    hindered_by = obstacle(redis_facts(redis)) if any(map(is_silent, found)) else None
    return [(row, hindered_by if is_silent(row) else row.notice) for row in found]


def is_silent(row: JournalEvent) -> bool:
    """Return whether an event is pending and has no reason of its own."""
    return row.state == EventState.PENDING and row.notice is None
