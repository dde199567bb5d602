"""POST /time_entries.json (SPEC sections 2.3 and 7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.seed import UNKNOWN, Activity, CustomField, Issue, Project, User
from tests.contract.support import Json, Tracker, Version, accepted, assert_rejected, unique


@pytest.fixture
def issue_id(tracker: Tracker) -> int:
    """Return the id of a new issue of SUPPORT."""
    return int(tracker.issue()["id"])


def logged(tracker: Tracker, issue_id: int, **fields: Any) -> Json:
    """Log time, which must succeed, and return the entry."""
    entry: Json = accepted(tracker.log_time(issue_id, **fields))["time_entry"]
    return entry


def test_an_entry_is_201_with_the_whole_entry(tracker: Tracker, issue_id: int) -> None:
    comments = unique()
    today = datetime.now(UTC).date()
    entry = logged(tracker, issue_id, comments=comments)
    assert entry["project"] == {"id": Project.SUPPORT, "name": "Support"}
    assert entry["issue"] == {"id": issue_id}
    assert entry["user"] == {"id": User.ADMIN, "name": "Redmine Admin"}
    assert entry["activity"] == {"id": Activity.DEVELOPMENT, "name": "Development"}
    assert entry["hours"] == 1.5
    assert entry["comments"] == comments
    # around midnight it may already be the next day for the tracker
    assert entry["spent_on"] in {today.isoformat(), (today + timedelta(days=1)).isoformat()}
    assert datetime.strptime(entry["created_on"], "%Y-%m-%dT%H:%M:%SZ")
    assert [row["id"] for row in entry["custom_fields"]] == [CustomField.TIME_TASK]


def test_the_same_post_twice_makes_two_entries(tracker: Tracker, issue_id: int) -> None:
    first, second = (logged(tracker, issue_id, comments="same") for _ in range(2))
    assert first["id"] != second["id"]


@pytest.mark.parametrize(
    ("sent", "decimals", "minutes"),
    [
        (0, 0.0, 0.0),
        (0.001, 0.0, 0.0),
        (5 / 3600, 0.0, 0.0),
        (17 / 3600, 0.0, 0.0),
        (0.005, 0.01, 0.0),
        (29 / 3600, 0.01, 0.0),
        (30 / 3600, 0.01, 0.02),
        (60 / 3600, 0.02, 0.02),
        (1 / 3, 0.33, 0.33),
        (1.5, 1.5, 1.5),
        (5429 / 3600, 1.51, 1.5),
        (5430 / 3600, 1.51, 1.52),
        (5445 / 3600, 1.51, 1.52),
        (5460 / 3600, 1.52, 1.52),
        (16.6666666, 16.67, 16.67),
        (999, 999.0, 999.0),
        ("1,5", 1.5, 1.5),
        ("1:30", 1.5, 1.5),
        ("1.5", 1.5, 1.5),
    ],
)
def test_hours_are_rounded_to_two_decimals_or_to_whole_minutes(
    tracker: Tracker, version: Version, issue_id: int, sent: object, decimals: float, minutes: float
) -> None:
    # on a separate day, because Redmine limits a person's hours per day
    entry = logged(tracker, issue_id, hours=sent, spent_on="2001-02-03")
    assert entry["hours"] == (minutes if version >= (6, 0) else decimals)
    assert tracker.read(f"/time_entries/{entry['id']}.json")["time_entry"]["hours"] == entry["hours"]


@pytest.mark.parametrize(
    ("sent", "error"),
    [(-1, "Hours is invalid"), ("abc", "Hours is invalid"), (None, "Hours cannot be blank")],
)
def test_hours_that_are_none_are_refused(tracker: Tracker, issue_id: int, sent: object, error: str) -> None:
    assert_rejected(tracker.log_time(issue_id, hours=sent), error)


def test_more_than_999_hours_on_a_day_are_refused(tracker: Tracker, issue_id: int) -> None:
    answer = tracker.log_time(issue_id, hours=1000, spent_on="2001-02-04")
    assert answer.status_code == 422
    assert answer.json()["errors"][0].startswith("Cannot log more than 999:00 hours on the same day")


@pytest.mark.parametrize(
    "activity",
    [Activity.ONSITE, Activity.ONSITE_OVERRIDE, Activity.LEGACY, UNKNOWN],
    ids=["disabled in the project", "its override", "inactive", "unknown"],
)
def test_an_activity_that_is_not_enabled_in_the_project_is_refused(
    tracker: Tracker, issue_id: int, activity: int
) -> None:
    assert_rejected(tracker.log_time(issue_id, activity_id=activity), "Activity is not included in the list")


def test_an_activity_disabled_in_one_project_works_in_another(tracker: Tracker) -> None:
    entry = logged(tracker, Issue.OTHER, activity_id=Activity.ONSITE)
    assert entry["activity"]["id"] == Activity.ONSITE


def test_without_an_activity_the_default_is_taken_but_null_is_refused(
    tracker: Tracker, issue_id: int
) -> None:
    body = {"time_entry": {"issue_id": issue_id, "hours": 1}}
    entry = accepted(tracker.call("POST", "/time_entries.json", body))["time_entry"]
    assert entry["activity"]["id"] == Activity.HELPDESK
    assert_rejected(tracker.log_time(issue_id, activity_id=None), "Activity cannot be blank")


@pytest.mark.parametrize("letter", ["x", "ß", "\N{FIRE}"])
def test_comments_of_1024_characters_are_accepted(tracker: Tracker, issue_id: int, letter: str) -> None:
    assert logged(tracker, issue_id, comments=letter * 1024)["comments"] == letter * 1024


@pytest.mark.parametrize("letter", ["x", "\N{FIRE}"])
def test_comments_of_1025_characters_are_refused(tracker: Tracker, issue_id: int, letter: str) -> None:
    answer = tracker.log_time(issue_id, comments=letter * 1025)
    assert_rejected(answer, "Comment is too long (maximum is 1024 characters)")


@pytest.mark.parametrize("comments", ["", None])
def test_empty_comments_are_accepted_while_they_are_not_required(
    tracker: Tracker, issue_id: int, comments: str | None
) -> None:
    assert logged(tracker, issue_id, comments=comments)["comments"] in {"", None}


def test_comments_come_back_unchanged_line_ends_included(tracker: Tracker, issue_id: int) -> None:
    comments = '"q" <b>&amp;</b> \u2028 \N{FIRE}\nsecond line'
    assert logged(tracker, issue_id, comments=comments)["comments"] == comments


def test_an_unknown_issue_is_refused(tracker: Tracker) -> None:
    assert_rejected(
        tracker.log_time(UNKNOWN), "Project cannot be blank", "Project is invalid", "Issue is invalid"
    )


@pytest.mark.parametrize("issue", [Issue.CLOSED, Issue.ARCHIVED, Issue.NO_TIME])
def test_a_project_that_takes_no_time_is_refused(tracker: Tracker, issue: Issue) -> None:
    assert_rejected(tracker.log_time(issue), "Issue is invalid")


def test_an_issue_with_another_project_is_refused(tracker: Tracker, issue_id: int) -> None:
    assert_rejected(tracker.log_time(issue_id, project_id=Project.OTHER), "Issue is invalid")


def test_time_may_be_logged_on_a_closed_issue(tracker: Tracker, issue_id: int) -> None:
    tracker.update_issue(issue_id, status_id=5)
    assert logged(tracker, issue_id)["issue"]["id"] == issue_id


def test_a_day_may_be_given(tracker: Tracker, issue_id: int) -> None:
    assert logged(tracker, issue_id, spent_on="2020-02-29")["spent_on"] == "2020-02-29"


def test_a_day_that_is_none_is_refused(tracker: Tracker, issue_id: int) -> None:
    answer = tracker.log_time(issue_id, spent_on="2021-02-29")
    assert_rejected(answer, "Date cannot be blank", "Date is not a valid date")


def test_the_administrator_may_log_for_a_member_but_not_for_a_non_member(
    tracker: Tracker, issue_id: int
) -> None:
    assert logged(tracker, issue_id, user_id=User.BOB)["user"]["id"] == User.BOB
    assert_rejected(tracker.log_time(issue_id, user_id=User.CAROL), "User is invalid")


def test_time_goes_when_its_issue_is_deleted(tracker: Tracker, issue_id: int) -> None:
    entry_id = logged(tracker, issue_id)["id"]
    assert tracker.call("DELETE", f"/issues/{issue_id}.json").status_code == 204
    assert tracker.call("GET", f"/time_entries/{entry_id}.json").status_code == 404


def test_the_administrator_gives_an_entry_to_another_member_and_to_nobody_else(
    tracker: Tracker, issue_id: int
) -> None:
    entry_id = logged(tracker, issue_id)["id"]
    path = f"/time_entries/{entry_id}.json"
    assert tracker.call("PUT", path, {"time_entry": {"user_id": User.ALICE}}).status_code == 204
    assert_rejected(tracker.call("PUT", path, {"time_entry": {"user_id": User.CAROL}}), "User is invalid")
    assert_rejected(tracker.call("PUT", path, {"time_entry": {"user_id": UNKNOWN}}), "User is invalid")
    assert tracker.read(path)["time_entry"]["user"]["id"] == User.ALICE


def test_an_issue_keeps_its_author_whatever_is_asked(tracker: Tracker, issue_id: int) -> None:
    assert tracker.update_issue(issue_id, author_id=User.ALICE).status_code == 204
    assert tracker.read(f"/issues/{issue_id}.json")["issue"]["author"]["id"] == User.ADMIN
