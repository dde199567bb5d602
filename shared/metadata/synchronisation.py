"""Synchronises the cache of the tracker's metadata: all or nothing, one run at a time (SPEC 1.3, 4.2, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from redis.exceptions import RedisError

from shared.errors import BridgeError, LockBusy
from shared.events.config import PluginConfig
from shared.metadata.reading import (
    Found,
    Progress,
    read_categories,
    read_everything,
    read_kinds,
    read_people,
)
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.notices.system_refusals import SystemRefusal
from shared.redis.locks import Locks
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.transaction import Store, Transaction
from shared.telemetry.logs import get_logger, reason_fields
from shared.tracker.client import TrackerClient
from shared.tracker.lists import TrackerLists
from shared.values.ids import is_id

log = get_logger("metadata")
LOCK = "metadata"
MOST_NAMED = 50
AGAIN_S = 300.0
"""Seconds after a failure in which no run is due."""
PARTS = {
    "projects": MetadataKind.PROJECT,
    "issue_types": MetadataKind.ISSUE_TYPE,
    "statuses": MetadataKind.STATUS,
    "priorities": MetadataKind.PRIORITY,
    "activities": MetadataKind.ACTIVITY,
    "roles": MetadataKind.ROLE,
    "categories": MetadataKind.CATEGORY,
    "custom_fields": MetadataKind.CUSTOM_FIELD,
}
"""The names of the cache's parts in results and in the API, besides `users`."""

One = TypeVar("One")
Entries = Mapping[tuple[str, int], Entry]
Connect = Callable[[], tuple[PluginConfig, TrackerClient]]


@dataclass(frozen=True, slots=True)
class Differences:
    """How a part of the cache changed.

    Attributes:
        total: the current number of entries.
        added, changed, removed: names, sorted.
    """

    total: int
    added: list[str]
    changed: list[str]
    removed: list[str]

    def shortened(self) -> dict[str, Any]:
        """Return the number and the first names of each kind of change, for the record of runs."""
        names = {word: getattr(self, word) for word in ("added", "changed", "removed")}
        return {
            word: {"count": len(found), "names": found[:MOST_NAMED]} for word, found in names.items() if found
        }


@dataclass(frozen=True, slots=True)
class MetadataResult:
    """The result of a synchronisation; false if it failed and the cache is unchanged (SPEC section 7).

    Attributes:
        parts: part of the cache (`users` and the names of PARTS) to its differences.
        why: why it failed, or None.
        busy: whether it failed because another run was in progress.
    """

    parts: dict[str, Differences] = field(default_factory=dict)
    why: Notice | None = None
    busy: bool = False

    def __bool__(self) -> bool:
        return self.why is None

    @property
    def error(self) -> str | None:
        """Why it failed, as a sentence, or None."""
        return None if self.why is None else sentence(self.why)

    @property
    def users(self) -> Differences:
        """The differences of the tracker's users."""
        return self.parts["users"]

    def as_json(self) -> dict[str, Any]:
        return {name: asdict(differences) for name, differences in self.parts.items()}


