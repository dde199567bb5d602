"""What the doctor looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from redis import Redis

from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.connection.vault import Vault
from shared.metadata.synchronisation import Connect
from shared.process.settings import Settings
from shared.queue.publisher import Publisher
from shared.store.configuration.matching import TrackerPerson
from shared.tracker.projects import ProjectNow


@dataclass
class Installation:
    """An installation.

    Attributes:
        connect: returns the configuration and the tracker.
        is_broker_answering: asks the broker.
        tracker_clocks: (the tracker's time, ours) of each answer of the tracker.
        is_tracker_open: whether the tracker answered as it should.
        projects: the linked tracker projects as they are now, where the time sufficed; None: they could not be read.
        well: whether each check that was made found all well.
        locked: the tracker's locked users.
        deleted: ids of tracker users who were deleted, of those that people are matched with or that made something.
        limit_s: for how long the tracker is asked at all, in seconds.
        is_late: whether that did not suffice.
        patience_s: for how long linked projects are asked about, in seconds; None: for as long as it takes.
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

    @classmethod
    def of(cls, services: Services) -> Self:
        """Return the one that these services work with."""
        return cls(
            services.settings,
            services.store,
            services.redis,
            services.vault,
            services.checks.connect,
            Publisher(services.settings, services.whose).is_answering,
        )
