"""The background side of the metadata synchronisation: one at a time, and never a crash of the worker."""

from __future__ import annotations

from shared.errors import BridgeError, LockBusy
from shared.logs import get_logger
from shared.usecases import metadata
from worker.bootstrap import Worker

log = get_logger("metadata")


def sync_metadata(worker: Worker) -> bool:
    """Synchronise the tracker's metadata; False where it could not be read (SPEC section 7)."""
    try:
        with worker.locks.hold("metadata"):
            _, client = worker.connector.connect()
            metadata.sync_metadata(worker.store, client)
    except LockBusy:
        return False
    except BridgeError as error:
        log.warning("metadata not synchronised; the old cache stays", error=str(error))
        return False
    return True
