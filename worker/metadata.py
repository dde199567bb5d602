"""The background side of the metadata synchronisation."""

from __future__ import annotations

from shared.metadata.synchronisation import synchronise
from worker.bootstrap import Worker


def sync_metadata(worker: Worker) -> bool:
    """Synchronise the tracker's metadata; False where it could not be read (SPEC section 7)."""
    return bool(synchronise(worker.store, worker.locks, worker.connector.connect))
