"""One installation in simulated time: a help desk, workers, a tracker, and the failures between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Literal
from unittest import mock

from redis.exceptions import RedisError
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.records.transaction import Store
from shared.events.config import PluginConfig, PrivateTexts
from shared.events.delivery import parse_delivery
from shared.events.event import ADDITION_EVENTS
from shared.notices.kinds import Kind
from shared.process.settings import Settings
from shared.redis.circuit_breaker import HELPDESK_KEY, CircuitBreaker
from shared.redis.locks import Locks
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.journal.due import ORDER
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Transaction
from tests.model.clock import Clock
from tests.model.database import MemoryDatabase
from tests.model.helpdesk import SimulatedHelpdesk
from tests.model.memory_redis import SimulatedRedis
from tests.model.stage import END, Actor, Stage, Stop
from tests.model.tracker import SimulatedTracker
from tests.model.workers import drive_together
from tests.support.bridge import DEVELOPER, DEVELOPMENT, PEOPLE, STATUS_MAP, SUPPORT
from tests.support.events import SUPPORT_ENTITY
from tests.support.workflows import naming_creations
from worker.runtime.service import SyncService
from worker.sweep import Sweep
from worker.ticket.enrichment import Completion

SWEEPS = 40
LONG_ENOUGH_S = 1000.7

Claiming = Callable[[Ledger, Sequence[Claim], float], dict[int, int]]


@dataclass(frozen=True)
class Rules:
    """The parameters of one world.

    Attributes:
        tracker_skew: how far the tracker's clock is ahead, in seconds.
        worker_skews: the same for each worker's wall clock.
        date_header: whether the tracker's answers have a Date header.
        policy: how rows in doubt are resolved.
        overstretch: whether a worker may be stopped between its check of the lease and its system call for longer
            than lease and settling time together.
        siblings: whether there is a second ticket.
        keeps_first: whether a person keeps the first of several objects; otherwise the last.
        edits_texts: whether the tracker stores other texts than were sent.
        order: seed for the order in which the steps of the tickets of one batch end.
    """

    tracker_skew: float = 0.0
    worker_skews: tuple[float, ...] = (0.0, 0.0)
    date_header: bool = True
    policy: Literal["lookup", "hold"] = "lookup"
    overstretch: bool = False
    keeps_first: bool = True
    siblings: bool = True
    edits_texts: bool = False
    order: int = 0


@cache
def database() -> MemoryDatabase:
    """Return the database that all worlds share; each world empties it."""
    return MemoryDatabase()


def _settings() -> Settings:
    """Return the workers' settings."""
    return Settings()


