"""The cached metadata of the tracker, and its synchronisation on request."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet

from pydantic import AwareDatetime

from producer.admin.presenters.shapes import Answer, Synchronisation
from producer.admin.records.transaction import Store
from producer.admin.services import Services
from shared.errors import NotFound
from shared.metadata.reading import Progress
from shared.metadata.synchronisation import PARTS, MetadataResult, synchronise
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.telemetry.logs import get_logger

log = get_logger("metadata")


class Metadata(Answer):
    """How many entries of Redmine's metadata are cached, and the latest syncs."""

    counts: dict[str, int]
    synchronised_at: AwareDatetime | None
    runs: list[Synchronisation]


def cached(store: Store) -> Metadata:
    """Return how many entries of each part are cached, and the latest synchronisations, newest first."""
    with store.transaction() as tx:
        counts, good = tx.metadata.counts(), tx.metadata.last_good_run()
        parts = {name: counts[str(kind)] for name, kind in PARTS.items()}
        counted = {"users": tx.people.cached_count(), **parts}
        runs = [Synchronisation.of(run) for run in tx.metadata.runs()]
    return Metadata(counts=counted, synchronised_at=good.ended_at if good else None, runs=runs)


def entries(store: Store, part: str, tracker_project_id: int | None = None) -> Sequence[Entry]:
    """Return the entries of a part of the cache (not users), of one tracker project if it is given.

    Raises:
        NotFound: if there is no such part.
    """
    if part not in PARTS:
        raise NotFound(Refusal.METADATA_PART_UNKNOWN(part=part[:40], parts=["users", *PARTS]))
    with store.transaction() as tx:
        return tx.metadata.of_kind(PARTS[part], tracker_project_id=tracker_project_id)


def names(store: Store, kind: MetadataKind, tracker_ids: Collection[int]) -> dict[int, str]:
    """Return the names of some entries of a kind by their ids, as far as they are cached."""
    with store.transaction() as tx:
        return tx.metadata.names(kind, tracker_ids)


def find_projects(store: Store, text: str, most: int) -> list[tuple[Entry, str | None]]:
    """Return active tracker projects by name, identifier or number, each with the name of its parent."""
    with store.transaction() as tx:
        found = tx.metadata.search(MetadataKind.PROJECT, text, most)
        above = {one.details.get("parent_id") for one in found} - {None}
        named = tx.metadata.names(MetadataKind.PROJECT, above)
    return [(one, named.get(one.details.get("parent_id") or 0)) for one in found]


def find_categories(store: Store, text: str, most: int, tracker_project_id: int) -> Sequence[Entry]:
    """Return issue categories of a tracker project by name or number."""
    with store.transaction() as tx:
        return tx.metadata.search(MetadataKind.CATEGORY, text, most, tracker_project_id=tracker_project_id)


def read_now(services: Services, progress: Progress | None = None) -> MetadataResult:
    """Synchronise the cache with the tracker; the run is recorded whether it succeeds or not."""
    result = synchronise(services.store, services.locks, services.connector.connect, progress)
    if result:
        found = {name: part.shortened() for name, part in result.parts.items()}
        with services.store.transaction() as tx:
            tx.changes.note(Did.METADATA_READ(), after={name: part for name, part in found.items() if part})
    return result


def begin_reading(services: Services, within: float) -> MetadataResult | None:
    """Synchronise in a thread, which continues if it takes longer than `within`; `under_way` returns its progress.

    If the process ends in the meantime, the cache stays as it was, and the lock's lease runs out.

    Args:
        services: the collaborators.
        within: seconds to wait for its end.

    Returns:
        The result, or None if it continues.
    """
    done: Future[MetadataResult] = Future()

    def read() -> None:
        try:
            done.set_result(read_now(services))
        except Exception as error:
            log.exception("reading the metadata failed")
            done.set_exception(error)

    context = contextvars.copy_context()  # the audit log names who requested it
    threading.Thread(target=context.run, args=(read,), name="metadata", daemon=True).start()
    try:
        return done.result(within)
    except NotYet:
        return None
