"""Reads the tracker's lists so reliably that an item which is in none of the pages is not on the tracker.

Two things make a list unreliable. If the key is refused or the REST API is off, the tracker answers lists with 200, as
for anonymous users; so /users.json, which it refuses then, is read before and after. And if a list changes while its
pages are read, a row may be missed between two of them; so the pages are checked against one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from shared.errors import OutcomeUnknown
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer
from shared.tracker.client import USERS, CallRecord, TrackerClient
from shared.tracker.concurrent_reads import LONG_ANSWERS, run_concurrently
from shared.values.ids import id_in

PAGE_SIZE = 100
MOST_PAGES = 50
MOST_ROWS = 200_000
MOST_READINGS = 3

Listed = dict[str, Any]
Params = Mapping[str, str | int]
Result = TypeVar("Result")


class ListChanged(OutcomeUnknown):
    """A paged list changed while it was read: a row may be missing or duplicated, so it must be read again."""


class PagedList:
    """A list whose pages are checked against one another, in any order.

    Args:
        path: its path.
        name: its name in the answer.
        params: query parameters, besides those of the page.
        may_grow: whether new rows are allowed, because they only move the wanted rows to later pages.
    """

    def __init__(self, path: str, name: str, params: Params | None = None, *, may_grow: bool = False) -> None:
        self.path, self.name = path, name
        self.total = -1
        self.ids: set[object] = set()
        self._params, self._may_grow = params or {}, may_grow
        self._taken = 0

    def page(self, offset: int) -> dict[str, str | int]:
        """Return the query parameters of a page."""
        return {**self._params, "limit": PAGE_SIZE, "offset": offset}

    def take(self, answer: Answer) -> list[Listed]:
        """Check a page, and return its rows.

        Raises:
            ListChanged: if it does not fit the earlier pages.
            OutcomeUnknown: if it is not a page of this list.
        """
        rows = rows_of(answer, self.name, self.path)
        total = answer.data.get("total_count")
        if type(total) is not int or not len(rows) <= total <= MOST_ROWS:
            raise OutcomeUnknown("GET", self.path, detail=Detail.WRONG_TOTAL_COUNT(total=f"{total!r:.40}"))
        if total < self.total or (total != self.total != -1 and not self._may_grow):
            raise self.changed()
        self.total = total
        self._taken += len(rows)
        self.ids |= {row.get("id") for row in rows}
        return rows

    def check(self) -> None:
        """Verify that every row was read, and exactly once unless the list may grow.

        Raises:
            ListChanged: if a row is missing or duplicated.
        """
        if self._taken < self.total or (len(self.ids) != self.total and not self._may_grow):
            raise self.changed()

    def changed(self) -> ListChanged:
        """Return the error for a list that changed."""
        return ListChanged("GET", self.path, detail=Detail.LIST_CHANGED())


class PageSearch:
    """Reads a list page by page, from its start to its end, or until the caller has found enough.

    Args:
        path: its path.
        name: its name in the answer.
        params: query parameters, with an order in which new rows only move older ones to later pages.
        most_pages: the maximum number of pages to read.

    Attributes:
        found: the rows of all pages so far.
        is_over: whether no page is left to read; the caller sets it to stop early.
    """

    def __init__(self, path: str, name: str, params: Params, most_pages: int = MOST_PAGES) -> None:
        self._pages = PagedList(path, name, params, may_grow=True)
        self._most_pages, self._number = most_pages, 0
        self.found: list[Listed] = []
        self.is_over = False

    def page(self) -> dict[str, str | int]:
        """Return the query parameters of the next page.

        Raises:
            OutcomeUnknown: if the list is too long.
        """
        if self._number == self._most_pages:
            raise OutcomeUnknown(
                "GET", self._pages.path, detail=Detail.TOO_MANY_PAGES(pages=self._most_pages)
            )
        self._number += 1
        return self._pages.page((self._number - 1) * PAGE_SIZE)

    def take(self, answer: Answer) -> list[Listed]:
        """Return the rows of a page.

        Raises:
            ListChanged: if the list became shorter.
            OutcomeUnknown: if it is not a page of this list.
        """
        rows = self._pages.take(answer)
        self.found += rows
        if not rows or len(self.found) >= self._pages.total:
            self._pages.check()
            self.is_over = True
        return rows


class TrackerLists:
    """Reads lists of one tracker.

    Args:
        client: the tracker.
        observe: receives each call.
        repeats: how many calls with a lost answer are repeated, over all reads together.
    """

    def __init__(
        self,
        client: TrackerClient,
        *,
        observe: Callable[[CallRecord], None] | None = None,
        repeats: int = 0,
    ) -> None:
        self._client, self._observe = client, observe
        self._repeats = repeats
        self._is_asked_around = False

    def get(self, path: str, params: Params | None = None) -> Answer:
        """Read a path, and once more if the answer was lost and repeats are left.

        Raises:
            TrackerError: as `TrackerClient.call`.
        """
        try:
            return self._call(path, params)
        except OutcomeUnknown:
            self._repeats -= 1
            if self._repeats < 0:
                raise
        return self._call(path, params)

    def check_access(self) -> None:
        """Verify that the tracker accepts the key; within `open_throughout`, which does that itself, do nothing.

        Raises:
            TrackerClosed: if the key is refused or the REST API is off.
            TrackerError: as `TrackerClient.call`.
        """
        if not self._is_asked_around:
            self.get(USERS, {"limit": 1})

    @contextmanager
    def open_throughout(self) -> Iterator[None]:
        """Verify that the tracker accepts the key before and after several lists, instead of around each.

        The lists are reliable only after the block has ended without an error.

        Raises:
            TrackerError: as `check_access`.
        """
        self.check_access()
        self._is_asked_around = True
        try:
            yield
        finally:
            self._is_asked_around = False
        self.check_access()

    def read_all(self, path: str, name: str, params: Params | None = None) -> list[Listed]:
        """Read every row of a list exactly once; read the list again if it changes in the meantime.

        Raises:
            ListChanged: if the list keeps changing.
            TrackerError: as `TrackerClient.call`.
        """

        def read() -> list[Listed]:
            found: list[Listed] = []
            self.read_pages([PagedList(path, name, params)], lambda _, rows: found.extend(rows))
            return found

        self.check_access()
        found = retry_if_changed(read)
        self.check_access()
        return found

    def search(
        self,
        path: str,
        name: str,
        params: Params,
        *,
        enough: Callable[[list[Listed], Answer], bool],
        most_pages: int = MOST_PAGES,
    ) -> list[Listed]:
        """Read a list page by page until a page is enough, or to its end.

        Args:
            path: its path.
            name: its name in the answer.
            params: query parameters, with an order in which new rows only move older ones to later pages.
            enough: receives each page's rows and answer; returns True if no later page can contain the wanted row.
            most_pages: the maximum number of pages to read.

        Raises:
            ListChanged: if the list became shorter.
            OutcomeUnknown: if the list is too long.
            TrackerError: as `TrackerClient.call`.
        """
        self.check_access()
        search = PageSearch(path, name, params, most_pages)
        while not search.is_over:
            answer = self.get(path, search.page())
            if enough(search.take(answer), answer):
                search.is_over = True
        self.check_access()
        return search.found

    def find(self, path: str, name: str, tracker_id: int, params: Params) -> Listed | None:
        """Return the row of an id, or None if the list does not contain it.

        Raises:
            TrackerError: as `search`.
        """

        def is_there(rows: list[Listed], _: Answer) -> bool:
            return any(row.get("id") == tracker_id for row in rows)

        rows = self.search(path, name, params, enough=is_there)
        return next((row for row in rows if row.get("id") == tracker_id), None)

    def read_pages(
        self,
        lists: Sequence[PagedList],
        taken: Callable[[PagedList, list[Listed]], None],
        *,
        begun: Sequence[PagedList] = (),
    ) -> None:
        """Read whole lists: their first pages, then all others, a few concurrently.

        Args:
            lists: lists to read from the start.
            taken: receives each page's rows, one page at a time, in any order; may raise to stop.
            begun: lists whose first page has already been read.

        Raises:
            ListChanged: if the pages do not fit together.
            TrackerError: as `TrackerClient.call`.
        """
        for one in lists:
            taken(one, one.take(self.get(one.path, one.page(0))))
        every = [*lists, *begun]
        todo = [(one, offset) for one in every for offset in range(PAGE_SIZE, one.total, PAGE_SIZE)]

        def read(page: tuple[PagedList, int]) -> tuple[PagedList, Answer]:
            one, offset = page
            return one, self.get(one.path, one.page(offset))

        def keep(page: tuple[PagedList, Answer]) -> None:
            one, answer = page
            taken(one, one.take(answer))

        run_concurrently(read, todo, done=keep, concurrency=LONG_ANSWERS)
        for one in every:
            one.check()

    def _call(self, path: str, params: Params | None) -> Answer:
        return self._client.call("GET", path, params=params, observe=self._observe)


def retry_if_changed(read: Callable[[], Result]) -> Result:
    """Call `read`, and again if a list changed in the meantime, a few times at most.

    Raises:
        ListChanged: if the list keeps changing.
        TrackerError: as `read`.
    """
    for _ in range(1, MOST_READINGS):
        try:
            return read()
        except ListChanged:
            continue
    return read()


def rows_of(answer: Answer, name: str, path: str) -> list[Listed]:
    """Return the rows of a list in an answer.

    Raises:
        OutcomeUnknown: if the answer has no such list.
    """
    rows = answer.data.get(name) if isinstance(answer.data, dict) else None
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise OutcomeUnknown("GET", path, status=answer.status, detail=Detail.NO_LIST(name=name))
    return rows


def listed_with_issue(answer: Answer, name: str) -> list[Listed] | None:
    """Return a list that came with an issue, such as its journals, or None if the answer has none."""
    issue = answer.data.get("issue") if isinstance(answer.data, dict) else None
    rows = issue.get(name) if isinstance(issue, dict) else None
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else None


def additions_in(rows: Sequence[Listed], kind: Kind) -> list[Listed]:
    """Return the notes or attachments among the rows that came with an issue; skip journals without notes."""
    return [one for one in rows if kind is Kind.DOCUMENT or one.get("notes")]


def project_of(issue: Listed) -> int | None:
    """Return the id of the tracker project in an issue's row, or None."""
    return id_in(issue.get("project"))


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("id"), int | str | None)
