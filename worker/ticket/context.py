"""`TicketContext`, through which a ticket's workflow uses all services, and the database operations that it runs.

The workflow imports no driver and no event loop. It awaits the steps that the context's methods return. The driver of
the workflow decides when and where each step is executed, and which steps share a transaction.
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
from shared.helpdesk.lookup import ListedNotes
from shared.notices.faults import Fault
from shared.notices.kinds import Kind, RowId
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
from shared.store.ledger.send_window import SendWindow
from shared.store.transaction import Store, Transaction
from shared.telemetry.logs import get_logger, log_fields
from shared.tracker.answers import Answer
from shared.tracker.client import CallRecord, TrackerClient
from shared.tracker.lists import TrackerLists
from worker.ticket.confirmed import Confirmed
from worker.ticket.enrichment import Completion
from worker.ticket.outages import UnclearAnswers
from worker.ticket.retry import backoff
from worker.ticket.settings_cache import CachedSettings, SettingsCache
from worker.ticket.steps import Blocking, BlockingCall, Pool, Release, Slot, Step
from worker.ticket.tracker import TicketTracker

log = get_logger("sync")
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)


@dataclass(frozen=True)
class Services:
    """The services that a worker process uses for its tickets.

    Attributes:
        connect: returns the Redmine settings, and a client of that tracker.
        notify: sends queue messages for tickets whose waiting work can continue.
        completion: finds data that events lack.
        call_limit: returns the limit of concurrent calls and its cause, or None if there is no limit.
        kept: the settings cache.
        unclear_answers: counts the unclear answers of all tickets of the process.
        unable: called if this process cannot open the stored API key, but others may; if None, all tickets wait.
        confirmed: values that the tracker has accepted, so that they need not be read back.
    """

    store: Store
    settings: Settings
    locks: Locks
    breaker: CircuitBreaker
    connect: Callable[[Transaction], tuple[PluginConfig, TrackerClient]]
    notify: Callable[[list[int]], bool]
    completion: Completion
    call_limit: Callable[[], CallLimit | None] = lambda: None
    settings_cache: SettingsCache = field(default_factory=SettingsCache)
    unclear_answers: UnclearAnswers = field(default_factory=UnclearAnswers)
    unable: Callable[[Notice], None] | None = None
    confirmed: Confirmed = field(default_factory=Confirmed)


@dataclass
class TicketContext:
    """Everything that the workflow of one ticket uses during one sync pass.

    Attributes:
        services: the services of the process.
        ticket_id: the ticket.
        config: the Redmine settings, as they were when the ticket was loaded.
        client: makes the calls to the tracker; the workflow uses it through `tracker`.
        lock: the ticket's lock, which is held.
        templates: the active templates, by operation.
        people: help desk user (`People.who`) to their match on the tracker; only loaded users.
        members: (tracker project, tracker user) to whether the membership is known; only loaded pairs.
        cached: the settings cache as it was when the ticket was loaded.
        steps: the steps so far, for the ticket history; each commit stores them.
        to_notify: other tickets to notify at the end, because their waiting work can continue.
        attached: documents attached in this pass, or to attach once there is an issue: number to file name.
        newest_notes: issue to the newest tracker id among its notes, as read last.
        listed_notes: the notes that the help desk lists in this pass.
        moved: issue to its tracker project, if that is not the one that was loaded.
        answered: whether the tracker has given any clear answer.
        probes: whether all other tickets wait for the tracker's answer.
        created: when the help desk created what has these keys now, if known.
        recognised: for how long the ticket's existing issue counts as the one that it was when it was read last.
        is_outdated: whether the pass ended early because settings changed; a status may be due without an event.
        about: the log fields of the events, for each log line.
        began_at: when the ticket was loaded (monotonic seconds).
        basis: the settings version at that time (`Configs.basis`).
    """

    services: Services
    ticket_id: int
    config: PluginConfig
    client: TrackerClient
    lock: HeldLock
    templates: Mapping[str, ActiveTemplate] = field(default_factory=dict)
    people: dict[tuple[int, str | None], Match] = field(default_factory=dict)
    members: dict[tuple[int, int], bool] = field(default_factory=dict)
    cached: CachedSettings = field(default_factory=CachedSettings)
    steps: list[TraceStep] = field(default_factory=list)
    to_notify: set[int] = field(default_factory=set)
    attached: dict[int, str] = field(default_factory=dict)
    newest_notes: dict[int, int] = field(default_factory=dict)
    listed_notes: ListedNotes = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    created: Mapping[RowId, datetime | None] = field(default_factory=dict)
    answered: bool = False
    probes: bool = False
    recognised: SendWindow | None = None
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
        """The tracker; each call is recorded in the ticket history."""
        return TicketTracker(self.client, self.observe, self.lock.check, self.config.trial)

    def slot(self) -> Slot:
        """Return one of the claims that this process may have at once, to hold with `async with`.

        Raises:
            NotStarted: if nothing new may start (raised on entering).
        """
        return Slot()

    async def call_unclaimed(
        self, method: str, path: str, body: Any, *, expected: Collection[int] = ()
    ) -> Answer:
        """Make a call as the API user without a claimed ledger row; the arguments are those of `tracker.call`.

        The settings and the ticket's lock are checked right before the request is sent: another worker that took the
        lock may have sent something newer.

        Raises:
            Outdated: if the data that the request was built from has changed; nothing was sent.
            LockBusy: if the lock was lost, or nothing new may start; nothing was sent.
            NotYet, TrackerError: as for `TicketTracker.call_as_api_user`.
        """
        async with self.slot():
            await self.tracker.wait_for_rate_limit()
            await self.db.check_settings()
            return await self.tracker.call_as_api_user(
                method, path, body, self.lock.check, expected=expected, has_waited=True
            )

    def blocking(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
        """Call a function that may take long but makes no external call, in a thread."""
        return Blocking(Pool.OTHERS, lambda: do(*args, **kwargs))

    def metadata(self, read: Callable[[Store, TrackerLists], T]) -> Step[T]:
        """Call a function that reads metadata from the tracker, in a thread.

        Args:
            read: receives the store and the tracker's lists; each call is recorded in the ticket history.

        Raises:
            NotStarted: if nothing new may start.
        """
        return BlockingCall(Pool.TRACKER, lambda: read(self.store, self._lists))

    def helpdesk(self, ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
        """Call a function that queries the help desk, in a thread.

        Raises:
            NotStarted: if nothing new may start.
        """
        return BlockingCall(Pool.HELPDESK, lambda: ask(*args, **kwargs))

    @property
    def _lists(self) -> TrackerLists:
        return TrackerLists(self.client, observe=self.observe)

    def decisions(self, tx: Transaction, kind: Kind) -> Decisions:
        """Return the object that applies decisions in a transaction of this ticket."""
        return Decisions(tx, kind, self.note, self.config, self.to_notify)

    def note(
        self, what: Notice, *, task_id: int | None = None, ticket_id: int | None = None, warning: bool = False
    ) -> None:
        """Record a step for the ticket history, and log it."""
        self.steps.append(TraceStep(ticket_id or self.ticket_id, what, task_id))
        tell = log.warning if warning else log.info
        told = {**self.about, **log_fields(what)}
        tell(**told, ticket_id=ticket_id or self.ticket_id, task_id=task_id)

    def warn(self, what: Notice, *, task_id: int | None = None) -> None:
        """Record a step that a person should know of, and log it as a warning."""
        self.note(what, task_id=task_id, warning=True)

    def observe(self, record: CallRecord, *, is_proof: bool = True) -> None:
        """Record a call for the ticket history; log it if it failed (SPEC section 7).

        Args:
            record: the call.
            is_proof: whether a clear answer shows that the tracker works.

        Raises:
            TrackerFailing: if it got no clear answer, and that counts as an outage.
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
        if record.is_clear and is_proof:
            self.answered = True
            self.services.unclear_answers.good()
        elif record.is_unclear and self._is_outage():
            detail = record.error.params.get("detail") if record.error else None
            raise TrackerFailing(record.method, record.path, status=record.status, detail=detail)

    def _is_outage(self) -> bool:
        """Count an unclear answer; return whether it means an outage: one of several, or all that a probe got."""
        is_failed_probe = self.probes and not self.answered
        return self.services.unclear_answers.unclear(self.ticket_id) or is_failed_probe

    def now(self, then: datetime) -> datetime:
        """Return the current time by the database's clock, given its time when the ticket was loaded."""
        return then + timedelta(seconds=time.monotonic() - self.began_at)

    def later(self, then: datetime, attempts: int) -> datetime:
        """Return when to try again after this many attempts, by the database's clock."""
        return self.now(then) + timedelta(seconds=backoff(attempts, random.random()))  # noqa: S311 (jitter)


