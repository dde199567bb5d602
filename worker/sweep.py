"""The sweep: rings every ticket that has something due, so that no guarantee rests on the broker (DESIGN)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from redis import Redis

from shared.coordination.locks import drop_endless
from shared.coordination.pause import Pause
from shared.logs import get_logger
from shared.settings import Settings
from shared.store import Store

log = get_logger("sweep")
KEY = "deskbridge:swept"
MOST_RUNG = 2000
JUST_RUNG_S = 3.0
PRUNED_AT_ONCE = 1000
MOST_PRUNED = 100


@dataclass(frozen=True)
class Sweep:
    """Looks for what is due and rings it.

    Attributes:
        backlog: returns how many rings wait in the queue already.
        ring: rings tickets.
    """

    store: Store
    settings: Settings
    redis: Redis
    pause: Pause
    backlog: Callable[[], int]
    ring: Callable[[list[int]], bool]

    def run(self) -> int:
        """Ring what is due, unless somebody swept a moment ago; return how many tickets were rung."""
        interval = max(1, round(self.settings.sweep_interval * 800))
        if not self.redis.set(KEY, "1", nx=True, px=interval):
            drop_endless(self.redis, KEY)
            return 0
        return self.ring_due()

    def ring_due(self) -> int:
        """Ring what is due now; during a pause nobody, after it one who probes."""
        paused = self.pause.current()
        if paused and self.pause.left(paused):
            return 0
        limit = MOST_RUNG - min(MOST_RUNG, self.backlog())
        tickets = self._due(limit) if limit else []
        if paused and tickets:
            tickets = [random.choice(tickets)]  # noqa: S311 (one that cannot succeed must not probe for ever)
        if tickets and self.ring(tickets):
            log.info("swept", tickets=len(tickets))
        return len(tickets)

    def _due(self, limit: int) -> list[int]:
        settling = self.settings.settling_time
        with self.store.transaction() as tx:
            found = dict.fromkeys(tx.journal.due_tickets(limit, older_than=JUST_RUNG_S))
            found |= dict.fromkeys(tx.issues.due_tickets(limit, settling))
            found |= dict.fromkeys(tx.times.due_tickets(limit, settling))
            found |= dict.fromkeys(tx.tickets.due_tickets(limit))
        return list(found)[:limit]

    def prune(self) -> int:
        """Delete what is past its retention, in small batches; return how many rows."""
        days, total = self.settings.retention_days, 0
        for _ in range(MOST_PRUNED):
            with self.store.transaction() as tx:
                deleted = tx.journal.prune(days, PRUNED_AT_ONCE) + tx.trace.prune(days, PRUNED_AT_ONCE)
                deleted += tx.changes.prune(self.settings.changes_days, PRUNED_AT_ONCE) + tx.producers.prune()
            total += deleted
            if not deleted:
                break
        return total
