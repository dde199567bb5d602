"""Jobs that are due by the age of their last success: pruning, metadata, comparison with the help desk."""

from __future__ import annotations

from shared.errors import LockBusy
from shared.helpdesk.lookup import HelpdeskUnreachable
from shared.helpdesk.reconciliation import reconcile
from shared.metadata.synchronisation import is_due, synchronise
from shared.redis.keys import OURS, key_of
from shared.redis.locks import drop_endless
from shared.telemetry.logs import get_logger, reason_fields
from worker import sweep
from worker.app import Worker

log = get_logger("maintenance")
PRUNED = f"{OURS}pruned"
PRUNE_INTERVAL_S = 3600
PRUNE_AGAIN_S = 60
"""The interval if more rows are past their retention than one run deletes."""
RECONCILED = "reconcile"
RECONCILE_INTERVAL_S = 86400
RECONCILE_AGAIN_S = 3600
"""Seconds between checks whether the comparison is due, and so before a retry after a failure."""
RECONCILE_S = 3000
"""The longest time for a comparison, less than the time to the next one, so that two never run at once."""
MOST_RECONCILED = 64 * 1024 * 1024
"""The most bytes that a comparison adds to the journal; the next one goes on, as it finds them there."""


def do_maintenance(worker: Worker) -> None:
    """Run the due jobs; safe to call at any time from any process, since locks let only one process run them.

    Raises:
        SQLAlchemyError, RedisError: if the database or Redis fails; the next run tries again.
    """
    prune(worker)
    sync_metadata(worker)


def sync_metadata(worker: Worker) -> bool:
    """Synchronise the tracker's metadata if it is due and the circuit breaker is closed; return whether it was done."""
    interval = worker.settings.metadata_interval
    if not is_due(worker.store, interval) or worker.breaker.current():
        return False
    return bool(synchronise(worker.store, worker.locks, worker.connector.connect, older_than=interval))


def prune(worker: Worker) -> bool:
    """Delete rows that are past their retention if that is due; return whether it was done."""
    redis, pruned = worker.redis, key_of(worker.redis, PRUNED)
    try:
        with worker.locks.hold("prune"):
            if redis.exists(pruned):
                drop_endless(redis, pruned)
                return False
            deleted = worker.sweep.prune()
            is_left = deleted >= sweep.MOST_PRUNED * sweep.PRUNED_AT_ONCE
            redis.set(pruned, "1", ex=PRUNE_AGAIN_S if is_left else PRUNE_INTERVAL_S)
    except LockBusy:
        return False
    if deleted:
        log.info("pruned", rows=deleted)
    return True


def compare_with_helpdesk(worker: Worker) -> bool:
    """Compare the help desk with the journal once a day, and append missing changes; return whether it was done.

    The first run only sets the time from which events should have arrived. A person must import earlier changes
    explicitly. A comparison takes a job of its own, because it may take long and pruning must not wait for it.
    """
    if worker.lookup is None or not worker.locks.once(RECONCILED, RECONCILE_AGAIN_S):
        return False
    with worker.store.transaction() as tx:
        last, now = tx.reconciliation.get(), tx.now()
        if last is None:
            tx.reconciliation.ran(now, 0)
    if last is None or (now - last.ran_at).total_seconds() < RECONCILE_INTERVAL_S:
        return False
    try:
        found = reconcile(worker.store, worker.lookup, None, seconds=RECONCILE_S, most_bytes=MOST_RECONCILED)
    except HelpdeskUnreachable as away:
        log.warning("the helpdesk could not be compared with the journal", **reason_fields(away.notice))
        return False
    if found.missed:
        log.warning("events of the helpdesk had not come in", missed=found.missed)
    return True
