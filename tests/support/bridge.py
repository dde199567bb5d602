"""A whole deskbridge without processes: real database, real Redis, any tracker; one call syncs one ticket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from cryptography.fernet import Fernet
from pydantic import SecretStr
from sqlalchemy import update

from producer.admin.records.transaction import Store
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.events.config import PluginConfig
from shared.events.delivery import parse_delivery
from shared.helpdesk.lookup import HelpdeskLookup
from shared.process.settings import Settings
from shared.redis.circuit_breaker import HELPDESK_KEY, CircuitBreaker
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.installation import Whose
from shared.redis.locks import Locks, make_redis
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.database import Database
from shared.store.tables.journal import JournalEvent, TicketState
from shared.store.tables.ledger import LEDGERS
from shared.store.tables.types import clock
from tests.support.databases import made_file, make_file, make_tables
from tests.support.events import SUPPORT_ENTITY, delivery_id
from tests.support.together import drive_together
from worker.runtime.service import SyncService
from worker.ticket.enrichment import Completion
from worker.ticket.results import Result

SUPPORT = 1
DEVELOPER = 4
DEVELOPMENT = 9
STATUS_MAP = {1: 1, 2: 2, 5: 3, 6: 5}
KEY = Fernet.generate_key().decode()
"""The encryption key of all installations in one test process."""

PEOPLE = [
    TrackerPerson(1, "admin", "Redmine Admin", "admin@example.net", admin=True),
    TrackerPerson(5, "alice", "Alice Archer", "alice@example.test"),
    TrackerPerson(6, "bob", "Bob Baker", "bob@example.test"),
    TrackerPerson(7, "carol", "Carol Clark", "carol@example.test"),
    TrackerPerson(8, "erin", "Erin Evans", "erin@example.test"),
]


def fill(store: Store, base_url: str, api_key: str) -> None:
    """Set up what every test installation has: a tracker, its users, and one project mapping."""
    with store.transaction() as tx:
        tx.configs.put_api_key(Vault((SecretStr(KEY),)).encrypt(SecretStr(api_key)))
        tx.people.replace_cache(PEOPLE)
        tx.mappings.put(ProjectMapping(MappingKind.ENTITY, SUPPORT_ENTITY, SUPPORT, None))
    configure(
        store,
        base_url=base_url,
        default_activity_id=DEVELOPMENT,
        default_role_id=DEVELOPER,
        status_map=STATUS_MAP,
        text_formatting="plain",
    )


def configure(store: Store, **values: Any) -> None:
    """Change configuration values."""
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(PluginConfig.model_validate({**config.model_dump(), **values}))


@cache
def _filled(base_url: str, api_key: str) -> bytes:
    return made_file(lambda store: fill(store, base_url, api_key))


class Bridge:
    """One installation for tests.

    Args:
        database_url: address of an empty database.
        redis_url: address of an empty Redis.
        base_url: address of the tracker.
        api_key: key of the tracker's administrator.
        lookup: client of the help desk, if it can be queried.
        content: makes the SQLite file from the tracker's address and key, if it needs more than the usual data.
        settings: settings that differ from the tests' defaults.
    """

    def __init__(
        self,
        database_url: str,
        redis_url: str,
        base_url: str,
        api_key: str,
        *,
        lookup: HelpdeskLookup | None = None,
        content: Callable[[str, str], bytes] | None = None,
        **settings: Any,
    ) -> None:
        self.settings = Settings(
            database_url=SecretStr(database_url),
            redis_url=SecretStr(redis_url),
            secret_keys=(SecretStr(KEY),),
            **settings,
        )
        is_new = make_file(database_url, lambda: (content or _filled)(base_url, api_key))
        self.store = Store(Database(database_url, pool_size=10, prepares=True))
        make_tables(self.store.database)
        vault = Vault(self.settings.secret_keys)
        self.redis = make_redis(self.settings, Whose(self.store.database))
        self.redis.whose()
        self.breaker = CircuitBreaker(self.redis)
        self.notified: list[int] = []
        self.connect = Connector(self.store, vault).connect
        self.service = SyncService(
            self.store,
            self.settings,
            Locks(self.redis, self.settings.lock_lease, remembers_days=self.settings.retention_days),
            self.breaker,
            self.connect,
            self._notify,
            Completion(
                self.store, lookup, CircuitBreaker(self.redis, HELPDESK_KEY), self.settings.helpdesk_wait
            ),
            unable=lambda _why: Heartbeats(self.redis).mark_unable(WORKER),
        )
        if not is_new:
            fill(self.store, base_url, api_key)

    def _notify(self, ticket_ids: list[int]) -> bool:
        self.notified += ticket_ids
        return True

    def configure(self, **values: Any) -> None:
        """Change configuration values."""
        configure(self.store, **values)

    def link(
        self, kind: MappingKind, helpdesk_id: int, project_id: int, category_id: int | None = None
    ) -> None:
        """Map a help desk project or entity to a tracker project."""
        with self.store.transaction() as tx:
            tx.mappings.put(ProjectMapping(kind, helpdesk_id, project_id, category_id))

    def receive(self, *events: dict[str, Any]) -> list[int]:
        """Append events to the journal as the producer does; return their ids."""
        deliveries = [parse_delivery(event, delivery_id()) for event in events]
        with self.store.transaction() as tx:
            private_text = tx.journal.keeps_private_text()
            accepted = tx.journal.append(deliveries, datetime.now(UTC), private_text=private_text)
        return [one.event_id for one in accepted]

    def sync(self, ticket_id: int = 4711) -> list[Result]:
        """Sync one ticket, then the tickets that this notified."""
        results = self.service.sync(ticket_id)
        for notified in list(dict.fromkeys(self.notified)):
            self.notified.remove(notified)
            results += self.service.sync(notified)
        return results

    def sync_together(self, *ticket_ids: int, callers: int = 4) -> None:
        """Sync several tickets, sharing their steps as a worker does."""
        drive_together(self.service.sync_ticket, ticket_ids, callers=callers)

    def forward(self, *events: dict[str, Any], ticket_id: int = 4711) -> list[str]:
        """Append events, sync the ticket, and return the events' states in their order."""
        ids = self.receive(*events)
        self.sync(ticket_id)
        return [self.event(event_id).state for event_id in ids]

    def event(self, event_id: int) -> JournalEvent:
        """Return an event of the journal."""
        with self.store.transaction() as tx:
            return next(row for row in tx.journal.find(limit=None) if row.id == event_id)

    def age(self, seconds: float) -> None:
        """Make all events older, as if time had passed; Redis forgets when the newest one arrived."""
        with self.store.database.transaction() as session:
            session.execute(update(JournalEvent).values(received_at=clock(-seconds)))
        self.service.locks.forget_newest()

    def hurry(self) -> None:
        """Make everything that waits due now, as if its time had come."""
        with self.store.database.transaction() as session:
            session.execute(update(JournalEvent).values(next_attempt_at=None))
            session.execute(update(TicketState).values(status_next_at=None))
            session.execute(
                update(TicketState).where(TicketState.fields_due.is_not(None)).values(fields_at=None)
            )
            for model in LEDGERS:
                session.execute(
                    update(model).where(model.settle_after.is_not(None)).values(settle_after=clock())
                )

    def steps(self, ticket_id: int = 4711) -> Sequence[str]:
        """Return a ticket's history as lines."""
        with self.store.transaction() as tx:
            return [f"{step.what} ({step.why})" for step in tx.trace.of_ticket(ticket_id)]

    def close(self) -> None:
        """Close the connections."""
        self.store.database.close()
        self.redis.close()
