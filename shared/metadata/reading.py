"""Reads everything that the tracker offers, with exactly the calls of SPEC 4.2, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shared.errors import OutcomeUnknown, TrackerRejected
from shared.metadata import rows as metadata_rows
from shared.metadata.rows import LISTINGS
from shared.store.metadata import Entry, MetadataKind
from shared.store.people import TrackerPerson
from shared.tracker.answers import Answer
from shared.tracker.client import PAGE_SIZE, TrackerClient, rows_of
from shared.tracker.lanes import in_lanes

USERS = "/users.json"
PROJECTS = "/projects.json"
MOST_READINGS = 3
MOST_ROWS = 200_000
MOST_REPEATS = 5

Progress = Callable[[str, int, int], None]


class ListChanged(OutcomeUnknown):
    """A paged list changed while it was read: a row may be missing or there twice, so it is read again."""


@dataclass
class Found:
    """What has been read so far.

    Attributes:
        projects_without_categories: projects that refuse to list any (their issue module is off).
    """

    people: dict[int, TrackerPerson] = field(default_factory=dict)
    entries: dict[tuple[str, int], Entry] = field(default_factory=dict)
    projects_without_categories: int = 0

    def add(self, entry: Entry | None) -> None:
        """Keep an entry."""
        if entry is not None:
            self.entries[entry.key] = entry

    def of_kind(self, kind: MetadataKind) -> list[Entry]:
        """Return the entries of a kind."""
        return [entry for entry in self.entries.values() if entry.kind == kind]


def read_everything(client: TrackerClient, progress: Progress, *, project_activities: bool = False) -> Found:
    """Read all metadata; again where a list changed while it was read.

    Args:
        client: the tracker.
        progress: told after each call what is read, how many rows so far, how many there are; may raise to stop.
        project_activities: also read which activities each project has of its own.

    Raises:
        TrackerError: something could not be read.
    """
    for reading in range(1, MOST_READINGS + 1):
        try:
            return _Reading(client, progress, project_activities=project_activities).run()
        except ListChanged:
            if reading == MOST_READINGS:
                raise
    raise AssertionError("unreachable")


def find_project(client: TrackerClient, identifier: str) -> Entry | None:
    """Look an active project up in the tracker's list.

    Raises:
        TrackerError: the list could not be read.
    """
    for attempt in range(1, MOST_READINGS + 1):
        reading = _Reading(client, lambda *_: None)
        try:
            reading.read_paged([reading.projects])
            break
        except ListChanged:
            if attempt == MOST_READINGS:
                raise
    same = (
        one for one in reading.found.of_kind(MetadataKind.PROJECT) if one.details["identifier"] == identifier
    )
    return min(same, key=lambda one: one.tracker_id, default=None)


class _Paged:
    """A paged list: its rows by id, and what is still to be read."""

    def __init__(
        self, path: str, name: str, keep: Callable[[Mapping[str, Any]], object], **params: str
    ) -> None:
        self.path, self.name, self.keep, self.params = path, name, keep, params
        self.total = -1
        self.ids: set[object] = set()

    def take(self, answer: Answer) -> None:
        """Keep a page.

        Raises:
            ListChanged: it does not fit the pages before.
            OutcomeUnknown: it is no page of this list.
        """
        rows = rows_of(answer, self.name, self.path)
        total = answer.data.get("total_count")
        if type(total) is not int or not len(rows) <= total <= MOST_ROWS:
            raise OutcomeUnknown("GET", self.path, detail=f"a total_count of {total!r:.40} cannot be right")
        if self.total not in (-1, total):
            raise self.changed()
        self.total = total
        for row in rows:
            self.keep(row)
            self.ids.add(row.get("id"))

    def check(self) -> None:
        """Make sure that every row was read exactly once.

        Raises:
            ListChanged: a row is missing, or came twice.
        """
        if len(self.ids) != self.total:
            raise self.changed()

    def changed(self) -> ListChanged:
        """Return the error for a list that changed."""
        return ListChanged("GET", self.path, detail="the list changed while it was read")


class _Reading:
    """One reading of everything."""

    def __init__(
        self, client: TrackerClient, progress: Progress, *, project_activities: bool = False
    ) -> None:
        self._client = client
        self._progress = progress
        self._repeats = 0
        self.found = found = Found()
        more = {"include": "time_entry_activities"} if project_activities else {}
        self.users = _Paged(USERS, "users", self._keep_person)
        self.projects = _Paged(
            PROJECTS, "projects", lambda row: found.add(metadata_rows.project(row, PROJECTS)), **more
        )

    def run(self) -> Found:
        """Read everything, /users.json first and last: lists answer 200 also to an invalid key (OBSERVED)."""
        first = self._page(self.users, 0)
        self.users.take(first)
        self._progress("users", len(self.users.ids), self.users.total)
        if not self.found.people:
            raise OutcomeUnknown("GET", USERS, detail="no users at all, not even the key's own")
        self._read_lists()
        self.read_paged([self.projects], more=[self.users])
        self._read_categories()
        last = self._page(self.users, 0)
        if _kept(first) != _kept(last):
            raise self.users.changed()
        return self.found

    def read_paged(self, lists: list[_Paged], *, more: list[_Paged] | None = None) -> None:
        """Read paged lists to their end: their first pages, then all others at once.

        Args:
            lists: read from the start.
            more: lists whose first page has been taken.

        Raises:
            ListChanged: the pages do not fit together.
        """
        for one in lists:
            one.take(self._page(one, 0))
            self._progress(one.name, len(one.ids), one.total)
        lists = [*lists, *(more or ())]
        todo = [(one, offset) for one in lists for offset in range(PAGE_SIZE, one.total, PAGE_SIZE)]

        def done(read: tuple[_Paged, Answer]) -> None:
            one, answer = read
            one.take(answer)
            self._progress(one.name, len(one.ids), one.total)

        in_lanes(self._client, lambda page: (page[0], self._page(*page)), todo, done=done)
        for one in lists:
            one.check()

    def _read_lists(self) -> None:
        def done(read: tuple[metadata_rows.Listing, Answer]) -> None:
            listing, answer = read
            rows = rows_of(answer, listing.name, listing.path)
            for row in rows:
                self.found.add(listing.entry(row, listing.path))
            self._progress(listing.name, len(rows), len(rows))

        in_lanes(self._client, lambda listing: (listing, self._get(listing.path)), list(LISTINGS), done=done)

    def _read_categories(self) -> None:
        projects = [one.tracker_id for one in self.found.of_kind(MetadataKind.PROJECT)]
        read_so_far = 0

        def done(entries: list[Entry] | None) -> None:
            nonlocal read_so_far
            read_so_far += 1
            self.found.projects_without_categories += entries is None
            for entry in entries or ():
                self.found.add(entry)
            self._progress("categories of projects", read_so_far, len(projects))

        in_lanes(self._client, self._categories, projects, done=done)

    def _categories(self, tracker_project_id: int) -> list[Entry] | None:
        """Return a project's categories; None where it has no issue module, or has just been closed or deleted."""
        path = f"/projects/{tracker_project_id}/issue_categories.json"
        try:
            answer = self._get(path)
        except TrackerRejected as refusal:
            if refusal.status in (403, 404):
                return None
            raise
        keep = partial(metadata_rows.category, path=path, tracker_project_id=tracker_project_id)
        return [keep(row) for row in rows_of(answer, "issue_categories", path)]

    def _keep_person(self, row: Mapping[str, Any]) -> None:
        found = metadata_rows.person(row, USERS)
        self.found.people[found.tracker_user_id] = found

    def _page(self, one: _Paged, offset: int) -> Answer:
        return self._get(one.path, {**one.params, "limit": PAGE_SIZE, "offset": offset})

    def _get(self, path: str, params: Mapping[str, str | int] | None = None) -> Answer:
        """Read once, and once more where the answer was lost: a thousand calls would hardly ever all succeed."""
        try:
            return self._client.call("GET", path, params=params)
        except OutcomeUnknown:
            self._repeats += 1
            if self._repeats > MOST_REPEATS:
                raise
        return self._client.call("GET", path, params=params)


def _kept(users: Answer) -> list[TrackerPerson]:
    """Return what is kept of a page of users: one who has signed in meanwhile is no change."""
    return [metadata_rows.person(row, USERS) for row in rows_of(users, "users", USERS)]
