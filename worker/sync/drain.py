"""What one drain of a ticket works with, and the trace it leaves."""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self, TypeVar

from shared.codes.coded import Coded
from shared.codes.faults import Fault
from shared.codes.kinds import Kind
from shared.codes.steps import Actor, What
from shared.coordination.call_limit import Limit
from shared.coordination.locks import HeldLock, Locks
from shared.coordination.pause import Pause
from shared.errors import Outdated, TrackerFailing
from shared.events.config import PluginConfig
from shared.process.settings import Settings
from shared.store.configuration.people import Match
from shared.store.configuration.templates import ActiveTemplate
from shared.store.journal.trace import Step as TraceStep
from shared.store.transaction import Store, Transaction
from shared.store.verdicts import Verdicts
from shared.telemetry.logs import get_logger, log_fields
from shared.tracker.client import CallRecord, TrackerClient
from shared.tracker.lists import TrackerLists
from worker.sync.actions import Step
from worker.sync.completion import Completion
from worker.sync.kept import Kept, Known
from worker.sync.outages import UnclearAnswers
from worker.sync.retry import backoff
from worker.sync.transitions import Transitions

log = get_logger("sync")
T = TypeVar("T")
R = TypeVar("R", covariant=True)


@dataclass(frozen=True)
class Services:
    """What a worker works on tickets with.

    Attributes:
        connect: returns the configuration and a client for its tracker.
        ring: rings tickets whose waiting work can go on.
        completion: finds out what events lack.
        call_limit: returns how many calls are made at once, and why no more; None: there is no limit.
        kept: what was read before and was not changed since.
        unclear_answers: those of all tickets of the process.
        unable: told that this process cannot open the stored API key, which others may; None: that stops everybody.
        transitions: those of statuses that need not be read back, of the process.
    """

    store: Store
    settings: Settings
    locks: Locks
    pause: Pause
    connect: Callable[[Transaction], tuple[PluginConfig, TrackerClient]]
    ring: Callable[[list[int]], bool]
    completion: Completion
    call_limit: Callable[[], Limit | None] = lambda: None
    kept: Kept = field(default_factory=Kept)
    unclear_answers: UnclearAnswers = field(default_factory=UnclearAnswers)
    unable: Callable[[Coded], None] | None = None
    transitions: Transitions = field(default_factory=Transitions)


@dataclass
class TicketContext:
    """One drain of one ticket: its collaborators, and the steps for the trace.

    Attributes:
        ticket_id: the ticket whose lock is held.
        templates: the payload templates in force, by operation.
        people: helpdesk users (`People.who`) to who they are on the tracker; others were not read.
        members: (tracker project, tracker user) to whether the membership is known; others were not read.
        known: what the process keeps, as it was when the drain began.
        rung: tickets that others' waiting work should be rung for when the drain ends.
        moved: issues that are in another tracker project than was known when the drain began.
        answered: whether the tracker has answered anything in this drain, so that it is clear what it made of it.
        probes: whether everybody else waits for what the tracker answers.
        is_outdated: whether it has ended early, since settings were changed; a status may be due without an event.
        about: what each line says of the events; lines are written also where many tickets' drains are carried out.
        began_at: when it began (monotonic seconds).
        basis: how often what is sent is built from had been changed when the drain began (`Configs.basis`).
        call_limit, unclear_answers, transitions: as in `Services`.
    """

    ticket_id: int
    store: Store
    settings: Settings
    config: PluginConfig
    tracker: TrackerClient
    locks: Locks
    lock: HeldLock
    templates: Mapping[str, ActiveTemplate] = field(default_factory=dict)
    people: dict[tuple[int, str | None], Match] = field(default_factory=dict)
    members: dict[tuple[int, int], bool] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    steps: list[TraceStep] = field(default_factory=list)
    rung: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)
    answered: bool = False
    probes: bool = False
    is_outdated: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    began_at: float = field(default_factory=time.monotonic)
    basis: int | None = None
    call_limit: Callable[[], Limit | None] = lambda: None
    unclear_answers: UnclearAnswers = field(default_factory=UnclearAnswers)
    transitions: Transitions = field(default_factory=Transitions)

    @property
    def lists(self) -> TrackerLists:
        """The tracker's lists; each call is in the trace, and looks whether the lock is held still."""
        return TrackerLists(self.tracker, observe=self.observe, after_call=self.lock.check)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction; the steps noted so far are committed with it."""
        with transaction_of([self]) as tx:
            yield tx

    def write(self, change: Callable[[Transaction], T]) -> Step[T]:
        """Return the action of making a change, committed with the steps noted so far."""
        return Change(self, change)

    async def conclude(self, change: Callable[[Transaction], T], *, of_status: int | None = None) -> T:
        """Make a change that follows from the settings, unless they were changed since the drain began.

        Args:
            change: makes it.
            of_status: it follows from nothing but what this helpdesk status is mapped to.

        Raises:
            Outdated: they were; nothing was changed.
        """
        concluded = await ChangeIfCurrent(self, change, of_status)
        if isinstance(concluded, Outdated):
            raise concluded
        return concluded

    def verdicts(self, tx: Transaction, kind: Kind) -> Verdicts:
        """Return what carries verdicts out in a transaction of this drain."""
        return Verdicts(tx, kind, self.note, self.config, self.rung)

    def note(
        self, what: Coded, *, task_id: int | None = None, ticket_id: int | None = None, warning: bool = False
    ) -> None:
        """Note a step for the trace, and log it."""
        self.steps.append(TraceStep(ticket_id or self.ticket_id, what, task_id))
        tell = log.warning if warning else log.info
        told = {**self.about, **log_fields(what)}
        tell(**told, ticket_id=ticket_id or self.ticket_id, task_id=task_id)

    def warn(self, what: Coded, *, task_id: int | None = None) -> None:
        """Note a step that a person should know of, and log it as a warning."""
        self.note(what, task_id=task_id, warning=True)

    def observe(self, record: CallRecord) -> None:
        """Keep an outbound call for the trace; log what the tracker refused (SPEC section 7).

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
            self.unclear_answers.good()
        elif record.is_unclear and self._is_outage():
            detail = record.error.params.get("detail") if record.error else None
            raise TrackerFailing(record.method, record.path, status=record.status, detail=detail)

    def _is_outage(self) -> bool:
        """Tell whether an unclear answer is one of many, or all that a probe got."""
        is_failed_probe = self.probes and not self.answered
        return self.unclear_answers.unclear(self.ticket_id) or is_failed_probe

    def may_send(self) -> None:
        """Look right before a request leaves that no claim stands for.

        Raises:
            Outdated: what it was built from was changed meanwhile.
            LockBusy: the lock was lost; whoever has it may have sent a newer one.
        """
        if self.basis is not None:
            with self.store.transaction() as tx:
                if not tx.configs.is_basis(self.basis):
                    raise Outdated(Fault.SETTINGS_REPLACED())
        self.lock.check()

    def now(self, then: datetime) -> datetime:
        """Return the time, told by the database's clock as it was when the drain began."""
        return then + timedelta(seconds=time.monotonic() - self.began_at)

    def later(self, then: datetime, attempts: int) -> datetime:
        """Return when to try again after so many attempts, told by the same."""
        return self.now(then) + timedelta(seconds=backoff(attempts, random.random()))  # noqa: S311 (jitter)


