"""The installation that the doctor checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Self

from redis import Redis

from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.connection.vault import Vault
from shared.diagnosis.redis_facts import RedisFacts, redis_facts
from shared.metadata.synchronisation import Connect
from shared.process.settings import Settings
from shared.queue.publisher import Publisher
from shared.store.configuration.matching import TrackerPerson
from shared.store.journal.producers import Producer
from shared.tracker.projects import ProjectNow


@dataclass
class Installation:
    """An installation, and what its checks have found so far.

    Attributes:
        connect: returns the Redmine settings and the tracker's client.
        is_broker_answering: returns whether the broker answers.
        tracker_clocks: (the tracker's time, ours) of each answer of the tracker.
        is_tracker_open: whether the tracker answered as it should.
        projects: mapped tracker projects as they are now, as far as time allowed; None if they could not be read.
        well: whether each part that was checked is OK.
        locked: the tracker's locked users.
        deleted: ids of deleted tracker users, of those with a mapping or match and the authors of newest items.
        limit_s: time limit of all checks of the tracker, in seconds.
        is_late: whether that limit was reached.
        patience_s: time limit for reading mapped projects, in seconds; None: neither this limit nor `limit_s`.
    """

    settings: Settings
    store: Store
    redis: Redis
    vault: Vault
    connect: Connect
    is_broker_answering: Callable[[], bool]
    tracker_clocks: list[tuple[datetime, datetime]] = field(default_factory=list)
    is_tracker_open: bool = False
    projects: dict[int, ProjectNow] | None = None
    well: dict[str, bool] = field(default_factory=dict)
    locked: list[TrackerPerson] = field(default_factory=list)
    deleted: set[int] = field(default_factory=set)
    patience_s: float | None = 5.0
    limit_s: float = 9.0
    is_late: bool = False

    @cached_property
    def redis_facts(self) -> RedisFacts:
        """What Redis knows, read once for all checks."""
        return redis_facts(self.redis)

    @cached_property
    def producers(self) -> Sequence[Producer]:
        """The producers with a heartbeat within a week, read once for all checks."""
        with self.store.transaction() as tx:
            return tx.producers.seen()

    @classmethod
    def of(cls, services: Services) -> Self:
        """Return the installation of these services."""
        return cls(
            services.settings,
            services.store,
            services.redis,
            services.vault,
            services.checks.connect,
            Publisher(services.settings, services.whose).is_answering,
        )
