"""Reads from the tracker, as it is now, everything that the configuration, links and templates name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from producer.admin.doctor.finding import CheckResult, failure
from producer.admin.doctor.installation import Installation
from shared.codes.findings import Finding
from shared.errors import BridgeError
from shared.metadata.reading import PROJECTS
from shared.metadata.rows import LISTINGS, person
from shared.metadata.synchronisation import refresh, refresh_people
from shared.store.people import TrackerPerson
from shared.tracker.client import USERS, TrackerClient
from shared.tracker.lanes import in_lanes
from shared.tracker.lists import TrackerLists
from shared.tracker.projects import INCLUDE, ProjectNow, project_now, read_row

LOCKED = 3
ASKED_ONE_BY_ONE = 60
"""So many linked projects are asked for by themselves; of more the tracker's list is read, a hundred a page."""


def read(installation: Installation) -> Iterator[CheckResult]:
    """Bring the cache up to date, but for projects, and note how the linked projects stand."""
    with installation.store.transaction() as tx:
        wanted = {link.tracker_project_id for link in tx.links.all()}
    _, client = installation.connect()
    lists = TrackerLists(client)
    try:
        refresh(installation.store, lists, *(one.kind for one in LISTINGS))
        refresh_people(installation.store, lists)
        installation.locked = _locked(lists)
        projects = _projects(client, lists, wanted)
        lists.ask_whether_open()
    except BridgeError as error:
        yield failure("tracker", Finding.TRACKER_NOT_USABLE(problem=error.coded))
    else:
        installation.projects = projects
    finally:
        client.close()


def _locked(lists: TrackerLists) -> list[TrackerPerson]:
    rows = lists.whole(USERS, "users", {"status": LOCKED})
    return [one for one in (person(row, USERS) for row in rows) if one is not None]


def _projects(client: TrackerClient, lists: TrackerLists, wanted: Collection[int]) -> dict[int, ProjectNow]:
    found: dict[int, ProjectNow] = {}
    if len(wanted) > ASKED_ONE_BY_ONE:
        rows = lists.whole(PROJECTS, "projects", {"include": INCLUDE})
        every = [read_row(row["id"], row) for row in rows if row.get("id") in wanted]
        found = {one.id: one for one in every}

    def keep(project: ProjectNow) -> None:
        found[project.id] = project

    missing = [one for one in sorted(wanted) if one not in found]
    in_lanes(client, lambda project_id: project_now(lists.get, project_id), missing, done=keep)
    return found
