"""POST /issues.json as the administrator (SPEC sections 2.3 and 4.2)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract.seed import (
    UNKNOWN,
    Category,
    CustomField,
    IssueType,
    Priority,
    Project,
    Status,
    User,
)
from tests.contract.support import NO_PROJECT, Json, Tracker, Version, accepted, assert_rejected, unique

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NOTHING_SENT = ["Subject cannot be blank", *NO_PROJECT]


def watchers(tracker: Tracker, issue_id: int) -> set[int]:
    """Return the ids of an issue's watchers, which the response to its creation omits."""
    issue = tracker.read(f"/issues/{issue_id}.json?include=watchers")["issue"]
    return {watcher["id"] for watcher in issue["watchers"]}


def creator(version: Version) -> set[int]:
    """Return the watchers that Redmine adds by itself: from 6.0 on the author, here the administrator."""
    return {User.ADMIN} if version >= (6, 0) else set()


def newest_id(tracker: Tracker) -> int:
    """Return the id of the newest issue, to check that a refused call has created none."""
    issues = tracker.read("/issues.json?status_id=*&sort=id:desc&limit=1")["issues"]
    return int(issues[0]["id"])


def test_a_minimal_issue_is_201_with_the_whole_issue_and_its_address(tracker: Tracker) -> None:
    subject = unique()
    answer = tracker.create_issue(subject=subject)
    issue = accepted(answer)["issue"]
    assert answer.headers["Location"] == f"{tracker.base_url}/issues/{issue['id']}"
    assert issue["project"] == {"id": Project.SUPPORT, "name": "Support"}
    assert issue["tracker"] == {"id": IssueType.BUG, "name": "Bug"}
    assert issue["status"] == {"id": Status.NEW, "name": "New", "is_closed": False}
    assert issue["priority"] == {"id": Priority.NORMAL, "name": "Normal"}
    assert issue["author"] == {"id": User.ADMIN, "name": "Redmine Admin"}
    assert issue["subject"] == subject
    assert issue["description"] is None
    assert TIME.fullmatch(issue["created_on"])
    assert TIME.fullmatch(issue["updated_on"])
    assert issue["closed_on"] is None
    assert {"id": CustomField.ISSUE_TICKET, "name": "Helpdesk ticket", "value": None} in issue[
        "custom_fields"
    ]
    assert "watchers" not in issue


def test_every_field_deskbridge_sends_is_taken(tracker: Tracker, version: Version) -> None:
    issue = tracker.issue(
        description="What happened",
        tracker_id=IssueType.SUPPORT,
        priority_id=Priority.HIGH,
        status_id=Status.NEW,
        category_id=Category.SOFTWARE,
        watcher_user_ids=[User.ALICE, User.BOB],
    )
    assert issue["description"] == "What happened"
    assert issue["tracker"]["id"] == IssueType.SUPPORT
    assert issue["priority"]["id"] == Priority.HIGH
    assert issue["category"] == {"id": Category.SOFTWARE, "name": "Software"}
    assert watchers(tracker, issue["id"]) == {User.ALICE, User.BOB} | creator(version)


def test_the_same_post_twice_makes_two_issues(tracker: Tracker) -> None:
    subject = unique()
    assert tracker.issue(subject=subject)["id"] != tracker.issue(subject=subject)["id"]


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.RESOLVED, Status.CLOSED, UNKNOWN, "abc", None])
def test_a_status_is_silently_ignored_on_creation(tracker: Tracker, status: object) -> None:
    issue = tracker.issue(status_id=status)
    assert issue["status"]["id"] == Status.NEW
    assert issue["closed_on"] is None


@pytest.mark.parametrize(
    "issue_type", [IssueType.FEATURE, UNKNOWN, None], ids=["not here", "unknown", "null"]
)
def test_an_issue_type_the_project_lacks_becomes_its_first(tracker: Tracker, issue_type: int | None) -> None:
    assert tracker.issue(tracker_id=issue_type)["tracker"]["id"] == IssueType.BUG


def test_an_unknown_priority_is_refused(tracker: Tracker) -> None:
    assert_rejected(tracker.create_issue(priority_id=UNKNOWN), "Priority cannot be blank")


@pytest.mark.parametrize("priority", [None, ""])
def test_a_blank_priority_is_refused_or_the_default(
    tracker: Tracker, version: Version, priority: str | None
) -> None:
    answer = tracker.create_issue(priority_id=priority)
    if version >= (6, 0):
        assert accepted(answer)["issue"]["priority"]["id"] == Priority.NORMAL
    else:
        assert_rejected(answer, "Priority cannot be blank")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"start_date": "soon"}, "Start date is not a valid date"),
        ({"due_date": "soon"}, "Due date is not a valid date"),
        ({"due_date": "2020-01-01"}, "Due date must be greater than start date"),
        ({"start_date": "2026-01-05", "due_date": "2026-01-04"}, "Due date must be greater than start date"),
    ],
)
def test_dates_are_days_and_the_end_is_not_before_the_beginning_which_is_today_by_default(
    tracker: Tracker, fields: dict[str, str], error: str
) -> None:
    assert_rejected(tracker.create_issue(**fields), error)


