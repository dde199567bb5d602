"""What is due by the age of its last success and not by a tick: the metadata's synchronisation, and pruning."""

from __future__ import annotations

from shared.coordination.locks import drop_endless
from shared.errors import LockBusy
from shared.logs import get_logger
from shared.metadata.synchronisation import is_due, synchronise
from worker.bootstrap import Worker

log = get_logger("upkeep")
PRUNED = "deskbridge:pruned"
PRUNE_INTERVAL_S = 3600


def keep_up(worker: Worker) -> None:
    """Do what is due; safe to call at any time from any process, since locks let one do it.

    Raises:
        SQLAlchemyError, RedisError: the next one who looks tries again.
    """
    prune(worker)
    sync_metadata(worker)


def sync_metadata(worker: Worker) -> bool:
    """Synchronise the tracker's metadata where that is due and the tracker is not left in peace; True where it was."""
    interval = worker.settings.metadata_interval
    if not is_due(worker.store, interval) or worker.pause.current():
        return False
    return bool(synchronise(worker.store, worker.locks, worker.connector.connect, older_than=interval))


def prune(worker: Worker) -> bool:
    """Delete what is past its retention where that is due; True where it was."""
    redis = worker.sweep.redis
    try:
        with worker.locks.hold("prune"):
            if redis.exists(PRUNED):
                drop_endless(redis, PRUNED)
                return False
            deleted = worker.sweep.prune()
            redis.set(PRUNED, "1", ex=PRUNE_INTERVAL_S)
    except LockBusy:
        return False
    if deleted:
        log.info("pruned", rows=deleted)
    return True
