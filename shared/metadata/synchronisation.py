"""Keeps the cache of the tracker's metadata: all or nothing, one run at a time (SPEC 1.3, 4.2, section 7)."""

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
"""So long after a failure nothing is due again."""
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
"""The parts of the cache as results and the API name them, beside `users`."""

One = TypeVar("One")
Entries = Mapping[tuple[str, int], Entry]
Connect = Callable[[], tuple[PluginConfig, TrackerClient]]


@dataclass(frozen=True, slots=True)
class Differences:
    """How a part of the cache changed.

    Attributes:
        total: how many there are now.
        added, changed, removed: names, in order.
    """

    total: int
    added: list[str]
    changed: list[str]
    removed: list[str]

    def shortened(self) -> dict[str, Any]:
        """Return it with at most some names, and how many there are of each, for the record of runs."""
        names = {word: getattr(self, word) for word in ("added", "changed", "removed")}
        return {
            word: {"count": len(found), "names": found[:MOST_NAMED]} for word, found in names.items() if found
        }


@dataclass(frozen=True, slots=True)
class MetadataResult:
    """What a synchronisation brought; false where it failed and the cache is as it was (SPEC section 7).

    Attributes:
        parts: part of the cache (`users` and the names of PARTS) to its differences.
        why: why it failed.
        busy: it failed because another run was under way.
    """

    parts: dict[str, Differences] = field(default_factory=dict)
    why: Notice | None = None
    busy: bool = False

    def __bool__(self) -> bool:
        return self.why is None

    @property
    def error(self) -> str | None:
        """Why it failed, for people."""
        return None if self.why is None else sentence(self.why)

    @property
    def users(self) -> Differences:
        """The differences of the tracker's users."""
        return self.parts["users"]

    def as_json(self) -> dict[str, Any]:
        return {name: asdict(differences) for name, differences in self.parts.items()}


def is_due(store: Store, interval: float) -> bool:
    """Return whether the last successful run is older than the interval (s), and the last failure not quite new.

    Without a tracker that is set up nothing is ever due.
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
    """How far a synchronisation has come, in the words of `Progress`; total 0: nothing is read yet."""

    what: str = ""
    so_far: int = 0
    total: int = 0


def under_way(locks: Locks) -> UnderWay | None:
    """Return how far a synchronisation has come, whichever process carries it out; None if there is none.

    Raises:
        RedisError: Redis is away.
    """
    told = locks.told(LOCK)
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
    """Replace the cache by what the tracker has now, unless another run is under way; record the run.

    Args:
        store: where the cache is.
        locks: one run at a time, over every process.
        connect: returns the configuration and the tracker.
        progress: as `sync_metadata`.
        older_than: only if it is due at this interval (s), as the one who holds the lock sees it.

    Returns:
        What it brought; false where it failed: the cache is as it was, and the failure is logged and recorded.
    """
    with store.transaction() as tx:
        started_at = tx.now()
    try:
        with locks.hold(LOCK) as lock:
            if older_than is not None and not is_due(store, older_than):
                return MetadataResult()

            def go_on(what: str, so_far: int, total: int) -> None:
                lock.check()
                locks.tell(LOCK, {"what": what, "so_far": so_far, "total": total})
                if progress:
                    progress(what, so_far, total)

            locks.tell(LOCK, {})
            try:
                config, client = connect()
                return sync_metadata(
                    store,
                    client,
                    go_on,
                    started_at=started_at,
                    project_activities=config.project_activities,
                )
            except BridgeError as error:  # also a lock that was lost under way
                log.warning("metadata not synchronised; the old cache stays", **reason_fields(error.notice))
                with store.transaction() as tx:
                    tx.metadata.record_run(started_at, counts={}, differences={}, why=error.notice)
                return MetadataResult(why=error.notice)
            finally:
                locks.tell(LOCK, None)
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
    """Replace the cache by what the tracker has now, and record the run; the caller ensures that it is the only one.

    Args:
        store: where the cache is.
        client: the tracker.
        progress: told after each call: what is read, how many so far, how many there are.
        started_at: when the run started, by the database's clock.
        project_activities: also read which activities each project has of its own.

    Raises:
        TrackerError: the tracker could not be read as a whole; the cache is as it was.
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
    """Read some kinds afresh between two synchronisations: an id is met that the cache does not hold, or a refusal.

    Args:
        store: where the cache is.
        lists: the tracker's.
        kinds: those that the tracker lists as a whole: not projects, nor their categories.

    Raises:
        TrackerError: it could not be read; the cache is as it was.
    """
    now = read_kinds(lists, kinds)
    with store.transaction() as tx:
        keep_kinds(tx, kinds, now)


def refresh_categories(store: Store, lists: TrackerLists, tracker_project_id: int) -> list[Entry]:
    """Read a project's issue categories afresh; return them.

    Raises:
        TrackerError: they could not be read; the cache is as it was.
    """
    now = {one.key: one for one in read_categories(lists, tracker_project_id)}
    with store.transaction() as tx:
        known = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=tracker_project_id)
        _write(tx, {one.key: one for one in known}, now)
    return list(now.values())


def keep_kinds(tx: Transaction, kinds: Iterable[MetadataKind], now: Entries) -> None:
    """Replace some kinds in the cache by what was read."""
    _write(tx, {one.key: one for kind in kinds for one in tx.metadata.of_kind(kind)}, now)


def refresh_people(store: Store, lists: TrackerLists) -> dict[int, TrackerPerson]:
    """Read the tracker's users again between two synchronisations, because of a user that the cache does not know.

    Returns:
        Them, by id; anyone who is locked or deleted is none of them.

    Raises:
        TrackerError: they could not be read; the cache is as it was.
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
