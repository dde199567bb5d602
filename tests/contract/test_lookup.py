"""The reads that decide whether a creation in doubt took effect (SPEC sections 1 and 8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from tests.contract.seed import UNKNOWN, CustomField, Issue, Project, Status, User
from tests.contract.support import Json, Tracker, accepted, assert_empty, unique


def lookup(tracker: Tracker, project_id: int, **query: object) -> Json:
    """Read one page of a project's issues as deskbridge does."""
    asked = {"project_id": project_id, "status_id": "*", "sort": "created_on:desc", "limit": 100, "offset": 0}
    return tracker.read("/issues.json", params=asked | query)


def ids(page: Json) -> list[int]:
    """Return the ids of a page of issues."""
    return [row["id"] for row in page["issues"]]


def test_a_new_issue_is_found_by_the_next_request_whole(tracker: Tracker, project: Json) -> None:
    subject = unique()
    issue = tracker.issue(project_id=project["id"], subject=subject, description="first\nsecond")
    (found,) = lookup(tracker, project["id"])["issues"]
    assert found["id"] == issue["id"]
    assert (found["subject"], found["description"]) == (subject, "first\r\nsecond")
    assert found["author"]["id"] == User.ADMIN
    assert found["created_on"] == issue["created_on"]


def test_closed_issues_are_found_only_with_every_status(tracker: Tracker, project: Json) -> None:
    issue_id = tracker.issue(project_id=project["id"])["id"]
    tracker.update_issue(issue_id, status_id=Status.CLOSED)
    assert ids(lookup(tracker, project["id"])) == [issue_id]
    assert ids(tracker.read(f"/issues.json?project_id={project['id']}")) == []


