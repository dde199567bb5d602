"""The stand-in's lists have Redmine's pages, orders and filters."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from deploy.sandbox.tracker.seed import seeded


def ids(api: Any, query: str, name: str = "issues") -> list[int]:
    status, shown = api.send("GET", f"/{name}.json?{query}")
    assert status == 200
    return [row["id"] for row in shown[name]]


@pytest.mark.parametrize(
    ("query", "limit", "offset"),
    [
        ("", 25, 0),
        ("limit=100&offset=100", 100, 100),
        ("limit=1000", 100, 0),
        ("limit=0", 25, 0),
        ("limit=abc", 25, 0),
    ],
)
def test_users_come_in_pages_of_at_most_100_by_login_without_locked_ones(
    api: Any, query: str, limit: int, offset: int
) -> None:
    api.tracker = seeded(extra_users=150)
    shown = api.send("GET", f"/users.json?{query}")[1]
    assert (shown["limit"], shown["offset"], shown["total_count"]) == (limit, offset, 156)
    logins = [user["login"] for user in shown["users"]]
    assert logins == sorted(logins)
    assert "dave" not in logins


def test_projects_are_active_ones_by_name_with_subprojects_after_their_parent(api: Any) -> None:
    assert ids(api, "", "projects") == [5, 4, 1, 3, 2]
    assert ids(api, "status=5", "projects") == [6]
    assert ids(api, "status=9", "projects") == []
    assert ids(api, "id=1|6|7|99&status=1|5", "projects") == [6, 1]
    assert ids(api, "id=1|6", "projects") == [1]
    api.tracker = seeded(extra_projects=120)
    assert len(ids(api, "limit=100", "projects")) == 100


def test_activities_of_a_project_are_the_ids_that_work_there(api: Any) -> None:
    api.tracker.activities[13].active = True
    shown = api.send("GET", "/projects/1.json?include=time_entry_activities")[1]["project"]
    assert [row["id"] for row in shown["time_entry_activities"]] == [8, 9, 13, 11]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [5, 4, 2, 1]),
        ("status_id=*", [9, 8, 7, 6, 5, 4, 2, 1]),
        ("status_id=closed", [9, 8, 7, 6]),
        ("status_id=*&project_id=1", [8, 7, 6, 1]),
        ("status_id=*&project_id=support&subproject_id=!*", [7, 6, 1]),
        ("status_id=*&issue_id=1,6", [6, 1]),
        ("status_id=*&author_id=5", [7]),
        ("status_id=*&subject=~TICKET-77", [7, 6]),
        ("status_id=*&subject=TICKET-77", [6]),
        ("status_id=*&cf_3=T-77", [6]),
        ("status_id=*&cf_3=T-77|T-777", [7, 6]),
        ("status_id=*&cf_3=*", [7, 6]),
        ("status_id=*&cf_99=T-77&nothing=1&project_id=1", [8, 7, 6, 1]),
        ("status_id=*&sort=id&limit=2", [1, 2]),
        ("status_id=*&limit=2&offset=1", [8, 7]),
        ("status_id=*&created_on=%3E%3D2001-09-09T01:46:40Z&project_id=2", [9]),
        ("status_id=*&created_on=%3E%3D2001-09-09T01:46:42Z&project_id=2", []),
        ("status_id=*&created_on=%3C%3D2001-09-10", [9]),
    ],
)
def test_issues_are_filtered_as_on_the_tracker(api: Any, query: str, expected: list[int]) -> None:
    api.issue(subject="TICKET-77", custom_fields=[{"id": 3, "value": "T-77"}])
    api.issue(subject="TICKET-777", custom_fields=[{"id": 3, "value": "T-777"}], su="alice")
    api.issue(project_id=3)
    api.issue(project_id=2)
    for number in (6, 7, 8, 9):
        api.send("PUT", f"/issues/{number}.json", {"issue": {"status_id": 5}})
    api.tracker.issues[9].created_on = 1_000_000_000.5  # 2001-09-09T01:46:40.5Z
    assert ids(api, query) == expected


def test_a_bad_date_and_an_unknown_or_archived_project_are_refused(api: Any) -> None:
    assert api.send("GET", "/issues.json?created_on=%3E%3Dsoon") == (422, {"errors": ["Created is invalid"]})
    assert api.send("GET", "/issues.json?project_id=99") == (404, None)
    assert api.send("GET", "/issues.json?project_id=7") == (403, None)


def test_time_entries_of_an_issue_are_found_newest_day_first(api: Any) -> None:
    api.time(spent_on="2026-01-02")
    api.time(spent_on="2026-01-03", su="alice")
    api.time(spent_on="2026-01-02", custom_fields=[{"id": 5, "value": "TT-1"}])
    assert ids(api, "issue_id=1", "time_entries") == [2, 3, 1]
    assert ids(api, "issue_id=1&user_id=5", "time_entries") == [2]
    assert ids(api, "issue_id=1&spent_on=2026-01-02", "time_entries") == [3, 1]
    assert ids(api, "issue_id=1&cf_5=TT-1", "time_entries") == [3]
    assert ids(api, "issue_id=99", "time_entries") == []
    assert ids(api, "issue_id=1&comments=" + quote("~nothing"), "time_entries") == []


def test_the_tracker_shows_its_own_clock(api: Any) -> None:
    api.tracker.settings.clock_offset = -3600.0
    before = api.tracker.now()
    number = api.issue()[1]["issue"]["id"]
    assert 0 <= api.tracker.issues[number].created_on - before < 5