@dataclass(frozen=True)
class TicketDatabase:
    """Runs database operations for one ticket; each commits the steps that were recorded so far.

    Attributes:
        ctx: the ticket's context.
    """

    ctx: TicketContext

    def run(self, operation: DbOp[R]) -> DbOp[R]:
        """Run an operation, in a transaction that other operations may share."""
        return operation

    def change(self, change: Callable[[Transaction], T]) -> DbOp[T]:
        """Read or change something of this ticket."""
        return Change(self.ctx, change)

    async def change_if_current(
        self, change: Callable[[Transaction], T], *, of_status: int | None = None
    ) -> T:
        """Make a change that follows from the settings, unless they changed since the ticket was loaded.

        Args:
            change: makes the change.
            of_status: a help desk status whose mapping alone decides; None: all settings do.

        Raises:
            Outdated: if the settings changed; nothing was written.
        """
        changed = await ChangeIfCurrent(self.ctx, change, of_status)
        if isinstance(changed, Outdated):
            raise changed
        return changed

    async def check_settings(self) -> None:
        """Check the settings right before a request without a claim.

        Raises:
            Outdated: if the data that the request was built from has changed.
        """
        basis = self.ctx.basis
        if basis is not None and not await self.change(lambda tx: tx.configs.is_basis(basis)):
            raise Outdated(Fault.SETTINGS_REPLACED())