@contextmanager
def transaction_of(drains: Sequence[TicketContext | Services]) -> Iterator[Transaction]:
    """Open a transaction for some drains; the steps that each has noted are committed with it.

    What was noted within one that fails has not happened.
    """
    runs = [one for one in drains if isinstance(one, TicketContext)]
    before = [len(ctx.steps) for ctx in runs]
    try:
        with drains[0].store.transaction() as tx:
            yield tx
            tx.trace.append([step for ctx in runs for step in ctx.steps])
    except BaseException:
        for ctx, count in zip(runs, before, strict=True):
            del ctx.steps[count:]
        raise
    for ctx in runs:
        ctx.steps.clear()


class DbOp(Step[R]):
    """What is read from the store, or changed there, in one transaction: that of this ticket alone, or of many.

    Attributes:
        precedes_a_call: whether a call follows at once, for which somebody must be free.
        answers: whether it records what the tracker has answered: it waits for no call, and for no claim.
        by_reader: whether it is done beside what came of calls and the claims of those that are to begin: no call waits
            for it.
        can_wait: whether it waits for a moment for tickets that come to be read.
        lasts: whether its commit waits for the disk.
    """

    precedes_a_call: ClassVar[bool] = False
    answers: ClassVar[bool] = False
    by_reader: ClassVar[bool] = False
    can_wait: ClassVar[bool] = False
    lasts: ClassVar[bool] = True

    @property
    def settles(self) -> bool:
        """Whether it decides by settings, which stay as they are until its commit (`Configs.status_map`)."""
        return False

    @abstractmethod
    def drain(self) -> TicketContext | Services:
        """Return the drain whose steps are committed with it; before there is one, what it will work with."""

    @classmethod
    @abstractmethod
    def execute_many(cls, tx: Transaction, actions: Sequence[Self]) -> Sequence[R]:
        """Do some of this kind, of as many tickets; return what came of each, in their order."""

    def carry_out(self) -> R:
        with transaction_of([self.drain()]) as tx:
            (found,) = self.execute_many(tx, [self])
            return found


@dataclass(frozen=True)
class Change(DbOp[T]):
    """A change of the store for one ticket."""

    ctx: TicketContext
    change: Callable[[Transaction], T]

    def drain(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, actions: Sequence[Self]) -> Sequence[T]:
        """Make some, one after the other."""
        return [one.change(tx) for one in actions]


@dataclass(frozen=True)
class ChangeIfCurrent(DbOp[T | Outdated]):
    """A change for one ticket that nobody may make by settings of before: whoever changes them looks for it.

    Comes to why it was not made where they were changed since the drain began.
    """

    ctx: TicketContext
    change: Callable[[Transaction], T]
    of_status: int | None = None

    @property
    def settles(self) -> bool:
        return True

    def drain(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, actions: Sequence[Self]) -> Sequence[T | Outdated]:
        """Make those changes that still follow."""
        status_map, basis = tx.configs.status_map(), tx.configs.changes()
        return [
            one.change(tx) if one._follows(status_map, basis) else Outdated(Fault.SETTINGS_REPLACED())
            for one in actions
        ]

    def _follows(self, status_map: Mapping[int, int], basis: int) -> bool:
        if self.of_status is None:
            return self.ctx.basis in (None, basis)
        return status_map.get(self.of_status) == self.ctx.config.status_map.get(self.of_status)
