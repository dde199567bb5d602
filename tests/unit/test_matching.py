"""Matching decides whether an object in the tracker is the one that a claim created."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.notices.kinds import Kind
from shared.values.identity import moment_of
from shared.values.listed_hours import hours_listed_for
from worker.ticket.match import (
    Candidate,
    Doubt,
    Resolution,
    assign,
    candidates,
    fingerprint,
    fits,
    found_essence,
    resolve,
    sent_essence,
    unheld,
)

START = datetime(2026, 11, 21, 10, tzinfo=UTC)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def issue(**changes: Any) -> dict[str, Any]:
    return {
        "id": 6,
        "project": {"id": 1},
        "author": {"id": 5},
        "status": {"id": 1},
        "subject": "S",
        "description": "one\r\ntwo",
        "created_on": "2026-11-21T10:00:00Z",
        **changes,
    }


def issue_sent(**changes: Any) -> dict[str, Any]:
    return {"issue": {"project_id": 1, "subject": "S", "description": "one\ntwo", **changes}}


def entry(**changes: Any) -> dict[str, Any]:
    return {"id": 1, "issue": {"id": 6}, "user": {"id": 5}, "hours": 0.33, "comments": "c",
            "created_on": "2026-11-21T10:00:00Z", **changes}  # fmt: skip


def entry_sent(**changes: Any) -> dict[str, Any]:
    return {"time_entry": {"issue_id": 6, "hours": 1200 / 3600, "comments": "c", **changes}}


def issues_like(row: dict[str, Any], sent: dict[str, Any], held: tuple[int, ...] = ()) -> list[Candidate]:
    return candidates(Kind.TICKET, [row], [sent_essence(Kind.TICKET, sent)], held)


def entries_like(row: dict[str, Any], sent: dict[str, Any]) -> list[Candidate]:
    return candidates(Kind.TICKET_TASK, [row], [sent_essence(Kind.TICKET_TASK, sent)], ())


@pytest.mark.parametrize(
    ("sent", "listed", "found"),
    [("2026-11-20", "2026-11-20", 1), ("2026-11-20", "2026-11-21", 0), (None, "2026-11-21", 1)],
)
def test_an_entry_of_another_day_is_not_the_one_that_was_sent(
    sent: str | None, listed: str, found: int
) -> None:
    body = entry_sent(spent_on=sent) if sent else entry_sent()
    assert len(entries_like(entry(spent_on=listed), body)) == found


def test_what_was_sent_with_a_day_is_looked_for_together_with_what_was_not() -> None:
    """The day decides which entry belongs to which row, and each row has one."""
    dated, undated = entry_sent(spent_on="2026-11-20"), entry_sent()
    assert fingerprint(Kind.TICKET_TASK, dated) == fingerprint(Kind.TICKET_TASK, undated)
    listed = [entry(id=1, spent_on="2026-11-20"), entry(id=2, spent_on="2026-11-21")]
    sent = {key: sent_essence(Kind.TICKET_TASK, body) for key, body in ((1, undated), (2, dated))}
    doubts = [Doubt(key, (), START, essence=essence) for key, essence in sent.items()]
    found = candidates(Kind.TICKET_TASK, listed, sent.values(), ())
    assert {key: one.tracker_id for key, one in assign(doubts, found).items()} == {1: 2, 2: 1}


def test_line_ends_and_outer_blanks_do_not_matter() -> None:
    (found,) = issues_like(issue(), issue_sent())
    assert (found.tracker_id, found.author_id, found.status_id, found.created_on) == (6, 5, 1, START)
    assert issues_like(issue(subject=" S "), issue_sent(description=" one\ntwo\n"))


def test_a_missing_description_is_an_empty_one() -> None:
    sent = issue_sent()
    del sent["issue"]["description"]
    assert issues_like(issue(description=None), sent)
    assert issues_like(issue(description=""), sent)


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "T"},
        {"description": "one"},
        {"project": {"id": 2}},
        {"created_on": "?"},
        {"project": None},
    ],
)
def test_another_text_or_project_is_another_issue(changes: dict[str, Any]) -> None:
    assert not issues_like(issue(**changes), issue_sent())


def test_what_the_tracker_may_replace_does_not_matter() -> None:
    row = issue(status={"id": 9}, tracker={"id": 3}, category={"id": 4})
    assert issues_like(row, issue_sent(status_id=2, tracker_id=1, category_id=8))


def test_what_a_ledger_row_holds_is_no_candidate() -> None:
    assert not issues_like(issue(), issue_sent(), held=(6,))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (1200 / 3600, 0.33),
        (0.005, 0.01),
        (0.005, 0.0),
        (60000 / 3600, 16.67),
        (1.5, 1.5),
        (2, 2.0),
        ("1.5", 1.5),
        (5430 / 3600, 1.51),
        (5430 / 3600, 1.52),
        (5430 / 3600, 1.5),  # MySQL stores six digits, 1.50833
        (29 / 3600, 0.01),
        (29 / 3600, 0.0),
        (30 / 3600, 0.02),
    ],
)
def test_hours_are_compared_as_each_version_of_the_tracker_rounds_them(sent: object, kept: float) -> None:
    assert entries_like(entry(hours=kept), entry_sent(hours=sent))


@pytest.mark.parametrize(
    ("seconds", "listed"),
    [  # as Redmine 5.0.4 and 6.0.5 answered, on SQLite
        (5429, {"1.51", "1.50"}),
        (5430, {"1.51", "1.52", "1.50"}),
        (5445, {"1.51", "1.52"}),
        (5460, {"1.52"}),
        (3600, {"1.00"}),
        (17, {"0.00"}),
        (18, {"0.00", "0.01"}),
    ],
)
def test_no_other_hours_are_taken_for_what_was_sent(seconds: int, listed: set[str]) -> None:
    assert {str(one) for one in hours_listed_for(seconds / 3600)} == listed


@given(st.integers(0, 100 * 3600))
def test_what_is_listed_is_at_most_half_a_minute_and_half_a_cent_away(seconds: int) -> None:
    near = hours_listed_for(seconds / 3600)
    assert near
    assert all(one is not None and abs(float(one) - seconds / 3600) <= 1 / 120 + 0.0062 for one in near)


@pytest.mark.parametrize("sent", [None, "soon", "nan", 1e300])
def test_hours_that_are_none_are_never_found(sent: object) -> None:
    assert not entries_like(entry(hours=sent), entry_sent(hours=sent))


@pytest.mark.parametrize(
    "changes", [{"hours": 0.34}, {"hours": None}, {"hours": "x"}, {"comments": "d"}, {"issue": {"id": 7}}]
)
def test_other_time_is_another_entry(changes: dict[str, Any]) -> None:
    assert not entries_like(entry(**changes), entry_sent())


def test_a_row_listed_twice_is_one_candidate_and_the_oldest_comes_first() -> None:
    essence = sent_essence(Kind.TICKET, issue_sent())
    found = candidates(Kind.TICKET, [issue(id=9), issue(id=7), issue(id=9)], [essence], ())
    assert [one.tracker_id for one in found] == [7, 9]


def test_the_fingerprint_is_that_of_what_the_tracker_keeps() -> None:
    same = fingerprint(Kind.TICKET, issue_sent(description="one\r\ntwo ", status_id=3, priority_id=4))
    assert same == fingerprint(Kind.TICKET, issue_sent())
    assert same != fingerprint(Kind.TICKET, issue_sent(subject="T"))
    assert same != fingerprint(Kind.TICKET_TASK, entry_sent())
    assert fingerprint(Kind.TICKET_TASK, entry_sent()) != fingerprint(
        Kind.TICKET_TASK, entry_sent(comments="d")
    )
    assert fingerprint(Kind.TICKET_TASK, entry_sent()) != fingerprint(
        Kind.TICKET_TASK, entry_sent(issue_id=7)
    )
    assert found_essence(Kind.TICKET, issue()) == sent_essence(Kind.TICKET, issue_sent())


@given(st.integers(0, 48 * 3600), st.integers(-120, 120))
def test_whatever_one_object_may_be_mistaken_for_has_the_same_fingerprint(seconds: int, more: int) -> None:
    one, other = (entry_sent(hours=max(0, spent) / 3600) for spent in (seconds, seconds + more))
    if sent_essence(Kind.TICKET_TASK, one).meets(sent_essence(Kind.TICKET_TASK, other)):
        assert fingerprint(Kind.TICKET_TASK, one) == fingerprint(Kind.TICKET_TASK, other)


@pytest.mark.parametrize("value", [None, "", "soon", 7, "2026-13-01T00:00:00Z", {}])
def test_a_time_that_cannot_be_read_is_none(value: Any) -> None:
    assert moment_of(value) is None


def test_a_time_without_a_zone_is_utc() -> None:
    assert moment_of("2026-11-21T10:00:00") == START


doubt_rows = st.lists(st.tuples(st.sets(st.integers(1, 3), max_size=2), st.integers(0, 3)), max_size=4)
found_rows = st.lists(st.tuples(st.sampled_from([1, 2, 3, None]), st.integers(0, 3)), max_size=4)


def largest(doubts: list[Doubt], found: list[Candidate]) -> int:
    """Return the size of a maximum matching, found by brute force."""
    padded: list[Candidate | None] = [*found, *[None] * len(doubts)]
    return max(
        sum(one is not None and fits(doubt, one) for doubt, one in zip(doubts, chosen, strict=True))
        for chosen in permutations(padded, len(doubts))
    )


@settings(max_examples=60, deadline=None)
@given(doubt_rows, found_rows)
def test_as_many_rows_as_possible_get_a_candidate_of_their_own(
    rows: list[tuple[set[int], int]], listed: list[tuple[int | None, int]]
) -> None:
    doubts = [Doubt(key, tuple(sorted(authors)), at(since)) for key, (authors, since) in enumerate(rows)]
    found = [Candidate(100 + n, author, None, at(made)) for n, (author, made) in enumerate(listed)]
    given_out = assign(doubts, found)
    by_key = {doubt.key: doubt for doubt in doubts}
    assert len(given_out) == largest(doubts, found)
    assert len({one.tracker_id for one in given_out.values()}) == len(given_out)
    assert all(fits(by_key[key], one) for key, one in given_out.items())


def test_interchangeable_rows_are_served_oldest_first() -> None:
    doubts = [Doubt(key, (), at(0)) for key in (1, 2, 3)]
    given_out = assign(doubts, [Candidate(50, 5, None, at(1)), Candidate(51, 5, None, at(2))])
    assert set(given_out) == {1, 2}


def test_who_asked_for_the_administrator_only_is_served_before_whoever_may_have_been_repeated() -> None:
    """Bob's older row may have been repeated as the administrator (1); the other was only sent as the administrator."""
    doubts = [Doubt(242, (1, 6), at(0)), Doubt(241, (1,), at(1))]
    assert assign(doubts, [Candidate(81, 1, None, at(2))]) == {241: Candidate(81, 1, None, at(2))}
    both = [Candidate(80, 1, None, at(2)), Candidate(81, 6, None, at(2))]
    assert {key: one.tracker_id for key, one in assign(doubts, both).items()} == {241: 80, 242: 81}


