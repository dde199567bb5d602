"""A row on no page does not exist in the tracker if the key is still valid and the list did not change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from shared.errors import OutcomeUnknown, TrackerClosed
from shared.notices.faults import Detail, Fault
from shared.tracker.answers import Answer
from shared.tracker.client import USERS, Target, TrackerClient
from shared.tracker.lists import ListChanged, Listed, TrackerLists
from tests.support.refusals import says

ISSUES = "/issues.json"


class Paged(TrackerClient):
    """A tracker with one list, newest row first, which a test may change after a call."""

    def __init__(self, count: int) -> None:
        super().__init__(Target("http://tracker.invalid", SecretStr("key")))
        self.rows: list[Listed] = [{"id": number} for number in range(count, 0, -1)]
        self.asked: list[str] = []
        self.after: Callable[[int], object] = lambda _: None
        self.is_open = True
        self.total: object = None

    def call(
        self, method: str, path: str, *, params: Mapping[str, str | int] | None = None, **_: Any
    ) -> Answer:
        """Answer a GET; with a refused key, lists are answered as for anonymous users."""
        given = params or {}
        offset, limit = int(given.get("offset", 0)), int(given["limit"])
        self.asked.append(f"{path} {offset}")
        if path == USERS:
            if not self.is_open:
                raise TrackerClosed(method, path, status=401)
            return Answer(200, {"users": [{"id": 1}], "total_count": 1}, None)
        rows = self.rows if self.is_open else []
        total = len(rows) if self.total is None else self.total
        answer = Answer(200, {"issues": rows[offset : offset + limit], "total_count": total}, None)
        self.after(len(self.asked))
        return answer


def never(_rows: list[Listed], _answer: Answer) -> bool:
    return False


def search(tracker: Paged, enough: Callable[[list[Listed], Answer], bool] = never) -> list[Listed]:
    return TrackerLists(tracker).search(ISSUES, "issues", {}, enough=enough)


READINGS: dict[str, Callable[[Paged], list[Listed]]] = {
    "whole": lambda tracker: TrackerLists(tracker).read_all(ISSUES, "issues"),
    "search": search,
}
BOTH = pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)


@BOTH
def test_every_page_is_read_between_two_questions_whether_the_key_is_accepted(
    read: Callable[[Paged], list[Listed]],
) -> None:
    tracker = Paged(250)
    assert {row["id"] for row in read(tracker)} == set(range(1, 251))
    assert tracker.asked[0] == tracker.asked[-1] == f"{USERS} 0"
    assert sorted(tracker.asked[1:-1]) == [f"{ISSUES} 0", f"{ISSUES} 100", f"{ISSUES} 200"]


@BOTH
@pytest.mark.parametrize("moment", [0, 2])
def test_a_list_for_anybody_is_never_taken_for_the_trackers_own(
    read: Callable[[Paged], list[Listed]], moment: int
) -> None:
    tracker = Paged(50)
    tracker.is_open = moment > 0

    def refuse(asked: int) -> None:
        tracker.is_open = asked < moment

    tracker.after = refuse
    with pytest.raises(TrackerClosed):
        read(tracker)


def test_several_lists_are_read_between_the_same_two_questions() -> None:
    tracker = Paged(50)
    lists = TrackerLists(tracker)
    with lists.open_throughout():
        assert len(lists.read_all(ISSUES, "issues") + lists.read_all(ISSUES, "issues")) == 100
    assert tracker.asked == [f"{USERS} 0", f"{ISSUES} 0", f"{ISSUES} 0", f"{USERS} 0"]
    lists.read_all(ISSUES, "issues")
    assert tracker.asked[4:] == [f"{USERS} 0", f"{ISSUES} 0", f"{USERS} 0"], "afterwards each asks for itself"


@pytest.mark.parametrize("moment", [0, 2])
def test_several_lists_for_anybody_are_never_taken_for_the_trackers_own(moment: int) -> None:
    tracker = Paged(50)
    tracker.is_open = moment > 0
    tracker.after = lambda made: setattr(tracker, "is_open", made < moment)
    lists = TrackerLists(tracker)
    with pytest.raises(TrackerClosed), lists.open_throughout():
        lists.read_all(ISSUES, "issues")


def test_no_more_than_two_pages_are_asked_for_at_once() -> None:
    """A tracker process renders one page at a time, so more requests in its queue would all time out."""
    tracker, turn = Paged(1500), threading.Lock()
    at_once = most = 0

    def after(_: int) -> None:
        nonlocal at_once, most
        with turn:
            at_once += 1
            most = max(most, at_once)
        threading.Event().wait(0.02)
        with turn:
            at_once -= 1

    tracker.after = after
    assert len(TrackerLists(tracker).read_all(ISSUES, "issues")) == 1500
    assert most == 2


def test_a_row_that_is_found_is_only_believed_where_the_key_is_still_accepted() -> None:
    tracker = Paged(150)
    tracker.after = lambda _: setattr(tracker, "is_open", False)
    with pytest.raises(TrackerClosed):
        TrackerLists(tracker).find(ISSUES, "issues", 150, {})


def test_a_whole_list_that_changed_while_it_was_read_is_read_again() -> None:
    tracker = Paged(250)
    tracker.after = lambda asked: tracker.rows.pop(0) if asked == 2 else None
    rows = TrackerLists(tracker).read_all(ISSUES, "issues")
    assert [row["id"] for row in sorted(rows, key=lambda row: row["id"])] == list(range(1, 250))


def test_a_list_that_never_stands_still_is_no_clear_answer() -> None:
    tracker = Paged(250)
    tracker.after = lambda _: tracker.rows.pop(0)
    with pytest.raises(ListChanged):
        TrackerLists(tracker).read_all(ISSUES, "issues")


def test_a_row_that_comes_twice_in_place_of_another_is_noticed() -> None:
    tracker = Paged(250)

    def swap(asked: int) -> None:
        tracker.rows = [
            {"id": 1000 + asked},
            *tracker.rows[:-1],
        ]  # one row added at the front, one removed at the end

    tracker.after = swap
    with pytest.raises(ListChanged):
        TrackerLists(tracker).read_all(ISSUES, "issues")


def test_a_search_is_not_kept_from_its_end_by_new_rows() -> None:
    tracker = Paged(250)
    tracker.after = lambda asked: tracker.rows.insert(0, {"id": 1000 + asked})
    assert set(range(1, 251)) <= {row["id"] for row in search(tracker)}


def test_a_search_in_a_list_that_became_shorter_is_no_clear_answer() -> None:
    tracker = Paged(250)
    tracker.after = lambda asked: tracker.rows.pop(0) if asked == 2 else None
    with pytest.raises(ListChanged):
        search(tracker)


def test_a_search_ends_where_a_page_is_enough() -> None:
    tracker = Paged(250)
    assert len(search(tracker, lambda rows, _: rows[-1]["id"] < 200)) == 100
    assert tracker.asked == [f"{USERS} 0", f"{ISSUES} 0", f"{USERS} 0"]


def test_a_search_does_not_go_on_for_ever() -> None:
    with pytest.raises(OutcomeUnknown, check=says(Fault.OUTCOME_UNKNOWN, Detail.TOO_MANY_PAGES)):
        TrackerLists(Paged(250)).search(ISSUES, "issues", {}, enough=never, most_pages=2)


def test_a_row_is_found_behind_the_first_page_where_the_tracker_ignores_the_filter() -> None:
    assert TrackerLists(Paged(250)).find(ISSUES, "issues", 7, {"issue_id": 7}) == {"id": 7}
    assert TrackerLists(Paged(250)).find(ISSUES, "issues", 251, {"issue_id": 251}) is None


@BOTH
@pytest.mark.parametrize("total", ["many", None, True, [1], 1e400, 10**12, 3])
def test_a_total_that_cannot_be_right_is_no_clear_answer(
    read: Callable[[Paged], list[Listed]], total: object
) -> None:
    tracker = Paged(50)
    tracker.total = "null" if total is None else total
    with pytest.raises(OutcomeUnknown):
        read(tracker)


def test_a_lost_answer_is_asked_for_again_as_often_as_was_said() -> None:
    tracker, lost = Paged(1), iter([True, False, True, True])

    def lose(_: int) -> None:
        if next(lost, False):
            raise OutcomeUnknown("GET", ISSUES)

    tracker.after = lose
    lists = TrackerLists(tracker, repeats=1)
    assert len(lists.read_all(ISSUES, "issues")) == 1
    with pytest.raises(OutcomeUnknown):
        lists.read_all(ISSUES, "issues")


@BOTH
@pytest.mark.parametrize("wrong", [{}, [], {"id": 1}, 1.5])
def test_rows_whose_id_is_none_are_no_list(read: Callable[[Paged], list[Listed]], wrong: object) -> None:
    tracker = Paged(3)
    tracker.rows[1] = {"id": wrong}
    with pytest.raises(OutcomeUnknown):
        read(tracker)