def test_pages_of_a_lookup_hold_every_issue_once(tracker: Tracker, project: Json) -> None:
    made = {tracker.issue(project_id=project["id"])["id"] for _ in range(5)}
    pages = [lookup(tracker, project["id"], limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [len(page["issues"]) for page in pages] == [2, 2, 1, 0]
    assert {page["total_count"] for page in pages} == {5}
    assert {issue_id for page in pages for issue_id in ids(page)} == made


def test_a_lookup_is_sorted_by_creation_newest_first(tracker: Tracker) -> None:
    tracker.issue()
    times = [row["created_on"] for row in lookup(tracker, Project.SUPPORT)["issues"]]
    assert len(times) > 1
    assert times == sorted(times, reverse=True)


def test_an_issue_that_was_moved_tells_in_its_journals_where_it_was_created(
    tracker: Tracker, project: Json
) -> None:
    issue_id = tracker.issue(project_id=project["id"])["id"]
    for target in (Project.SUPPORT, Project.CHILD):
        tracker.update_issue(issue_id, project_id=target)
    everywhere = tracker.read(
        "/issues.json", params={"status_id": "*", "sort": "created_on:desc", "limit": 1}
    )
    assert [(row["id"], row["project"]["id"]) for row in everywhere["issues"]] == [(issue_id, Project.CHILD)]
    journals = tracker.read(f"/issues/{issue_id}.json?include=journals")["issue"]["journals"]
    moves = [one for journal in journals for one in journal["details"] if one["name"] == "project_id"]
    assert [(one["property"], one["old_value"], one["new_value"]) for one in moves] == [
        ("attr", str(project["id"]), str(int(Project.SUPPORT))),
        ("attr", str(int(Project.SUPPORT)), str(int(Project.CHILD))),
    ]


def test_issues_of_subprojects_are_in_a_lookup(tracker: Tracker) -> None:
    issue_id = tracker.issue(project_id=Project.CHILD)["id"]
    assert issue_id in ids(lookup(tracker, Project.SUPPORT))
    assert issue_id not in ids(lookup(tracker, Project.SUPPORT, subproject_id="!*"))


def test_created_on_is_the_trackers_clock_in_utc_and_whole_seconds(tracker: Tracker) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    created_on = tracker.issue()["created_on"]
    created = datetime.strptime(created_on, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    # the tracker runs on this machine, so its clock is ours
    assert before <= created <= datetime.now(UTC)


@pytest.mark.parametrize("path", ["/issues.json?limit=1", f"/issues/{UNKNOWN}.json"], ids=["read", "refusal"])
def test_a_date_header_is_the_trackers_clock_but_may_be_missing(tracker: Tracker, path: str) -> None:
    # Redmine behind Apache or nginx sends the header; its application server puma alone does not
    told = tracker.call("GET", path).headers.get("Date")
    if told is not None:
        assert abs(parsedate_to_datetime(told) - datetime.now(UTC)) < timedelta(seconds=10)


def test_single_issues_are_asked_for_by_id(tracker: Tracker) -> None:
    one, two = tracker.issue()["id"], tracker.issue()["id"]
    tracker.update_issue(two, status_id=Status.CLOSED)
    assert ids(tracker.read(f"/issues.json?issue_id={one}&status_id=*")) == [one]
    assert set(ids(tracker.read(f"/issues.json?issue_id={one},{two}&status_id=*"))) == {one, two}
    assert ids(tracker.read(f"/issues.json?issue_id={two}")) == []


def test_an_issue_that_is_not_there_is_an_empty_list(tracker: Tracker) -> None:
    assert ids(tracker.read(f"/issues.json?issue_id={UNKNOWN}&status_id=*")) == []


def test_an_issue_of_a_closed_project_is_listed_of_an_archived_one_not(tracker: Tracker) -> None:
    assert ids(tracker.read(f"/issues.json?issue_id={Issue.CLOSED}&status_id=*")) == [Issue.CLOSED]
    assert ids(tracker.read(f"/issues.json?issue_id={Issue.ARCHIVED}&status_id=*")) == []


def test_a_lookup_in_a_project_that_is_not_active(tracker: Tracker) -> None:
    assert ids(lookup(tracker, Project.CLOSED)) == [Issue.CLOSED]
    for project_id, status in ((Project.ARCHIVED, 403), (UNKNOWN, 404)):
        assert_empty(tracker.call("GET", f"/issues.json?project_id={project_id}&status_id=*"), status)


def test_issues_are_found_by_author(tracker: Tracker, project: Json) -> None:
    accepted(tracker.add_member(project["id"], User.CAROL, 4))
    tracker.issue(project_id=project["id"])
    issue_id = tracker.issue(su="carol", project_id=project["id"])["id"]
    assert ids(lookup(tracker, project["id"], author_id=User.CAROL)) == [issue_id]


def test_issues_are_found_by_subject_and_by_custom_field(tracker: Tracker, project: Json) -> None:
    subject, value = unique("lookup"), unique("T")
    issue_id = tracker.issue(
        project_id=project["id"],
        subject=subject,
        custom_fields=[{"id": CustomField.ISSUE_TICKET, "value": value}],
    )["id"]
    tracker.issue(project_id=project["id"])
    assert ids(lookup(tracker, project["id"], subject=subject)) == [issue_id]
    assert ids(lookup(tracker, project["id"], cf_3=value)) == [issue_id]


def test_an_unknown_filter_is_ignored(tracker: Tracker, project: Json) -> None:
    issue_id = tracker.issue(project_id=project["id"])["id"]
    assert ids(lookup(tracker, project["id"], no_such_filter="x", cf_999="x")) == [issue_id]


def test_issues_are_found_by_their_time_of_creation(tracker: Tracker, project: Json) -> None:
    issue = tracker.issue(project_id=project["id"])
    made = datetime.strptime(issue["created_on"], "%Y-%m-%dT%H:%M:%SZ")
    later = (made + timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert ids(lookup(tracker, project["id"], created_on=f">={issue['created_on']}")) == [issue["id"]]
    assert ids(lookup(tracker, project["id"], created_on=f">={later}")) == []


def test_time_entries_are_found_by_issue_newest_first(tracker: Tracker) -> None:
    issue_id, other = tracker.issue()["id"], tracker.issue()["id"]
    first, second = (accepted(tracker.log_time(issue_id))["time_entry"] for _ in range(2))
    accepted(tracker.log_time(other))
    page = tracker.read(f"/time_entries.json?issue_id={issue_id}&limit=100&offset=0")
    assert page["total_count"] == 2
    assert [row["id"] for row in page["time_entries"]] == [second["id"], first["id"]]
    assert page["time_entries"][1] == first


def test_time_entries_are_sorted_by_their_day_first(tracker: Tracker) -> None:
    issue_id = tracker.issue()["id"]
    days = ["2020-01-02", "2020-01-03", "2020-01-01"]
    for day in days:
        accepted(tracker.log_time(issue_id, spent_on=day))
    rows = tracker.read(f"/time_entries.json?issue_id={issue_id}")["time_entries"]
    assert [row["spent_on"] for row in rows] == sorted(days, reverse=True)


def test_time_entries_of_an_unknown_issue_are_an_empty_list(tracker: Tracker) -> None:
    page = tracker.read(f"/time_entries.json?issue_id={UNKNOWN}")
    assert (page["time_entries"], page["total_count"]) == ([], 0)


def test_an_issue_sums_up_its_time(tracker: Tracker) -> None:
    issue_id = tracker.issue()["id"]
    for hours in (1.5, 0.25):
        accepted(tracker.log_time(issue_id, hours=hours))
    assert tracker.read(f"/issues/{issue_id}.json")["issue"]["spent_hours"] == 1.75
