"""Reads all metadata of the tracker with exactly the calls of SPEC 4.2, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shared.errors import OutcomeUnknown, TrackerRejected
from shared.metadata import rows as metadata_rows
from shared.metadata.rows import LISTINGS
from shared.notices.faults import Detail
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.tracker.answers import Answer
from shared.tracker.client import USERS, TrackerClient
from shared.tracker.concurrent_reads import run_concurrently
from shared.tracker.lists import Listed, PagedList, TrackerLists, retry_if_changed, rows_of
from shared.tracker.projects import PROJECTS

MOST_REPEATS = 5
"""Calls with a lost answer that are repeated, because a thousand calls would hardly ever all succeed."""

Progress = Callable[[str, int, int], None]


@dataclass
class Found:
    """The metadata that has been read so far."""

    people: dict[int, TrackerPerson] = field(default_factory=dict)
    entries: dict[tuple[str, int], Entry] = field(default_factory=dict)

    def add(self, entry: Entry | None) -> None:
        """Add an entry; ignore None."""
        if entry is not None:
            self.entries[entry.key] = entry

    def of_kind(self, kind: MetadataKind) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.kind == kind]


def read_everything(client: TrackerClient, progress: Progress, *, project_activities: bool = False) -> Found:
    """Read all metadata; start again if a list changed while it was read.

    Args:
        client: the tracker.
        progress: receives after each call the list, its rows so far and their total; may raise to stop.
        project_activities: whether to read each project's own activities, too.

    Raises:
        TrackerError: if something could not be read.
    """
    return retry_if_changed(lambda: _Reading(client, progress, project_activities=project_activities).run())


def read_kinds(lists: TrackerLists, kinds: Collection[MetadataKind]) -> dict[tuple[str, int], Entry]:
    """Read all entries of kinds whose lists are not paged; projects and their categories are not among them.

    Raises:
        TrackerError: if they could not be read, or the key is refused.
    """
    lists.check_access()
    answers = [(one, lists.get(one.path)) for one in LISTINGS if one.kind in kinds]
    lists.check_access()
    found = Found()
    for listing, answer in answers:
        for row in rows_of(answer, listing.name, listing.path):
            found.add(listing.entry(row, listing.path))
    return found.entries


def read_categories(lists: TrackerLists, tracker_project_id: int) -> list[Entry]:
    """Read a project's categories; none if it has no issue module, or has just been closed or deleted.

    Raises:
        TrackerError: if they could not be read.
    """
    path = f"/projects/{tracker_project_id}/issue_categories.json"
    try:
        answer = lists.get(path)
    except TrackerRejected as refusal:
        if refusal.status in (403, 404):
            return []
        raise
    keep = partial(metadata_rows.category, path=path, tracker_project_id=tracker_project_id)
    return [keep(row) for row in rows_of(answer, "issue_categories", path)]


def read_people(lists: TrackerLists) -> list[TrackerPerson]:
    """Read the tracker's active users.

    Raises:
        TrackerError: if they could not be read, or the key is refused.
    """
    people = (metadata_rows.person(row, USERS) for row in lists.read_all(USERS, "users"))
    return [one for one in people if one is not None]


def find_project(client: TrackerClient, identifier: str) -> Entry | None:
    """Return the active project with an identifier from the tracker's list, or None.

    Raises:
        TrackerError: if the list could not be read.
    """
    rows = TrackerLists(client, repeats=MOST_REPEATS).read_all(PROJECTS, "projects")
    same = (one for one in (metadata_rows.project(row, PROJECTS) for row in rows) if one is not None)
    named = [one for one in same if one.details["identifier"] == identifier]
    return min(named, key=lambda one: one.tracker_id, default=None)


class _Reading:
    """One pass over all metadata."""

    def __init__(
        self, client: TrackerClient, progress: Progress, *, project_activities: bool = False
    ) -> None:
        self._client = client
        self._progress = progress
        self._lists = TrackerLists(client, repeats=MOST_REPEATS)
        self.found = Found()
        self._users = PagedList(USERS, "users")
        more = {"include": "time_entry_activities"} if project_activities else {}
        self._projects = PagedList(PROJECTS, "projects", more)

    def run(self) -> Found:
        """Read everything, /users.json first and last, because other lists answer 200 even to an invalid key."""
        first = self._lists.get(USERS, self._users.page(0))
        self._keep(self._users, self._users.take(first))
        if not self.found.people:
            raise OutcomeUnknown("GET", USERS, detail=Detail.NO_USERS())
        self._read_lists()
        self._lists.read_pages([self._projects], self._keep, begun=[self._users])
        self._read_categories()
        last = self._lists.get(USERS, self._users.page(0))
        if _kept(first) != _kept(last):
            raise self._users.changed()
        return self.found

    def _keep(self, one: PagedList, rows: list[Listed]) -> None:
        for row in rows:
            if one is self._users:
                self._keep_person(row)
            else:
                self.found.add(metadata_rows.project(row, PROJECTS))
        self._progress(one.name, len(one.ids), one.total)

    def _read_lists(self) -> None:
        def done(read: tuple[metadata_rows.Listing, Answer]) -> None:
            listing, answer = read
            rows = rows_of(answer, listing.name, listing.path)
            for row in rows:
                self.found.add(listing.entry(row, listing.path))
            self._progress(listing.name, len(rows), len(rows))

        run_concurrently(lambda listing: (listing, self._lists.get(listing.path)), list(LISTINGS), done=done)

    def _read_categories(self) -> None:
        projects = [one.tracker_id for one in self.found.of_kind(MetadataKind.PROJECT)]
        read_so_far = 0

        def done(entries: list[Entry]) -> None:
            nonlocal read_so_far
            read_so_far += 1
            for entry in entries:
                self.found.add(entry)
            self._progress("categories of projects", read_so_far, len(projects))

        run_concurrently(partial(read_categories, self._lists), projects, done=done)

    def _keep_person(self, row: Mapping[str, Any]) -> None:
        found = metadata_rows.person(row, USERS)
        if found is not None:
            self.found.people[found.tracker_user_id] = found


def _kept(users: Answer) -> list[TrackerPerson | None]:
    """Return the stored part of a page of users, so that a sign-in in the meantime does not count as a change."""
    return [metadata_rows.person(row, USERS) for row in rows_of(users, "users", USERS)]
