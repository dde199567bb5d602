"""What the workflow of a ticket works with: `TicketContext`, and the operations on the database that it runs.

The workflow imports no driver and no event loop. It awaits what the context's methods return; anyone who drives the
workflow decides when and where each of these steps is carried out, and which of them share a transaction.
"""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, ParamSpec, Self, TypeVar

from shared.errors import LockBusy, Outdated, TrackerFailing
from shared.events.config import PluginConfig
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.limits import CallLimit
from shared.notices.notice import Notice
from shared.notices.steps import Actor, What
from shared.process.settings import Settings
from shared.redis.circuit_breaker import CircuitBreaker
from shared.redis.locks import HeldLock, Locks
from shared.store.configuration.matching import Match
from shared.store.configuration.templates import ActiveTemplate
from shared.store.decisions import Decisions
from shared.store.journal.trace import Step as TraceStep
from shared.store.transaction import Store, Transaction
from shared.telemetry.logs import get_logger, log_fields
from shared.tracker.answers import Answer
from shared.tracker.client import CallRecord, TrackerClient
from shared.tracker.lists import TrackerLists
from worker.ticket.confirmed import Confirmed
from worker.ticket.enrichment import Completion
from worker.ticket.outages import UnclearAnswers
from worker.ticket.retry import backoff
from worker.ticket.settings_cache import Known, SettingsCache
from worker.ticket.steps import Blocking, BlockingCall, Pool, Release, Slot, Step
from worker.ticket.tracker import TicketTracker

log = get_logger("sync")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)


@dataclass(frozen=True)
class Services:
    """What a worker process works on tickets with.

    Attributes:
        connect: returns the configuration, and a client of its tracker.
        notify: notifies tickets whose waiting work can go on.
        completion: finds out what events lack.
        call_limit: returns how many calls this process makes at once, and why no more; None: there is no limit.
        kept: what was read before and was not changed since.
        unclear_answers: those of all tickets of the process.
        unable: is told that this process cannot open the stored API key, which others may; None: that stops everyone.
        confirmed: what the tracker takes, so that it need not be read back.
    """

    store: Store
    settings: Settings
    locks: Locks
    breaker: CircuitBreaker
    connect: Callable[[Transaction], tuple[PluginConfig, TrackerClient]]
    notify: Callable[[list[int]], bool]
    completion: Completion
    call_limit: Callable[[], CallLimit | None] = lambda: None
    kept: SettingsCache = field(default_factory=SettingsCache)
    unclear_answers: UnclearAnswers = field(default_factory=UnclearAnswers)
    unable: Callable[[Notice], None] | None = None
    confirmed: Confirmed = field(default_factory=Confirmed)