class World:
    """One installation.

    Args:
        rules: its parameters.

    Attributes:
        accepted: event id and delivery id of each accepted event.
        overtaken: reports of notes and attachments that were claimed before an earlier one that waited.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.settings, promised = _settings(), Settings()
        self._latest = promised.settling_time - 1
        self.clock, self.stage, self._order = Clock(), Stage(), Random(rules.order)
        self.clock.skew = lambda: self.stage.actor.skew
        self.redis = SimulatedRedis(self.clock, self.stage)
        self.helpdesk = SimulatedHelpdesk(self.clock, self.stage)
        self.tracker = SimulatedTracker(
            self.clock,
            self.stage,
            skew=rules.tracker_skew,
            date_header=rules.date_header,
            latest=self._latest,
            overstretch=rules.overstretch,
        )
        self.tracker.data.settings.edits_texts = rules.edits_texts
        self.database = database()
        self.database.begin_example(self.clock, self.stage)
        self.store = Store(self.database)
        self.workers = [Actor(f"worker {number}", skew) for number, skew in enumerate(rules.worker_skews)]
        self.accepted: list[tuple[int, str]] = []
        self.overtaken: list[str] = []
        self._stack = ExitStack()
        self._begin()

    def _connect(self, tx: Transaction) -> tuple[PluginConfig, Any]:
        tx.configs.get()  # as every caller does before it sends
        return self.config, self.tracker

    def _begin(self) -> None:
        self.config = PluginConfig(
            base_url="http://tracker.test",
            default_activity_id=DEVELOPMENT,
            default_role_id=DEVELOPER,
            status_map=STATUS_MAP,
            in_doubt_policy=self.rules.policy,
            sync_followups="all",
            sync_solutions="on",
            sync_documents="on",
        )
        breaker = CircuitBreaker(self.redis)  # type: ignore[arg-type]
        of_helpdesk = CircuitBreaker(self.redis, HELPDESK_KEY)  # type: ignore[arg-type]
        locks = Locks(self.redis, self.settings.lock_lease)  # type: ignore[arg-type]
        self.service = SyncService(
            self.store,
            self.settings,
            locks,
            breaker,
            self._connect,
            lambda _tickets: True,  # a queue message may always get lost: the sweep notifies again
            Completion(self.store, self.helpdesk, of_helpdesk, 0),  # type: ignore[arg-type]
        )
        self._notified: list[int] = []
        self.sweeper = Sweep(self.store, self.settings, locks, breaker, lambda: 0, self._notify, self._notify)
        self._stack.enter_context(self.clock.in_force())
        self._stack.enter_context(mock.patch.object(Ledger, "claim_all", self._claiming(Ledger.claim_all)))
        self._stack.enter_context(naming_creations())
        with self.store.transaction() as tx:
            tx.configs.put(self.config)
            tx.people.replace_cache(PEOPLE)
            tx.people.remember_member(SUPPORT, 5)
            tx.mappings.put(ProjectMapping(MappingKind.ENTITY, SUPPORT_ENTITY, SUPPORT, None))

    def _claiming(self, real: Claiming) -> Claiming:
        """Wrap `claim_all` to record each worker's claims with their deadlines, and additions out of order."""

        def claim(ledger: Ledger, claims: Sequence[Claim], lease: float) -> dict[int, int]:
            arrives_by = self.clock.now + lease + self._latest
            given = real(ledger, claims, lease)
            self.stage.actor.claims.update({(ledger.kind, key): arrives_by for key in given})
            for one in claims if ledger.kind.is_addition else ():
                if one.key in given:
                    self._look_for_earlier(ledger, one)
            return given

        return claim

    def _look_for_earlier(self, ledger: Ledger, claim: Claim) -> None:
        """Record each earlier addition to the issue that waits and already waited when the worker began."""
        rows = ledger._session.scalars(
            select(JournalEvent)
            .where(JournalEvent.ticket_id == claim.ticket_id, JournalEvent.event.in_(ADDITION_EVENTS))
            .order_by(*ORDER)
        )
        tx = Transaction(ledger._session)
        for row in rows:
            if row.id == claim.event_id:
                return
            kind, key = row.key.split(":")
            sent = tx.ledger(Kind(kind)).get(int(key))
            waits = row.state == EventState.PENDING and row.id in self.stage.actor.pending_additions
            if (
                waits
                and row.key != f"{ledger.kind}:{claim.key}"
                and (not sent or sent.state != LedgerState.LINKED)
            ):
                self.overtaken.append(
                    f"event {claim.event_id} before event {row.id}, which is earlier and waits"
                )

    def _begins(self) -> None:
        """Record the additions that are pending when an actor begins."""
        with self.database.engine.connect() as connection:
            found = select(JournalEvent.id).where(
                JournalEvent.state == EventState.PENDING, JournalEvent.event.in_(ADDITION_EVENTS)
            )
            self.stage.actor.pending_additions = set(connection.scalars(found))

    def _notify(self, tickets: list[int]) -> bool:
        self._notified += tickets
        return True

    def receive(self, event: dict[str, Any], delivery_id: str) -> None:
        """Receive an event as the producer does: it counts as accepted only if its commit succeeds visibly."""
        delivery = parse_delivery(event, delivery_id)
        try:
            with self.store.transaction() as tx:
                kept = PrivateTexts.FOLLOWUPS
                (answer,) = tx.journal.append([delivery], self.clock.moment(), private_text=kept)
        except SQLAlchemyError:
            return
        self.accepted.append((answer.event_id, delivery_id))

    def sync(self, ticket_id: int) -> None:
        """Sync a ticket as a worker does for a queue message (`worker.celery_tasks`)."""
        self._begins()
        with suppress(SQLAlchemyError, RedisError):  # left to the sweep
            self.service.sync(ticket_id)

    def sync_together(self, ticket_ids: list[int]) -> None:
        """Sync several tickets as a worker does for a queue message of several: in a batch, with shared steps."""
        self._begins()
        drive_together(self.service.sync_ticket, ticket_ids, self.clock, self._order)

    def begin_sync(self, worker: Actor, ticket_ids: list[int], stop: Stop) -> None:
        """Have a worker begin to sync a ticket, or several in a batch, and run to the stop."""

        def work() -> None:
            if len(ticket_ids) > 1:
                self.sync_together(ticket_ids)
            else:
                self.sync(ticket_ids[0])

        worker.begin(self.stage.play(worker, work), stop)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds
        self.tracker.let_time_pass()

    def sweep(self) -> int:
        """Sweep once and sync the notified tickets; return how many there were."""
        try:
            self.sweeper.notify_due()
        except (SQLAlchemyError, RedisError):
            return 0
        notified, self._notified = self._notified, []
        self.sync_together(notified)
        return len(notified)

    def heal(self) -> int:
        """End every failure and sweep until nothing is due; return how many sweeps that took."""
        self.tracker.fates.clear()
        self.helpdesk.away = 0
        self.database.troubles.clear()
        for sweeps in range(SWEEPS):
            self.advance(LONG_ENOUGH_S)
            paused = self.sweeper.breaker.current()
            if not self.sweep() and (paused is None or paused.until < self.clock.now):
                return sweeps
        raise AssertionError(f"still not synced after {SWEEPS} sweeps")

    def finish(self) -> None:
        """Let every worker finish its work."""
        for worker in self.workers:
            if worker.is_busy:
                worker.go_on(END)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Suspend the database's failures within the block."""
        troubles = list(self.database.troubles)
        self.database.troubles.clear()
        yield
        self.database.troubles.extend(troubles)

    def close(self) -> None:
        """Kill the workers that are still running and restore the real clock."""
        for worker in self.workers:
            if worker.is_busy:
                worker.kill()
        self._stack.close()