def test_an_issue_may_be_due_on_its_first_day(tracker: Tracker) -> None:
    day = "2026-01-05"
    assert tracker.issue(start_date=day, due_date=day)["due_date"] == day


@pytest.mark.parametrize("category", [Category.OTHER, UNKNOWN], ids=["of another project", "unknown"])
def test_a_category_the_project_lacks_is_refused(tracker: Tracker, category: int) -> None:
    assert_rejected(tracker.create_issue(category_id=category), "Category is not included in the list")


def test_a_null_category_is_no_category(tracker: Tracker) -> None:
    assert "category" not in tracker.issue(category_id=None)


def test_an_unknown_watcher_is_404_with_a_body_and_creates_nothing(tracker: Tracker) -> None:
    before = newest_id(tracker)
    answer = tracker.create_issue(watcher_user_ids=[User.ALICE, UNKNOWN])
    assert answer.status_code == 404
    assert answer.json() == {"status": 404, "error": "Not Found"}
    assert newest_id(tracker) == before


def test_a_locked_watcher_is_refused(tracker: Tracker) -> None:
    answer = tracker.create_issue(watcher_user_ids=[User.ALICE, User.DAVE])
    assert_rejected(answer, "Watchers is invalid")


@pytest.mark.parametrize(
    ("sent", "watching"),
    [
        ([User.CAROL], {User.CAROL}),
        ([User.ALICE, User.ALICE], {User.ALICE}),
        ([str(int(User.ALICE))], {User.ALICE}),
        ([], set()),
        (None, set()),
    ],
    ids=["non-member", "twice", "as text", "none", "null"],
)
def test_watchers_that_are_accepted(
    tracker: Tracker, version: Version, sent: object, watching: set[int]
) -> None:
    assert watchers(tracker, tracker.issue(watcher_user_ids=sent)["id"]) == watching | creator(version)


def test_an_author_in_the_body_is_ignored(tracker: Tracker) -> None:
    assert tracker.issue(author_id=User.BOB)["author"]["id"] == User.ADMIN


@pytest.mark.parametrize(
    "fields",
    [
        {"custom_fields": [{"id": CustomField.ISSUE_TICKET, "value": "T-1"}]},
        {"custom_field_values": {str(int(CustomField.ISSUE_TICKET)): "T-1"}},
    ],
    ids=["custom_fields", "custom_field_values"],
)
def test_custom_fields_are_stored_in_either_form(tracker: Tracker, fields: Json) -> None:
    stored = {row["id"]: row["value"] for row in tracker.issue(**fields)["custom_fields"]}
    assert stored[CustomField.ISSUE_TICKET] == "T-1"


def test_a_value_outside_a_list_field_is_refused(tracker: Tracker) -> None:
    answer = tracker.create_issue(custom_fields=[{"id": CustomField.ISSUE_CHANNEL, "value": "Fax"}])
    assert_rejected(answer, "Channel is not included in the list")


def test_an_unknown_custom_field_is_ignored(tracker: Tracker) -> None:
    issue = tracker.issue(custom_fields=[{"id": UNKNOWN, "value": "x"}])
    assert UNKNOWN not in {row["id"] for row in issue["custom_fields"]}


@pytest.mark.parametrize("project", [Project.CLOSED, Project.ARCHIVED, UNKNOWN, None])
def test_a_closed_archived_or_unknown_project_is_refused_in_the_same_words(
    tracker: Tracker, project: int | None
) -> None:
    assert_rejected(tracker.create_issue(project_id=project), *NO_PROJECT)


@pytest.mark.parametrize("project", ["1", "support"])
def test_a_project_may_be_named_by_text(tracker: Tracker, project: str) -> None:
    assert tracker.issue(project_id=project)["project"]["id"] == Project.SUPPORT


@pytest.mark.parametrize("body", [{}, [], {"issue": {}}], ids=str)
def test_a_body_without_fields_is_refused(tracker: Tracker, body: Any) -> None:
    assert_rejected(tracker.call("POST", "/issues.json", body), *NOTHING_SENT)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_declared_as_json_is_not_read(tracker: Tracker, kind: str) -> None:
    answer = tracker.call(
        "POST",
        "/issues.json",
        data=b'{"issue":{"project_id":1,"subject":"S"}}',
        headers={"Content-Type": kind},
    )
    assert_rejected(answer, *NOTHING_SENT)
