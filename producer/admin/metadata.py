"""Reads the tracker's metadata at a person's word."""

from __future__ import annotations

from producer.admin.desk import Desk
from shared.codes.changes import Did
from shared.metadata.reading import Progress
from shared.metadata.synchronisation import MetadataResult, synchronise


def read_now(desk: Desk, progress: Progress | None = None) -> MetadataResult:
    """Replace the cache by what the tracker has now; what came of it is recorded, success or not."""
    result = synchronise(desk.store, desk.locks, desk.connector.connect, progress)
    if result:
        found = {name: part.shortened() for name, part in result.parts.items()}
        with desk.store.transaction() as tx:
            tx.changes.note(Did.METADATA_READ(), after={name: part for name, part in found.items() if part})
    return result