def entries(*seconds: int) -> list[Doubt]:
    """Return rows in doubt for time entries that differ only in their hours."""
    essences = [sent_essence(Kind.TICKET_TASK, entry_sent(hours=spent / 3600)) for spent in seconds]
    return [Doubt(key, (5,), at(0), essence=essence) for key, essence in enumerate(essences, 1)]


def listed(*hours: float) -> list[Candidate]:
    """Return candidates with these hours as the tracker lists them, with ids from 50."""
    return list(unheld(Kind.TICKET_TASK, [entry(id=50 + n, hours=one) for n, one in enumerate(hours)], ()))


@pytest.mark.parametrize(
    ("seconds", "hours", "own"),
    [
        ((5430, 5460), (1.51, 1.52), {1: 50, 2: 51}),  # 5.0
        ((5430, 5460), (1.52, 1.51), {1: 51, 2: 50}),
        ((5430, 5460), (1.52, 1.52), {1: 50, 2: 51}),  # 6.0: both assignments are right
        ((5430, 5460), (1.52,), {2: 50}),  # 5.0: belongs to the second row; 6.0: may belong to either
        ((5430, 5460), (1.51,), {1: 50}),
        ((3600, 7200), (2.0,), {2: 50}),
        ((3600, 7200), (3.0,), {}),
    ],
)
def test_entries_that_differ_in_their_hours_get_their_own(
    seconds: tuple[int, ...], hours: tuple[float, ...], own: dict[int, int]
) -> None:
    verdict = resolve(entries(*seconds), listed(*hours))
    assert {key: one.tracker_id for key, one in verdict.adopted.items()} == own
    assert not verdict.unclear


def test_what_a_person_refused_for_one_row_may_still_be_anothers() -> None:
    found = [Candidate(6, 5, None, at(2))]
    one, other = Doubt(1, (5,), at(0), refused=(6,)), Doubt(2, (5,), at(1))
    assert resolve([one], found) == Resolution({}, {})
    assert resolve([one, other], found).adopted == {2: found[0]}


def test_two_hundred_rows_are_matched_without_exhausting_the_stack() -> None:
    found = [Candidate(number, number, None, at(0)) for number in range(1, 201)]
    doubts = [Doubt(0, (1,), at(0)), *(Doubt(n, (n, n + 1), at(0)) for n in range(1, 200))]
    assert len(assign(list(reversed(doubts)), found)) == 200
