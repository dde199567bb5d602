"""The sweep: notifies every ticket that has due work, so that no guarantee depends on the broker."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from shared.notices.kinds import Kind
from shared.process.settings import Settings
from shared.redis.circuit_breaker import CircuitBreaker
from shared.redis.locks import Locks
from shared.store.transaction import Store
from shared.telemetry.logs import get_logger

log = get_logger("sweep")
MOST_NOTIFIED = 2000
JUST_NOTIFIED_S = 3.0
A_TICK = 0.8
"""The fraction of the interval after which a process may sweep again: a tick may come a little early or late."""
PRUNED_AT_ONCE = 1000
MOST_PRUNED = 100


@dataclass(frozen=True)
class Sweep:
    """Finds tickets with due work, and sends queue messages for them.

    Attributes:
        backlog: returns how many messages already wait in the queue.
        notify: sends queue messages for tickets.
        notify_if_due: sends queue messages that count only if the ticket still has a due event when they are read.
    """

    store: Store
    settings: Settings
    locks: Locks
    breaker: CircuitBreaker
    backlog: Callable[[], int]
    notify: Callable[[list[int]], bool]
    notify_if_due: Callable[[list[int]], bool]

    def run(self) -> int:
        """Notify due tickets, unless another process has just swept; return how many tickets were notified."""
        return self.notify_due() if self.locks.once("sweep", self.settings.sweep_interval * A_TICK) else 0

    def notify_due(self) -> int:
        """Notify due tickets: none while the circuit breaker is open, and one as a probe while it is half-open."""
        paused = self.breaker.current()
        if paused and self.breaker.left(paused):
            return 0
        limit = MOST_NOTIFIED - min(MOST_NOTIFIED, self.backlog())
        with_events, others = self._due(limit) if limit else ([], [])
        if paused and (with_events or others):
            # a random one, since a ticket that cannot succeed must not be the probe forever
            with_events, others = [], [random.choice([*with_events, *others])]  # noqa: S311
        is_notified = (not others or self.notify(others)) and (
            not with_events or self.notify_if_due(with_events)
        )
        if (count := len(with_events) + len(others)) and is_notified:
            log.info("swept", tickets=count)
        return count

    def _due(self, limit: int) -> tuple[list[int], list[int]]:
        """Return the tickets with due events, and the tickets with other due work."""
        settling = self.settings.settling_time
        with self.store.transaction() as tx:
            with_events = tx.journal.due_tickets(limit, older_than=JUST_NOTIFIED_S)
            found = dict[int, None]()
            for kind in Kind:
                found |= dict.fromkeys(tx.ledger(kind).due_tickets(limit, settling))
            if not tx.configs.get()[0].trial:  # trial mode sets no status
                found |= dict.fromkeys(tx.statuses.due_tickets(limit))
        others = [one for one in found if one not in set(with_events)]
        return with_events, others[: limit - len(with_events)]

    def prune(self) -> int:
        """Delete rows that are past their retention, in small batches; return how many."""
        days, total = self.settings.retention_days, 0
        for _ in range(MOST_PRUNED):
            with self.store.transaction() as tx:
                deleted = tx.journal.prune(days, PRUNED_AT_ONCE) + tx.trace.prune(days, PRUNED_AT_ONCE)
                deleted += tx.changes.prune(self.settings.changes_days, PRUNED_AT_ONCE) + tx.producers.prune()
            total += deleted
            if not deleted:
                break
        return total
