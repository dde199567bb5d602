"""One ring, start to end: not while a pause lasts; forward; look again (DESIGN "The way of one event")."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Self

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.codes.faults import Fault
from shared.coordination.pause import Pause, Permit
from shared.errors import BridgeError, LockBusy, SettingsError, TrackerBusy, TrackerOutage
from shared.store.tables.models import EventState
from shared.telemetry.logs import get_logger, reason_fields
from worker.sync.actions import Together, apart, aside, drive
from worker.sync.drain import Collaborators
from worker.sync.forward import forward
from worker.sync.results import Result, Waiting
from worker.sync.retry import backoff, is_exhausted

log = get_logger("sync")
MOST_PASSES = 20
UNCONFIGURED_PAUSE_S = 10.0
AFTER_PAUSE_S = 2.0


class Enter(Together[Permit]):
    """Ask to go on: not while a pause lasts."""

    begins = True
    enters = True

    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    @classmethod
    def carry_out_all(cls, actions: Sequence[Self]) -> Sequence[Permit]:
        """Ask once, as long as there is no pause."""
        first = actions[0]._pause.enter()
        is_open = first.blocked_by is None and not first.probing
        return [first, *(first if is_open else one._pause.enter() for one in actions[1:])]


class SyncService(Collaborators):
    """Forwards what is due for a ticket."""

    def sync(self, ticket_id: int) -> list[Result]:
        """Do everything that is due for a ticket; safe to call at any time, any number of times.

        Args:
            ticket_id: the ticket.

        Returns:
            What came of it.
        """
        return drive(self.way(ticket_id))

    async def way(self, ticket_id: int) -> list[Result]:
        """Do the same, one action after the other, for whoever drives it.

        Raises:
            SQLAlchemyError, RedisError: the database or Redis failed; whatever was not done is still to be done.
        """
        results: list[Result] = []
        for _ in range(MOST_PASSES):
            permit = await Enter(self.pause)
            if permit.blocked_by:
                return [*results, Waiting(permit.blocked_by.reason)]
            answered = False
            try:
                had_closed = permit.after is not None and permit.after.reason.code == Fault.TRACKER_CLOSED
                forwarded = await forward(self, ticket_id, had_closed=had_closed, probes=permit.probing)
                answered = forwarded.answered
                results += forwarded.results
            except LockBusy as busy:
                return [*results, Waiting(busy.coded)]
            except (TrackerOutage, SettingsError) as outage:
                return [*results, await aside(self._begin_pause, ticket_id, outage)]
            except (SQLAlchemyError, RedisError):
                raise
            except Exception as fault:  # noqa: BLE001 (a fault of ours: bounded tries, never a spinning ticket)
                return [*results, await apart(self._put_off, ticket_id, fault)]
            finally:
                if permit.probing:  # however it ended: a probe that is not given up stops everybody
                    await aside(self._end_probe, answered=answered)
            if not forwarded.is_more_due:
                return results
        await apart(self.ring, [ticket_id])
        return results

    def _end_probe(self, *, answered: bool) -> None:
        if not answered:
            self.pause.give_up_probe()
        elif self.pause.end():
            log.info("the tracker answers again; everything goes on")

    def _begin_pause(self, ticket_id: int, outage: BridgeError) -> Waiting:
        seconds = None
        if isinstance(outage, TrackerBusy):
            seconds = outage.retry_after
        if isinstance(outage, SettingsError):
            seconds = UNCONFIGURED_PAUSE_S
        try:
            paused = self.pause.begin(outage.coded, seconds)
            left = self.pause.left(paused)
        except RedisError as error:
            log.error("the pause could not be stored", error=type(error).__name__)
            return Waiting(outage.coded)
        log.warning("paused", **reason_fields(paused.reason), ticket_id=ticket_id)
        with self.store.transaction() as tx:
            until = tx.now() + timedelta(seconds=left + AFTER_PAUSE_S)
            tx.journal.wait_due(ticket_id, until, outage.coded)
        return Waiting(outage.coded, until=until)

    def _put_off(self, ticket_id: int, fault: Exception) -> Waiting:
        """Try a ticket again later that made our own code fail; after many tries its events are `failed`."""
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
