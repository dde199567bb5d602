"""Reads the tracker's lists so that what is in none of their pages is not on the tracker.

Two things make a list lie. With a refused key, or its REST API off, a tracker answers lists as for anyone, 200: so
/users.json, which it then refuses, is asked for before and after. And a list that changes while its pages are read may
hide a row between two of them: so the pages are checked against one another.
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
from shared.tracker.lanes import LONG_ANSWERS, in_lanes
from shared.values.ids import id_in

PAGE_SIZE = 100
MOST_PAGES = 50
MOST_ROWS = 200_000
MOST_READINGS = 3

Listed = dict[str, Any]
Params = Mapping[str, str | int]
Result = TypeVar("Result")


class ListChanged(OutcomeUnknown):
    """A paged list changed while it was read: a row may be missing or there twice, so it is read again."""


class PagedList:
    """A list whose pages are checked against one another, in whatever order they come.

    Args:
        path: where it is.
        name: its name in the answer.
        params: query parameters beside those of the page.
        may_grow: new rows are no obstacle, since they only push those that are looked for further on.
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
        """Return a page's rows.

        Raises:
            ListChanged: it does not fit the pages before.
            OutcomeUnknown: it is no page of this list.
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
        """Make sure that every row was read, and, unless it may grow, exactly once.

        Raises:
            ListChanged: a row is missing, or came twice.
        """
        if self._taken < self.total or (len(self.ids) != self.total and not self._may_grow):
            raise self.changed()

    def changed(self) -> ListChanged:
        """Return the error for a list that changed."""
        return ListChanged("GET", self.path, detail=Detail.LIST_CHANGED())


class PageSearch:
    """Reads a list page by page, from its start to its end, or until the caller has found enough.

    Args:
        path: where it is.
        name: its name in the answer.
        params: query parameters; new rows must come where they only push older ones further on.
        most_pages: how many pages are read at most.

    Attributes:
        found: the rows of all pages so far.
        is_over: whether no page is left to read; may be set.
    """

    def __init__(self, path: str, name: str, params: Params, most_pages: int = MOST_PAGES) -> None:
        self._pages = PagedList(path, name, params, may_grow=True)
        self._most_pages, self._number = most_pages, 0
        self.found: list[Listed] = []
        self.is_over = False

    def page(self) -> dict[str, str | int]:
        """Return the query parameters of the next page.

        Raises:
            OutcomeUnknown: the list is too long.
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
            ListChanged: the list became shorter.
            OutcomeUnknown: it is no page of this list.
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
        observe: is reported each call.
        repeats: how many lost answers are asked for once more, over all its reads.
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
        """Read once, and once more if the answer was lost, as long as repeats are left.

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

    def ask_whether_open(self) -> None:
        """Make sure that the tracker accepts the key; within `open_throughout` that is done around everything.

        Raises:
            TrackerClosed: the key or the REST API is off.
            TrackerError: as `TrackerClient.call`.
        """
        if not self._is_asked_around:
            self.get(USERS, {"limit": 1})

    @contextmanager
    def open_throughout(self) -> Iterator[None]:
        """Ask whether the tracker is open before and after several lists, in place of around each.

        What was read is to be believed only once the block has ended.

        Raises:
            TrackerError: as `ask_whether_open`.
        """
        self.ask_whether_open()
        self._is_asked_around = True
        try:
            yield
        finally:
            self._is_asked_around = False
        self.ask_whether_open()

    def whole(self, path: str, name: str, params: Params | None = None) -> list[Listed]:
        """Read every row of a list, each exactly once; again where it changed in the meantime.

        Raises:
            ListChanged: it never stands still.
            TrackerError: as `TrackerClient.call`.
        """

        def read() -> list[Listed]:
            found: list[Listed] = []
            self.read_pages([PagedList(path, name, params)], lambda _, rows: found.extend(rows))
            return found

        self.ask_whether_open()
        found = settled(read)
        self.ask_whether_open()
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
            path: where it is.
            name: its name in the answer.
            params: query parameters; new rows must come where they only push older ones further on.
            enough: is handed each page's rows and its answer; True: what is looked for is in no later page.
            most_pages: give up after so many.

        Raises:
            ListChanged: it became shorter.
            OutcomeUnknown: it is too long.
            TrackerError: as `TrackerClient.call`.
        """
        self.ask_whether_open()
        search = PageSearch(path, name, params, most_pages)
        while not search.is_over:
            answer = self.get(path, search.page())
            if enough(search.take(answer), answer):
                search.is_over = True
        self.ask_whether_open()
        return search.found

    def find(self, path: str, name: str, tracker_id: int, params: Params) -> Listed | None:
        """Return the row of an id, None if the list does not have it.

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
        """Read whole lists: their first pages, then all others, a few at a time.

        Args:
            lists: read from the start.
            taken: is handed each page's rows, one page at a time and in no order; may raise to stop.
            begun: lists whose first page has been taken.

        Raises:
            ListChanged: the pages do not fit together.
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

        in_lanes(read, todo, done=keep, lanes=LONG_ANSWERS)
        for one in every:
            one.check()

    def _call(self, path: str, params: Params | None) -> Answer:
        return self._client.call("GET", path, params=params, observe=self._observe)


def settled(read: Callable[[], Result]) -> Result:
    """Read, and again where a list changed in the meantime, a few times at most.

    Raises:
        ListChanged: it never stands still.
        TrackerError: as `read`.
    """
    for _ in range(1, MOST_READINGS):
        try:
            return read()
        except ListChanged:
            continue
    return read()


def rows_of(answer: Answer, name: str, path: str) -> list[Listed]:
    """Return the rows of a list answer.

    Raises:
        OutcomeUnknown: it has no such list.
    """
    rows = answer.data.get(name) if isinstance(answer.data, dict) else None
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise OutcomeUnknown("GET", path, status=answer.status, detail=Detail.NO_LIST(name=name))
    return rows


def listed_with_issue(answer: Answer, name: str) -> list[Listed] | None:
    """Return a list that came with an issue, such as its journals; None: the answer has none."""
    issue = answer.data.get("issue") if isinstance(answer.data, dict) else None
    rows = issue.get(name) if isinstance(issue, dict) else None
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else None


def additions_in(rows: Sequence[Listed], kind: Kind) -> list[Listed]:
    """Return the notes, or the attachments, among the rows that came with an issue: other journals are changes."""
    return [one for one in rows if kind is Kind.DOCUMENT or one.get("notes")]


def project_of(issue: Listed) -> int | None:
    """Return the tracker project of an issue's row, as far as it names one."""
    return id_in(issue.get("project"))


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("id"), int | str | None)
