"""Reads the tracker's metadata at a person's word."""

from __future__ import annotations

import contextvars
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet

from producer.admin.desk import Desk
from shared.codes.changes import Did
from shared.logs import get_logger
from shared.metadata.reading import Progress
from shared.metadata.synchronisation import MetadataResult, synchronise

log = get_logger("metadata")


def read_now(desk: Desk, progress: Progress | None = None) -> MetadataResult:
    """Replace the cache by what the tracker has now; what came of it is recorded, success or not."""
    result = synchronise(desk.store, desk.locks, desk.connector.connect, progress)
    if result:
        found = {name: part.shortened() for name, part in result.parts.items()}
        with desk.store.transaction() as tx:
            tx.changes.note(Did.METADATA_READ(), after={name: part for name, part in found.items() if part})
    return result


def begin_reading(desk: Desk, within: float) -> MetadataResult | None:
    """Do the same, and let it go on by itself where it takes longer: `under_way` tells how far it has come.

    A process that ends meanwhile takes it along: the cache is as it was, and the lock's lease runs out.

    Args:
        desk: the collaborators.
        within: seconds to wait for its end.

    Returns:
        What came of it; None where it goes on.
    """
    done: Future[MetadataResult] = Future()

    def read() -> None:
        try:
            done.set_result(read_now(desk))
        except Exception as error:
            log.exception("reading the metadata failed")
            done.set_exception(error)

    context = contextvars.copy_context()  # who asked for it is part of the record
    threading.Thread(target=context.run, args=(read,), name="metadata", daemon=True).start()
    try:
        return done.result(within)
    except NotYet:
        return None
