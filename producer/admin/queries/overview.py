"""The state of the system at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from producer.admin.records.event_search import EventCounts, Group
from producer.admin.records.transaction import Store, Transaction
from producer.admin.services import Services
from shared.diagnosis.redis_facts import RedisFacts, redis_facts
from shared.diagnosis.waiting import is_delayed
from shared.events.config import PluginConfig
from shared.metadata.confirming import unusable_defaults
from shared.store.tables.configuration import ChangeRecord
from shared.store.tables.journal import EventState, JournalEvent

SOON, LONG = timedelta(seconds=30), timedelta(minutes=5)
LATEST = 5


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the first page.

    Attributes:
        counts: counts of events, and further facts.
        oldest: when the oldest pending event came in.
        delayed: the oldest pending event, if an attempt failed or it waits longer than usual; not in trial mode.
        is_stuck: whether it has waited for minutes, and no event was done in that time; not in trial mode.
        hours: numbers of received events and of failed ones among them, by age in hours, up to 24.
        redis: what Redis knows, or why it cannot be used.
        noted: checks of the doctor that have something to report (`what_is_noted`).
    """

    config: PluginConfig
    has_key: bool
    counts: EventCounts
    oldest: datetime | None
    delayed: JournalEvent | None
    is_stuck: bool
    groups: Sequence[Group]
    hours: dict[int, tuple[int, int]]
    changes: Sequence[ChangeRecord]
    redis: RedisFacts
    recovering: bool
    noted: Sequence[str]

    @property
    def is_set_up(self) -> bool:
        """Whether there is a tracker to send to."""
        return bool(self.config.base_url) and self.has_key


def overview(services: Services) -> Overview:
    """Read the data of the first page, in less than a dozen statements."""
    facts = redis_facts(services.redis)
    with services.store.transaction() as tx:
        standing = tx.events.counts()
        config, key = tx.configs.get()
        oldest = tx.journal.oldest(EventState.PENDING)
        now = standing.now
        stands_still = _stands_still(oldest, standing.done_at, now)
        return Overview(
            config,
            key is not None,
            standing,
            oldest.received_at if oldest else None,
            oldest
            if oldest and not config.trial and (is_delayed(oldest, now) or stands_still > SOON)
            else None,
            stands_still > LONG and not config.trial,
            tx.events.groups(),
            tx.events.per_hour(),
            tx.changes.find(limit=LATEST),
            facts,
            tx.recovery.get() is not None,
            [check for check, is_noted in what_is_noted(tx, standing, config).items() if is_noted],
        )


def what_is_noted(tx: Transaction, standing: EventCounts, config: PluginConfig) -> dict[str, bool]:
    """Return, for each check of the doctor with `QuickCheckMode.NOTED`, whether it has something to report."""
    latest = tx.metadata.runs(1)
    return {
        "authors": standing.wrong_author,
        "issue statuses": standing.status_not_taken,
        "fields": standing.field_not_taken,
        "ids": bool(unusable_defaults(tx, config)),
        "metadata": bool(latest and not latest[0].ok),
    }


def _stands_still(oldest: JournalEvent | None, done_at: datetime | None, now: datetime) -> timedelta:
    """Return how long the oldest pending event has waited, or zero if an event was done since it came in."""
    if oldest is None or (done_at is not None and done_at > oldest.received_at):
        return timedelta(0)
    return now - oldest.received_at


def needs_a_person(store: Store) -> tuple[int, int]:
    """Return the numbers of failed events and of creations that wait for a decision, for the navigation."""
    with store.transaction() as tx:
        return tx.events.needs_a_person()