@dataclass
class TicketContext:
    """What the workflow of one ticket works with, during one pass over the ticket.

    Attributes:
        services: those of the process.
        ticket_id: the ticket.
        config: the Redmine settings, as they were when the ticket was loaded.
        client: makes the calls to the tracker; the workflow makes them by `tracker`.
        lock: the ticket's lock, which is held.
        templates: the active templates, by operation.
        people: help desk users (`People.who`) to who they are on the tracker; others were not read.
        members: (tracker project, tracker user) to whether the membership is known; others were not read.
        known: what the process keeps, as it was when the ticket was loaded.
        steps: what happened so far, for the ticket history; each commit stores it.
        to_notify: other tickets that are notified at the end, since their waiting work can go on.
        attached: documents that were attached in this pass, or will be once there is an issue: number to file name.
        moved: issues that are in another tracker project than was known when the ticket was loaded.
        answered: whether the tracker has given any clear answer.
        probes: whether all other tickets wait for what the tracker answers.
        is_outdated: whether the pass ended early, since settings were changed; a status may be due without an event.
        about: what each log line says of the events.
        began_at: when the ticket was loaded (monotonic seconds).
        basis: the version of the settings then (`Configs.basis`).
    """

    services: Services
    ticket_id: int
    config: PluginConfig
    client: TrackerClient
    lock: HeldLock
    templates: Mapping[str, ActiveTemplate] = field(default_factory=dict)
    people: dict[tuple[int, str | None], Match] = field(default_factory=dict)
    members: dict[tuple[int, int], bool] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    steps: list[TraceStep] = field(default_factory=list)
    to_notify: set[int] = field(default_factory=set)
    attached: dict[int, str] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    answered: bool = False
    probes: bool = False
    is_outdated: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    began_at: float = field(default_factory=time.monotonic)
    basis: int | None = None

    @property
    def settings(self) -> Settings:
        """The environment settings."""
        return self.services.settings

    @property
    def store(self) -> Store:
        """The store, for functions that block (`blocking`, `metadata`)."""
        return self.services.store

    @property
    def db(self) -> TicketDatabase:
        """The database."""
        return TicketDatabase(self)

    @property
    def redis(self) -> TicketRedis:
        """Redis."""
        return TicketRedis(self.services.locks)

    @property
    def tracker(self) -> TicketTracker:
        """The tracker; each call is in the ticket history."""
        return TicketTracker(self.client, self.observe, self.lock.check, self.config.trial)

    def slot(self) -> Slot:
        """Return one of the calls that this process may make at once, to be held by `async with`.

        Raises:
            NotBegun: nothing new starts any more (raised on entering).
        """
        return Slot()

    async def call_unclaimed(
        self, method: str, path: str, body: Any, *, expected: Collection[int] = ()
    ) -> Answer:
        """Make a call as the API user for which no ledger row is claimed; the arguments are those of `tracker.call`.

        Right before it leaves, the settings and the ticket's lock are checked: another worker that took the lock may
        have sent something newer.

        Raises:
            Outdated: nothing was sent; what the request was built from was changed.
            LockBusy: nothing was sent; the lock was lost, or nothing new starts any more.
            NotYet, TrackerError: as `TicketTracker.call_as_api_user`.
        """
        async with self.slot():
            await self.tracker.wait_for_rate_limit()
            await self.db.check_settings()
            return await self.tracker.call_as_api_user(
                method, path, body, self.lock.check, expected=expected, has_waited=True
            )

    def blocking(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
        """Call a function that may take long and makes no call, in a thread."""
        return Blocking(Pool.OTHERS, lambda: do(*args, **kwargs))

    def metadata(self, read: Callable[[Store, TrackerLists], T]) -> Step[T]:
        """Call a function that reads metadata from the tracker, in a thread.

        Args:
            read: is given the store and the tracker's lists; each call is in the ticket history.

        Raises:
            NotBegun: nothing new starts any more.
        """
        return BlockingCall(Pool.TRACKER, lambda: read(self.store, self._lists))

    def helpdesk(self, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
        """Call a function that asks the help desk, in a thread.

        Raises:
            NotBegun: nothing new starts any more.
        """
        return BlockingCall(Pool.HELPDESK, lambda: ask(*args, **kwargs))

    @property
    def _lists(self) -> TrackerLists:
        return TrackerLists(self.client, observe=self.observe)

    def decisions(self, tx: Transaction, kind: Kind) -> Decisions:
        """Return what carries decisions out in a transaction of this ticket."""
        return Decisions(tx, kind, self.note, self.config, self.to_notify)

    def note(
        self, what: Notice, *, task_id: int | None = None, ticket_id: int | None = None, warning: bool = False
    ) -> None:
        """Note a step for the ticket history, and log it."""
        self.steps.append(TraceStep(ticket_id or self.ticket_id, what, task_id))
        tell = log.warning if warning else log.info
        told = {**self.about, **log_fields(what)}
        tell(**told, ticket_id=ticket_id or self.ticket_id, task_id=task_id)

    def warn(self, what: Notice, *, task_id: int | None = None) -> None:
        """Note a step that a person should know of, and log it as a warning."""
        self.note(what, task_id=task_id, warning=True)

    def observe(self, record: CallRecord) -> None:
        """Keep a call for the ticket history; log what the tracker refused (SPEC section 7).

        Raises:
            TrackerFailing: it got no clear answer, as others before it.
        """
        told = What.CALL_ANSWERED if record.status else What.CALL_UNANSWERED
        what = told(
            method=record.method,
            path=record.path,
            actor=Actor.AS_PERSON(login=record.login) if record.login else Actor.AS_ADMINISTRATOR(),
            status=record.status,
            ms=record.milliseconds,
            error=record.error,
        )
        call = {
            "method": record.method,
            "path": record.path,
            "as": record.login,
            "status": record.status,
            "ms": record.milliseconds,
            "body": record.body,
        }
        self.steps.append(TraceStep(self.ticket_id, what, call=call))
        if record.error:
            log.warning(**log_fields(what), ticket_id=self.ticket_id)
        if record.is_clear:
            self.answered = True
            self.services.unclear_answers.good()
        elif record.is_unclear and self._is_outage():
            detail = record.error.params.get("detail") if record.error else None
            raise TrackerFailing(record.method, record.path, status=record.status, detail=detail)

    def _is_outage(self) -> bool:
        """Return whether an unclear answer is one of many, or all that a probe got."""
        is_failed_probe = self.probes and not self.answered
        return self.services.unclear_answers.unclear(self.ticket_id) or is_failed_probe

    def now(self, then: datetime) -> datetime:
        """Return the time by the database's clock, of which it is known what it was when the ticket was loaded."""
        return then + timedelta(seconds=time.monotonic() - self.began_at)

    def later(self, then: datetime, attempts: int) -> datetime:
        """Return when to try again after so many attempts, by the same clock."""
        return self.now(then) + timedelta(seconds=backoff(attempts, random.random()))  # noqa: S311 (jitter)


@dataclass(frozen=True)
class TicketDatabase:
    """Runs operations on the database for one ticket; what was noted so far is committed with each of them.

    Attributes:
        ctx: the ticket's context.
    """

    ctx: TicketContext

    def run(self, operation: DbOp[R]) -> DbOp[R]:
        """Run an operation, in a transaction that others may share."""
        return operation

    def change(self, change: Callable[[Transaction], T]) -> DbOp[T]:
        """Read or change something of this ticket."""
        return Change(self.ctx, change)

    async def change_if_current(
        self, change: Callable[[Transaction], T], *, of_status: int | None = None
    ) -> T:
        """Change something that follows from the settings, unless they were changed since the ticket was loaded.

        Args:
            change: makes the change.
            of_status: it follows from nothing but what this help desk status is mapped to.

        Raises:
            Outdated: they were; nothing was changed.
        """
        changed = await ChangeIfCurrent(self.ctx, change, of_status)
        if isinstance(changed, Outdated):
            raise changed
        return changed

    async def check_settings(self) -> None:
        """Look right before a request that no claim stands for.

        Raises:
            Outdated: what the request was built from was changed in the meantime.
        """
        basis = self.ctx.basis
        if basis is not None and not await self.change(lambda tx: tx.configs.is_basis(basis)):
            raise Outdated(Fault.SETTINGS_REPLACED())


@dataclass(frozen=True)
class TicketRedis:
    """Redis as the workflow of a ticket needs it.

    Attributes:
        locks: those of the process.
    """

    locks: Locks

    def once(self, name: str, seconds: float) -> Step[bool]:
        """Return whether this is the first time within so many seconds that any process asks."""
        return Blocking(Pool.NOTES, lambda: self.locks.once(name, seconds))

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Hold a lock during the block.

        Raises:
            LockBusy: another process holds it.
        """
        (held,) = await Blocking(Pool.NOTES, lambda: self.locks.take_all([name]))
        if isinstance(held, LockBusy):
            raise held
        try:
            yield
        finally:
            await Release(self.locks, held)


@contextmanager
def transaction_of(owners: Sequence[TicketContext | Services]) -> Iterator[Transaction]:
    """Open a transaction for some tickets; what each has noted is committed with it.

    What was noted within a transaction that fails has not happened.
    """
    contexts = [one for one in owners if isinstance(one, TicketContext)]
    before = [len(ctx.steps) for ctx in contexts]
    try:
        with owners[0].store.transaction() as tx:
            yield tx
            tx.trace.append([step for ctx in contexts for step in ctx.steps])
    except BaseException:
        for ctx, count in zip(contexts, before, strict=True):
            del ctx.steps[count:]
        raise
    for ctx in contexts:
        ctx.steps.clear()


class DbOp(Step[R]):
    """An operation on the database, in one transaction: that of this ticket alone, or of many.

    Attributes:
        lane: `write`, or `read` for what no call waits for: it is done beside all writing.
        linger: whether it waits for a moment for others, with which it shares a transaction.
        durable: whether its commit must reach the disk.
        order: what has a lower number comes first in a shared transaction.
        splits: whether it consists of parts which, if it fails, are done again one after the other.
    """

    lane: ClassVar[Literal["write", "read"]] = "write"
    linger: ClassVar[bool] = False
    durable: ClassVar[bool] = True
    order: ClassVar[int] = 0
    splits: ClassVar[bool] = False

    @property
    def locks_settings(self) -> bool:
        """Whether it decides by settings, which then stay as they are until its commit (`Configs.status_map`)."""
        return False

    @abstractmethod
    def owner(self) -> TicketContext | Services:
        """Return the ticket's context; before there is one, the services of the process."""

    @classmethod
    @abstractmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[R]:
        """Do some of a kind, each of another ticket; return the result of each, in their order."""

    def carry_out(self) -> R:
        """Do it in a transaction of its own."""
        with transaction_of([self.owner()]) as tx:
            (found,) = self.execute_many(tx, [self])
            return found


@dataclass(frozen=True)
class Change(DbOp[T]):
    """A change for one ticket."""

    ctx: TicketContext
    change: Callable[[Transaction], T]

    def owner(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[T]:
        """Make some, one after the other."""
        return [one.change(tx) for one in operations]


@dataclass(frozen=True)
class ChangeIfCurrent(DbOp[T | Outdated]):
    """A change for one ticket that must follow from the current settings: a person who changes them looks for it.

    Its result is the error if they were changed since the ticket was loaded.
    """

    ctx: TicketContext
    change: Callable[[Transaction], T]
    of_status: int | None = None

    @property
    def locks_settings(self) -> bool:
        return True

    def owner(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[T | Outdated]:
        """Make those changes that still follow."""
        status_map, basis = tx.configs.status_map(), tx.configs.changes()
        return [
            one.change(tx) if one._follows(status_map, basis) else Outdated(Fault.SETTINGS_REPLACED())
            for one in operations
        ]

    def _follows(self, status_map: Mapping[int, int], basis: int) -> bool:
        if self.of_status is None:
            return self.ctx.basis in (None, basis)
        return status_map.get(self.of_status) == self.ctx.config.status_map.get(self.of_status)
