"""PUT /issues/:id.json with notes: how a follow-up or a solution becomes a note, and how to find the note again."""

from __future__ import annotations

import pytest

from tests.contract.seed import Project, Role, Status, User
from tests.contract.support import Json, Tracker, assert_done, assert_empty, unique


@pytest.fixture
def issue(tracker: Tracker) -> Json:
    """Return a new issue of SUPPORT."""
    return tracker.issue()


def journals(tracker: Tracker, issue: Json, su: str | None = None) -> list[Json]:
    """Return the journals of an issue."""
    read = tracker.call("GET", f"/issues/{issue['id']}.json?include=journals", su=su)
    found: list[Json] = read.json()["issue"]["journals"]
    return found


def test_a_note_is_204_and_the_journals_have_it_with_its_number_author_and_time(
    tracker: Tracker, issue: Json
) -> None:
    assert_done(tracker.update_issue(issue["id"], su="alice", notes="seen"))
    (note,) = journals(tracker, issue)
    assert (note["user"]["id"], note["notes"], note["private_notes"]) == (User.ALICE, "seen", False)
    assert note["created_on"] >= issue["created_on"]
    assert note["details"] == []


def test_the_numbers_of_notes_only_grow_whichever_issue_they_are_on(tracker: Tracker) -> None:
    issues = tracker.issue(), tracker.issue()
    for issue in (*issues, *issues):
        assert_done(tracker.update_issue(issue["id"], notes=unique()))
    first, second = (journals(tracker, issue) for issue in issues)
    assert first[0]["id"] < second[0]["id"] < first[1]["id"] < second[1]["id"]


def test_the_same_note_twice_is_two_notes(tracker: Tracker, issue: Json) -> None:
    for _ in range(2):
        assert_done(tracker.update_issue(issue["id"], notes="seen"))
    assert [one["notes"] for one in journals(tracker, issue)] == ["seen", "seen"]


@pytest.mark.parametrize(
    "text", ["two\nlines", "  blanks around  ", "<b>markup</b> & é€😀", "tab\tand\r\nline", "x" * 100_000]
)
def test_a_text_is_kept_but_for_its_line_ends_and_the_blanks_around_it(
    tracker: Tracker, issue: Json, text: str
) -> None:
    assert_done(tracker.update_issue(issue["id"], notes=text))
    (note,) = journals(tracker, issue)
    assert note["notes"].replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip()


@pytest.mark.parametrize("notes", ["", "  ", None])
def test_a_note_without_text_is_none(tracker: Tracker, issue: Json, notes: str | None) -> None:
    assert_done(tracker.update_issue(issue["id"], notes=notes))
    assert journals(tracker, issue) == []


def test_a_developer_may_make_a_note_private_and_a_reporter_does_not_see_it(
    tracker: Tracker, issue: Json
) -> None:
    assert_done(tracker.update_issue(issue["id"], su="alice", notes="secret", private_notes=True))
    (note,) = journals(tracker, issue)
    assert (note["notes"], note["private_notes"]) == ("secret", True)
    assert journals(tracker, issue, su="erin") == []
    assert [one["notes"] for one in journals(tracker, issue, su="bob")] == ["secret"]


def test_the_private_note_of_a_person_without_that_right_is_silently_public(
    tracker: Tracker, issue: Json
) -> None:
    assert_done(tracker.update_issue(issue["id"], su="erin", notes="secret", private_notes=True))
    (note,) = journals(tracker, issue)
    assert (note["user"]["id"], note["private_notes"]) == (User.ERIN, False)


@pytest.mark.parametrize("role", list(Role))
def test_a_role_tells_whether_it_may_make_notes_private(tracker: Tracker, role: Role) -> None:
    permissions = tracker.read(f"/roles/{role}.json")["role"]["permissions"]
    assert "add_issue_notes" in permissions
    assert ("set_notes_private" in permissions) is (role != Role.REPORTER)


def test_a_closed_issue_takes_notes(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=Status.CLOSED))
    assert_done(tracker.update_issue(issue["id"], su="alice", notes="late"))
    assert journals(tracker, issue)[-1]["notes"] == "late"


def test_a_person_who_does_not_see_the_issue_is_refused(tracker: Tracker, issue: Json) -> None:
    assert_empty(tracker.update_issue(issue["id"], su="mallory", notes="seen"), 403)
    assert journals(tracker, issue) == []


def test_a_person_who_is_not_a_member_adds_a_note_in_a_public_project(tracker: Tracker) -> None:
    """Redmine's role *Non member* has the right by default."""
    issue = tracker.issue(project_id=Project.PUBLIC)
    assert_done(tracker.update_issue(issue["id"], su="carol", notes="seen"))
    assert [one["user"]["id"] for one in journals(tracker, issue)] == [User.CAROL]


@pytest.mark.parametrize(
    ("person", "status"), [("carol", 403), ("dave", 412)], ids=["not a member", "locked"]
)
def test_a_note_of_a_person_who_is_refused_changes_nothing(
    tracker: Tracker, issue: Json, person: str, status: int
) -> None:
    members = tracker.read(f"/projects/{Project.SUPPORT}/memberships.json?limit=100")["memberships"]
    assert_empty(tracker.update_issue(issue["id"], su=person, notes="seen"), status)
    assert journals(tracker, issue) == []
    assert tracker.read(f"/projects/{Project.SUPPORT}/memberships.json?limit=100")["memberships"] == members


def test_an_unknown_issue_takes_none(tracker: Tracker) -> None:
    assert_empty(tracker.update_issue(99999, notes="seen"), 404)
