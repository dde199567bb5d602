"""Reads the current state of everything on the tracker that the settings, mappings and templates name."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence

from producer.admin.doctor.finding import CheckResult, failure
from producer.admin.doctor.installation import Installation
from shared.errors import BridgeError, TrackerRejected
from shared.events.config import PluginConfig
from shared.metadata.reading import read_kinds, read_people
from shared.metadata.rows import LISTINGS, person
from shared.metadata.synchronisation import keep_kinds
from shared.notices.doctor_service import ServiceFinding
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.tracker.client import USERS
from shared.tracker.concurrent_reads import LONG_ANSWERS, run_concurrently
from shared.tracker.lists import TrackerLists
from shared.tracker.projects import (
    ACTIVITIES,
    CATEGORIES,
    ISSUE_TYPES,
    MODULES,
    ProjectNow,
    listed_now,
    project_now,
)

LOCKED, NOT_FOUND = 3, 404
IN_ONE_CALL = 50
"""Half a page: a real tracker takes about 3 ms for each project, and has five seconds for a call even if it is busy."""
NEWEST = 1000
"""Of this many of the newest tickets, the projects are read first, and the authors are looked up."""
MOST_ASKED = 40
"""Maximum number of users to look up because they are neither active nor locked."""
KINDS = [one.kind for one in LISTINGS]


def read(installation: Installation) -> Iterator[CheckResult]:
    """Update the cache, except for projects, and record the state of the mapped projects."""
    with installation.store.transaction() as tx:
        config, links, first = tx.configs.get()[0], tx.mappings.all(), tx.issues.newest_projects(NEWEST)
        named = dict.fromkeys(
            [
                *tx.people.overrides().values(),
                *tx.times.newest_authors(NEWEST).values(),
                *tx.issues.newest_authors(NEWEST).values(),
                *tx.people.pins().values(),
            ]
        )
    _, client = installation.connect()
    lists = TrackerLists(client)
    try:
        with lists.open_throughout():
            entries, people, locked = read_kinds(lists, KINDS), read_people(lists), _locked(lists)
            linked = {link.tracker_project_id for link in links}
            ids = [one for one in dict.fromkeys([*first, *sorted(linked)]) if one in linked]
            projects = _projects(lists, ids, _include(config, links), installation.patience_s)
            there = {one.tracker_user_id for one in (*people, *locked)}
            deleted = _deleted(lists, [one for one in named if one not in there][:MOST_ASKED])
    except BridgeError as error:
        yield failure("tracker", ServiceFinding.TRACKER_NOT_USABLE(problem=error.notice))
        return
    installation.locked, installation.projects, installation.deleted = locked, projects, deleted
    with installation.store.transaction() as tx:
        keep_kinds(tx, KINDS, entries)
        tx.people.replace_cache(people)


def _locked(lists: TrackerLists) -> list[TrackerPerson]:
    rows = lists.read_all(USERS, "users", {"status": LOCKED})
    return [one for one in (person(row, USERS) for row in rows) if one is not None]


def _deleted(lists: TrackerLists, user_ids: Sequence[int]) -> set[int]:
    """Return which users no longer exist. A user who was never activated exists, but is in no list."""
    found: set[int] = set()

    def ask(user_id: int) -> int | None:
        try:
            lists.get(f"/users/{user_id}.json", {})
        except TrackerRejected as refused:
            if refused.status != NOT_FOUND:
                raise
            return user_id
        return None

    def keep(user_id: int | None) -> None:
        found.update([] if user_id is None else [user_id])

    run_concurrently(ask, user_ids, done=keep)
    return found


def _include(config: PluginConfig, links: Collection[ProjectMapping]) -> list[str]:
    """Return what to read of each project; what no setting needs is left out, since it costs the tracker time."""
    wanted = {
        MODULES: True,
        ISSUE_TYPES: config.default_tracker_id is not None,
        ACTIVITIES: config.default_activity_id is not None,
        CATEGORIES: any(link.default_category_id is not None for link in links),
    }
    return [name for name, is_wanted in wanted.items() if is_wanted]


def _projects(
    lists: TrackerLists,
    ids: Sequence[int],
    include: Sequence[str],
    patience_s: float | None,
) -> dict[int, ProjectNow]:
    """Return the state of projects, as many as time allows."""
    until = math.inf if patience_s is None else time.monotonic() + patience_s
    found: dict[int, ProjectNow] = {}
    missing: list[int] = []

    def listed(some: Sequence[int]) -> tuple[Sequence[int], dict[int, ProjectNow]]:
        return some, listed_now(lists.get, some, include)

    def keep_listed(answer: tuple[Sequence[int], dict[int, ProjectNow]]) -> None:
        some, listing = answer
        found.update(listing)
        missing.extend(one for one in some if one not in listing)

    def keep(project: ProjectNow) -> None:
        found[project.id] = project

    calls = [ids[first : first + IN_ONE_CALL] for first in range(0, len(ids), IN_ONE_CALL)]
    run_concurrently(listed, calls, done=keep_listed, concurrency=LONG_ANSWERS, until=until)
    run_concurrently(lambda project_id: project_now(lists.get, project_id), missing, done=keep, until=until)
    return found
