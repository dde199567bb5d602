"""How everything stands, at one look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redis.exceptions import RedisError

from producer.admin.desk import Desk
from producer.admin.records.event_search import Group
from producer.admin.records.transaction import Store
from producer.admin.showing.evictions import evictions
from shared.coordination.pause import Pause, Paused
from shared.coordination.presence import BEAT, WORKER, Presence
from shared.events.config import PluginConfig
from shared.store.tables.models import ChangeRecord, EventState, JournalEvent

ALIVE_S = 90.0
SLOW = timedelta(minutes=2)
LATEST = 5


@dataclass(frozen=True, slots=True)
class Signs:
    """What Redis tells: who is alive, and whether everything is paused.

    Attributes:
        worker, beat: seconds since the last sign of life; None: there is none.
        paused: why and until when.
        evicted: whether signs of life may have been dropped by Redis.
    """

    worker: float | None
    beat: float | None
    paused: Paused | None
    evicted: bool = False

    @property
    def works(self) -> bool:
        """Whether a worker was seen lately, or may be at work though its sign of life was dropped."""
        if self.worker is None:
            return self.evicted
        return self.worker < ALIVE_S


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first page shows.

    Attributes:
        waiting: events that wait, and since when the oldest does.
        delayed: the oldest event that waits, if it was tried in vain or waits longer than usual.
        held: issues and time entries that wait for a decision.
        hours: of each hour up to 24 ago how many came in and how many of these failed.
        signs: None where Redis cannot be asked.
        linked: whether anything is linked at all.
    """

    config: PluginConfig
    has_key: bool
    last_hour: int
    waiting: int
    oldest: datetime | None
    delayed: JournalEvent | None
    failed: int
    groups: Sequence[Group]
    held: int
    hours: dict[int, tuple[int, int]]
    changes: Sequence[ChangeRecord]
    signs: Signs | None
    linked: bool
    recovering: bool


def overview(desk: Desk) -> Overview:
    """Look at everything, in less than a dozen statements."""
    told = signs(desk)
    with desk.store.transaction() as tx:
        standing = tx.events.standing()
        config, key = tx.configs.get()
        oldest = tx.journal.oldest(EventState.PENDING)
        return Overview(
            config,
            key is not None,
            standing.last_hour,
            standing.waiting,
            oldest.received_at if oldest else None,
            oldest if oldest and (oldest.attempts or standing.now - oldest.received_at > SLOW) else None,
            standing.failed,
            tx.events.groups(),
            standing.held,
            tx.events.per_hour(),
            tx.changes.find(limit=LATEST),
            told,
            tx.links.any(),
            tx.recovery.get() is not None,
        )


def signs(desk: Desk) -> Signs | None:
    """Ask Redis; None where it cannot be asked."""
    try:
        presence = Presence(desk.redis)
        worker, beat = presence.seconds_since(WORKER), presence.seconds_since(BEAT)
        evicted = worker is None and evictions(desk.redis) is not None
        return Signs(worker, beat, Pause(desk.redis).current(), evicted)
    except RedisError:
        return None


def needs_a_person(store: Store) -> tuple[int, int]:
    """Return how many events failed and how many creations wait for a decision, for the navigation."""
    with store.transaction() as tx:
        return tx.events.needs_a_person()
