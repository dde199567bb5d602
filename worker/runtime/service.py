"""One message from start to end: check the circuit breaker, sync the ticket, check again for due work."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Self

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.errors import BridgeError, LockBusy, SettingsError, TrackerBusy
from shared.notices.faults import Fault
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.process.itself import Process
from shared.redis.circuit_breaker import CircuitBreaker, Permit
from shared.redis.locks import HeldLock, Locks, of_ticket
from shared.store.tables.journal import EventState
from shared.telemetry.logs import get_logger, reason_fields
from worker.ticket.context import Services
from worker.ticket.error_table import OPENS_BREAKER
from worker.ticket.results import Result, Waiting
from worker.ticket.retry import backoff, is_exhausted
from worker.ticket.steps import Admission, Blocking, Pool, drive
from worker.ticket.sync import forward

log = get_logger("sync")
MOST_PASSES = 20
UNCONFIGURED_PAUSE_S = 10.0
AFTER_PAUSE_S = 2.0
ASKED_FIRST = (Fault.TRACKER_CLOSED, Fault.TRACKER_FAILING)
"""After these faults a probe makes a call that creates nothing before it sends anything."""


@dataclass(frozen=True)
class Entered:
    """Whether a ticket may be synced.

    Attributes:
        permit: the permit of the circuit breaker.
        lock: the ticket's lock, or why it was not taken.
    """

    permit: Permit
    lock: HeldLock | LockBusy


class Enter(Admission[Entered]):
    """The request for the circuit breaker's permit and the ticket's lock, which waits for neither."""

    def __init__(self, breaker: CircuitBreaker, locks: Locks, ticket_id: int) -> None:
        self._breaker, self._locks, self._name = breaker, locks, of_ticket(ticket_id)

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[Entered]:
        """Take each lock that is free; unless the circuit breaker is closed, each ticket needs its permit first."""
        locks, breaker = actions[0]._locks, actions[0]._breaker
        taken = locks.take_all_unless(breaker.key, [one._name for one in actions])
        return cls._in_a_pause(actions) if taken is None else [Entered(Permit(None), one) for one in taken]

    @classmethod
    def _in_a_pause(cls, actions: Sequence[Self]) -> Sequence[Entered]:
        first = actions[0]._breaker.enter()
        is_open = first.blocked_by is None and not first.probing
        permits = [first, *(first if is_open else one._breaker.enter() for one in actions[1:])]
        found = [Entered(one, LockBusy(one.blocked_by.reason)) if one.blocked_by else None for one in permits]
        names = [one._name for one, blocked in zip(actions, found, strict=True) if blocked is None]
        try:
            taken = iter(actions[0]._locks.take_all(names) if names else ())
        except RedisError:
            if any(permit.probing for permit in permits):  # else none could probe until it expires
                with suppress(RedisError):
                    actions[0]._breaker.give_up_probe()
            raise
        return [
            blocked or Entered(permit, next(taken)) for permit, blocked in zip(permits, found, strict=True)
        ]


class SyncService(Services):
    """Forwards the due work of a ticket."""

    def sync(self, ticket_id: int) -> list[Result]:
        """Do everything that is due for a ticket; safe to call at any time, any number of times.

        Args:
            ticket_id: the ticket.

        Returns:
            The results.
        """
        return drive(self.sync_ticket(ticket_id))

    async def sync_ticket(self, ticket_id: int) -> list[Result]:
        """Do what `sync` does, as a workflow for the scheduler.

        Raises:
            SQLAlchemyError, RedisError: if the database or Redis failed; the remaining work stays due.
        """
        results: list[Result] = []
        for _ in range(MOST_PASSES):
            entered = await Enter(self.breaker, self.locks, ticket_id)
            permit = entered.permit
            if permit.blocked_by:
                return [*results, Waiting(permit.blocked_by.reason)]
            answered = False
            try:
                if isinstance(entered.lock, LockBusy):
                    raise entered.lock
                asks_first = permit.after is not None and permit.after.reason.code in ASKED_FIRST
                forwarded = await forward(
                    self, ticket_id, entered.lock, asks_first=asks_first, probes=permit.probing
                )
                answered = forwarded.answered
                results += forwarded.results
            except LockBusy as busy:
                return [*results, Waiting(busy.notice)]
            except OPENS_BREAKER as outage:
                return [*results, await Blocking(Pool.NOTES, partial(self._begin_pause, ticket_id, outage))]
            except (SQLAlchemyError, RedisError):
                raise
            except Exception as fault:  # noqa: BLE001 (a fault of ours: bounded tries, never a spinning ticket)
                return [*results, await Blocking(Pool.OTHERS, partial(self._put_off, ticket_id, fault))]
            finally:
                if permit.probing:  # however it ended: a probe that is not given up blocks all tickets
                    await Blocking(Pool.NOTES, partial(self._end_probe, answered=answered))
            if not forwarded.is_more_due:
                return results
        await Blocking(Pool.OTHERS, partial(self.notify, [ticket_id]))
        return results

    def _end_probe(self, *, answered: bool) -> None:
        if not answered:
            self.breaker.give_up_probe()
        elif self.breaker.end():
            log.info("the tracker answers again; everything goes on")

    def _begin_pause(self, ticket_id: int, outage: BridgeError) -> Waiting:
        if self.unable is not None and outage.notice.code == Refusal.API_KEY_NOT_OPENED:
            self.unable(outage.notice)  # another process may have the right keys
            why = Refusal.API_KEY_NOT_OPENED(host=Process.here().host)
            return self._leave_to_others(ticket_id, why)
        seconds = None
        if isinstance(outage, TrackerBusy):
            seconds = outage.retry_after
        if isinstance(outage, SettingsError):
            seconds = UNCONFIGURED_PAUSE_S
        try:
            paused = self.breaker.begin(outage.notice, seconds)
            left = self.breaker.left(paused)
        except RedisError as error:
            log.error("the pause could not be stored", error=type(error).__name__)
            return Waiting(outage.notice)
        log.warning("paused", **reason_fields(paused.reason), ticket_id=ticket_id)
        with self.store.transaction() as tx:
            until = tx.now() + timedelta(seconds=left + AFTER_PAUSE_S)
            tx.journal.wait_due(ticket_id, until, outage.notice)
        return Waiting(outage.notice, until=until)

    def _leave_to_others(self, ticket_id: int, why: Notice) -> Waiting:
        with self.store.transaction() as tx:
            until = tx.now() + timedelta(seconds=AFTER_PAUSE_S)
            tx.journal.wait_due(ticket_id, until, why)
        return Waiting(why, until=until)

    def _put_off(self, ticket_id: int, fault: Exception) -> Waiting:
        """Retry a ticket later after a fault of deskbridge itself; after too many attempts its events are `failed`."""
        reason = Fault.OWN_FAULT(error=type(fault).__name__)
        log.error("a ticket could not be worked on", ticket_id=ticket_id, exc_info=fault)
        with self.store.transaction() as tx:
            due, now = tx.journal.attempts_of_due(ticket_id), tx.now()
            left = {event_id: tries for event_id, tries in due.items() if not is_exhausted(tries)}
            tx.journal.end(due.keys() - left.keys(), EventState.FAILED, reason)
            attempts = max(left.values(), default=0)
            until = now + timedelta(seconds=backoff(attempts, random.random()))  # noqa: S311 (jitter)
            tx.journal.wait(left.keys(), until, reason, attempt=True)
        return Waiting(reason, until=until, attempt=True)