def is_due(store: Store, interval: float) -> bool:
    """Return whether the last successful run is older than the interval (s) and the last failure is not recent.

    If no tracker is configured, no run is ever due.
    """
    with store.transaction() as tx:
        config, key = tx.configs.get()
        good, runs, now = tx.metadata.last_good_run(), tx.metadata.runs(1), tx.now()
    if config.base_url is None or key is None:
        return False
    if good is not None and (now - good.ended_at).total_seconds() < interval:
        return False
    newest = runs[0] if runs else None
    again = min(interval, AGAIN_S)
    return newest is None or newest.ok or (now - newest.ended_at).total_seconds() >= again


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The progress of a synchronisation, with the values of `Progress`; total 0: nothing has been read yet."""

    what: str = ""
    so_far: int = 0
    total: int = 0


def under_way(locks: Locks) -> UnderWay | None:
    """Return the progress of the current synchronisation, whichever process runs it, or None if there is none.

    Raises:
        RedisError: if Redis is down.
    """
    told = locks.progress(LOCK)
    if told is None:
        return None
    what, so_far, total = (told.get(name) for name in ("what", "so_far", "total"))
    if isinstance(what, str) and is_id(so_far) and is_id(total):
        return UnderWay(what, so_far, total)
    return UnderWay()


def synchronise(
    store: Store,
    locks: Locks,
    connect: Connect,
    progress: Progress | None = None,
    *,
    older_than: float | None = None,
) -> MetadataResult:
    """Replace the cache with the tracker's current metadata, unless another run is in progress; record the run.

    Args:
        store: the database with the cache.
        locks: ensure one run at a time over all processes.
        connect: returns the Redmine settings and the tracker.
        progress: as for `sync_metadata`.
        older_than: run only if it is due at this interval (s); checked while the lock is held.

    Returns:
        The result, without parts if no run was due. If it is false, the cache is unchanged.
    """
    with store.transaction() as tx:
        started_at = tx.now()
    try:
        with locks.hold(LOCK) as lock:
            if older_than is not None and not is_due(store, older_than):
                return MetadataResult()

            def go_on(what: str, so_far: int, total: int) -> None:
                lock.check()
                locks.publish_progress(LOCK, {"what": what, "so_far": so_far, "total": total})
                if progress:
                    progress(what, so_far, total)

            locks.publish_progress(LOCK, {})
            try:
                config, client = connect()
                return sync_metadata(
                    store,
                    client,
                    go_on,
                    started_at=started_at,
                    project_activities=config.project_activities,
                )
            except BridgeError as error:  # also if the lock was lost during the run
                log.warning("metadata not synchronised; the old cache stays", **reason_fields(error.notice))
                with store.transaction() as tx:
                    tx.metadata.record_run(started_at, counts={}, differences={}, why=error.notice)
                return MetadataResult(why=error.notice)
            finally:
                locks.publish_progress(LOCK, None)
    except LockBusy:
        return MetadataResult(why=Refusal.METADATA_BUSY(), busy=True)
    except RedisError as error:
        log.warning("metadata not synchronised: no lock", error=type(error).__name__)
        return MetadataResult(why=SystemRefusal.REDIS_DOWN(error=type(error).__name__))


def sync_metadata(
    store: Store,
    client: TrackerClient,
    progress: Progress | None = None,
    *,
    started_at: datetime | None = None,
    project_activities: bool = False,
) -> MetadataResult:
    """Replace the cache with the tracker's current metadata, and record the run; the caller prevents concurrent runs.

    Args:
        store: the database with the cache.
        client: the tracker.
        progress: receives after each call the list, its rows so far and their total.
        started_at: when the run started, by the database's clock.
        project_activities: whether to read each project's own activities, too.

    Raises:
        TrackerError: if the tracker could not be read completely; the cache is unchanged.
    """
    found = read_everything(client, progress or (lambda *_: None), project_activities=project_activities)
    with store.transaction() as tx:
        result = MetadataResult(_replace(tx, found))
        tx.metadata.record_run(
            started_at or tx.now(),
            counts={name: one.total for name, one in result.parts.items()},
            differences={name: one.shortened() for name, one in result.parts.items() if one.shortened()},
        )
    return result


def refresh(store: Store, lists: TrackerLists, *kinds: MetadataKind) -> None:
    """Read some kinds again between two synchronisations, because of an id that is not in the cache or a refusal.

    Args:
        store: the database with the cache.
        lists: the tracker's lists.
        kinds: kinds whose lists are not paged; projects and their categories are not among them.

    Raises:
        TrackerError: if they could not be read; the cache is unchanged.
    """
    now = read_kinds(lists, kinds)
    with store.transaction() as tx:
        keep_kinds(tx, kinds, now)


def refresh_categories(store: Store, lists: TrackerLists, tracker_project_id: int) -> list[Entry]:
    """Read a project's issue categories again, and return them.

    Raises:
        TrackerError: if they could not be read; the cache is unchanged.
    """
    now = {one.key: one for one in read_categories(lists, tracker_project_id)}
    with store.transaction() as tx:
        known = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=tracker_project_id)
        _write(tx, {one.key: one for one in known}, now)
    return list(now.values())


def keep_kinds(tx: Transaction, kinds: Iterable[MetadataKind], now: Entries) -> None:
    """Replace some kinds in the cache with the entries that were read."""
    _write(tx, {one.key: one for kind in kinds for one in tx.metadata.of_kind(kind)}, now)


def refresh_people(store: Store, lists: TrackerLists) -> dict[int, TrackerPerson]:
    """Read the tracker's users again between two synchronisations, because of a user who is not in the cache.

    Returns:
        The active users by id, without locked and deleted ones.

    Raises:
        TrackerError: if they could not be read; the cache is unchanged.
    """
    people = read_people(lists)
    with store.transaction() as tx:
        tx.people.replace_cache(people)
    return {one.tracker_user_id: one for one in people}


def _write(tx: Transaction, before: Entries, now: Entries) -> None:
    tx.metadata.remove(before.keys() - now.keys())
    tx.metadata.put(entry for key, entry in now.items() if before.get(key) != entry)


def _replace(tx: Transaction, found: Found) -> dict[str, Differences]:
    """Write the differences, and return them."""
    people = {one.tracker_user_id: one for one in tx.people.cached()}
    parts = {"users": _differences(people, found.people, _login)}
    before = tx.metadata.all()
    tx.people.replace_cache(found.people.values())
    _write(tx, before, found.entries)
    for name, kind in PARTS.items():
        parts[name] = _differences(
            _of_kind(kind, before.values()), _of_kind(kind, found.entries.values()), _name
        )
    return parts


def _of_kind(kind: MetadataKind, entries: Iterable[Entry]) -> dict[int, Entry]:
    return {entry.tracker_id: entry for entry in entries if entry.kind == kind}


def _login(one: TrackerPerson) -> str:
    return one.login


def _name(one: Entry) -> str:
    return one.name


def _differences(
    before: Mapping[int, One], now: Mapping[int, One], name: Callable[[One], str]
) -> Differences:
    return Differences(
        total=len(now),
        added=sorted(name(now[one]) for one in now.keys() - before.keys()),
        changed=sorted(name(now[one]) for one in now.keys() & before.keys() if now[one] != before[one]),
        removed=sorted(name(before[one]) for one in before.keys() - now.keys()),
    )
