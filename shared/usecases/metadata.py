"""Reads the tracker's metadata into the cache, all or nothing (SPEC 1.3, 4.2, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import OutcomeUnknown
from shared.store import Store
from shared.store.people import TrackerPerson
from shared.tracker.answers import clean
from shared.tracker.client import TrackerClient, rows_of

USERS = "/users.json"
MOST_READINGS = 3

Progress = Callable[[str, int, int], None]


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


@dataclass(frozen=True, slots=True)
class MetadataResult:
    """What a synchronisation brought."""

    users: Differences


def sync_metadata(store: Store, client: TrackerClient, progress: Progress | None = None) -> MetadataResult:
    """Replace the cache by what the tracker has now.

    Args:
        store: where the cache is.
        client: the tracker.
        progress: told after each page: what is read, how many so far, how many there are.

    Raises:
        TrackerError: the tracker could not be read as a whole; the cache is as it was.
    """
    people = _read_users(client, progress)
    with store.transaction() as tx:
        before = {person.tracker_user_id: person for person in tx.people.cached()}
        tx.people.replace_cache(people.values())
    return MetadataResult(users=_differences(before, people))


def _read_users(client: TrackerClient, progress: Progress | None) -> dict[int, TrackerPerson]:
    """Read every active user; once more where the list changed while it was read, since one may be missing.

    Raises:
        TrackerError: as `sync_metadata`.
    """
    for _ in range(MOST_READINGS):
        people: dict[int, TrackerPerson] = {}
        totals = set()
        for answer in client.pages(USERS, "users"):
            people.update(_person(row) for row in rows_of(answer, "users", USERS))
            total = int(answer.data.get("total_count") or 0)
            totals.add(total)
            if progress:
                progress("users", len(people), total)
        if totals == {len(people)}:
            break
    else:
        raise OutcomeUnknown("GET", USERS, detail="the list changed while it was read")
    if not people:
        raise OutcomeUnknown("GET", USERS, detail="no users at all, not even the key's own")
    return people


def _person(row: Mapping[str, Any]) -> tuple[int, TrackerPerson]:
    tracker_user_id, login, mail = row.get("id"), row.get("login"), row.get("mail")
    if not isinstance(tracker_user_id, int) or not isinstance(login, str) or not login:
        raise OutcomeUnknown(
            "GET", USERS, detail="a user has no id or login: the API key must be an administrator's"
        )
    name = " ".join(part for part in (row.get("firstname"), row.get("lastname")) if isinstance(part, str))
    person = TrackerPerson(
        tracker_user_id,
        clean(login),
        clean(name).strip(),
        clean(mail) or None if isinstance(mail, str) else None,
        admin=row.get("admin") is True,
    )
    return tracker_user_id, person


def _differences(before: Mapping[int, TrackerPerson], now: Mapping[int, TrackerPerson]) -> Differences:
    return Differences(
        total=len(now),
        added=sorted(now[one].login for one in now.keys() - before.keys()),
        changed=sorted(now[one].login for one in now.keys() & before.keys() if now[one] != before[one]),
        removed=sorted(before[one].login for one in before.keys() - now.keys()),
    )
