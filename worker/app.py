"""The wiring of the worker process: the one place where its collaborators are built."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from celery import Celery
from redis import Redis
from sqlalchemy.exc import SQLAlchemyError

from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.helpdesk.configured import configured_lookup
from shared.helpdesk.lookup import HelpdeskLookup
from shared.process.outbound import Outbound
from shared.process.settings import Settings
from shared.queue.celery_app import make_celery, waiting
from shared.queue.publisher import Publisher
from shared.redis.circuit_breaker import HELPDESK_KEY, CircuitBreaker
from shared.redis.heartbeat import Heartbeats
from shared.redis.locks import Locks, make_redis
from shared.redis.rate_limit import RateLimiter
from shared.store.tables.database import Database
from shared.store.transaction import Store
from shared.tracker.meter import Meter
from worker.ability import Ability
from worker.health import EXIT_CODE, ProgressCheck
from worker.runtime.concurrency import ConcurrencyLimit
from worker.runtime.runner import MOST_THREADS
from worker.runtime.scheduler import Scheduler
from worker.runtime.service import SyncService
from worker.sweep import Sweep
from worker.ticket.enrichment import Completion

MOST_CALLS_AT_THE_DATABASE = 16
"""The call threads that use the database at once: only a few do, and a server has a hundred connections."""


@dataclass(frozen=True)
class Worker:
    """Everything that a worker process uses.

    Attributes:
        lookup: the client of the help desk's API, or None if there is none.
        scheduler: syncs the tickets that messages name.
        meter: measures its calls.
        limit: limits how many calls it makes at once.
        stopping: set once the process must end.
        ability: whether it can open the stored API key.
        progress: checks that its work makes progress.
        waiting: returns how many messages wait in its queues.
    """

    app: Celery
    settings: Settings
    store: Store
    redis: Redis
    locks: Locks
    breaker: CircuitBreaker
    connector: Connector
    service: SyncService
    sweep: Sweep
    heartbeats: Heartbeats
    publisher: Publisher
    progress: ProgressCheck
    waiting: Callable[[], int]
    lookup: HelpdeskLookup | None
    scheduler: Scheduler
    meter: Meter
    limit: ConcurrencyLimit
    stopping: threading.Event
    ability: Ability

    def still_due(self, ticket_ids: list[int]) -> list[int]:
        """Return the tickets that have a due event, or all of them if the database fails.

        The sweep's messages wait behind a backlog of messages for the same tickets, which may be done by then.
        """
        try:
            with self.store.transaction() as tx:
                due = tx.journal.have_due(ticket_ids)
        except SQLAlchemyError:
            return ticket_ids
        return [one for one in ticket_ids if one in due]


def bootstrap(settings: Settings, installation: str, *, concurrency: int) -> Worker:
    """Build a worker's collaborators.

    Args:
        settings: the process's settings.
        installation: the id of the installation whose tickets it works on.
        concurrency: the most calls at the same time.
    """
    app = make_celery(settings, installation)
    redis = make_redis(settings, lambda: installation)
    store = Store(
        Database(
            settings.database_url.get_secret_value(),
            pool_size=min(concurrency, MOST_CALLS_AT_THE_DATABASE) + MOST_THREADS + 1,
            prepares=True,
        )
    )
    locks = Locks(
        redis, settings.lock_lease, keeps=True, give_up=_give_up, remembers_days=settings.retention_days
    )
    breaker = CircuitBreaker(redis)
    limit = ConcurrencyLimit(concurrency)
    meter = Meter(limit.add)
    publisher, lookup = Publisher(settings, lambda: installation), configured_lookup(settings)
    connector = Connector(
        store,
        Vault(settings.secret_keys),
        RateLimiter(redis, settings.rate_limit).next_turn if settings.rate_limit else None,
        allow_link_local=settings.allow_link_local,
        meter=meter,
        outbound=Outbound.of(settings),
    )
    completion = Completion(store, lookup, CircuitBreaker(redis, HELPDESK_KEY), settings.helpdesk_wait)
    stopping, heartbeats = threading.Event(), Heartbeats(redis)
    ability = Ability(heartbeats, connector.connect, stopping)
    service = SyncService(
        store,
        settings,
        locks,
        breaker,
        connector.connect,
        publisher.notify,
        completion,
        lambda: limit.current,
        unable=ability.lose,
    )
    scheduler = Scheduler(
        service.sync_ticket, concurrency, _give_up, limit, is_limited=settings.rate_limit > 0
    )
    count_waiting = partial(waiting, make_celery(settings, installation, publish_only=True))
    return Worker(
        app=app,
        settings=settings,
        store=store,
        redis=redis,
        locks=locks,
        breaker=breaker,
        heartbeats=heartbeats,
        ability=ability,
        publisher=publisher,
        progress=ProgressCheck(scheduler, count_waiting),
        waiting=count_waiting,
        scheduler=scheduler,
        meter=meter,
        limit=limit,
        stopping=stopping,
        connector=connector,
        lookup=lookup,
        service=service,
        sweep=Sweep(
            store,
            settings,
            locks,
            breaker,
            count_waiting,
            publisher.notify,
            partial(publisher.notify, if_due=True),
        ),
    )


def _give_up() -> None:
    """End the process, so that it is restarted. Its claims are resolved as after any crash."""
    os._exit(EXIT_CODE)