@dataclass(frozen=True)
class TicketRedis:
    """The Redis operations of a ticket's workflow.

    Attributes:
        locks: the locks of the process.
    """

    locks: Locks

    def once(self, name: str, seconds: float) -> Step[bool]:
        """Return whether no process has called this with the same name within the last `seconds`."""
        return Blocking(Pool.NOTES, lambda: self.locks.once(name, seconds))

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Hold a lock during the block.

        Raises:
            LockBusy: if another process holds it.
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
    """Open a transaction for several tickets; it also commits the steps that each has recorded.

    If the transaction fails, the steps that were recorded within it are discarded.
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
    """A database operation, in a transaction of its own or shared with other tickets.

    Attributes:
        lane: `write`, or `read` for operations that no call waits for; they run in parallel to all writing.
        durable: whether its commit must reach the disk.
        order: operations with a lower number run first in a shared transaction.
        splits: whether it consists of parts that run one after the other if it has to be repeated.
    """

    lane: ClassVar[Literal["write", "read"]] = "write"
    durable: ClassVar[bool] = True
    order: ClassVar[int] = 0
    splits: ClassVar[bool] = False

    @property
    def locks_settings(self) -> bool:
        """Whether it depends on the settings, which are then locked until its commit (`Configs.status_map`)."""
        return False

    @abstractmethod
    def owner(self) -> TicketContext | Services:
        """Return the ticket's context, or the services of the process if there is none yet."""

    @classmethod
    @abstractmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[R]:
        """Execute several operations of this class, each of another ticket; return their results, in order."""

    def carry_out(self) -> R:
        """Execute the operation in a transaction of its own."""
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
        """Make several changes, one after the other."""
        return [one.change(tx) for one in operations]


@dataclass(frozen=True)
class ChangeIfCurrent(DbOp[T | Outdated]):
    """A change for one ticket that must follow from the current settings, so that a person who changes them sees it.

    If the settings changed since the ticket was loaded, the result is the error.
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
        """Make the changes that still follow from the settings."""
        status_map, basis = tx.configs.status_map(), tx.configs.changes()
        return [
            one.change(tx) if one._follows(status_map, basis) else Outdated(Fault.SETTINGS_REPLACED())
            for one in operations
        ]

    def _follows(self, status_map: Mapping[int, int], basis: int) -> bool:
        if self.of_status is None:
            return self.ctx.basis in (None, basis)
        return status_map.get(self.of_status) == self.ctx.config.status_map.get(self.of_status)
