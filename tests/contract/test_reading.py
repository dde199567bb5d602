"""The reads of the metadata synchronisation (SPEC section 4.2)."""

from __future__ import annotations

import pytest

from tests.contract.seed import (
    UNKNOWN,
    Activity,
    Category,
    CustomField,
    IssueType,
    Project,
    Role,
    Status,
    User,
)
from tests.contract.support import Json, Tracker, Version, assert_empty, assert_rejected


def by_id(rows: list[Json]) -> dict[int, Json]:
    """Return the rows as a mapping by id."""
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("kind", ["projects", "users", "issues", "time_entries"])
@pytest.mark.parametrize(
    ("asked", "given"),
    [("", 25), ("limit=3", 3), ("limit=100", 100), ("limit=1000", 100), ("limit=0", 25), ("limit=abc", 25)],
)
def test_a_page_has_25_rows_by_default_and_100_at_most(
    tracker: Tracker, kind: str, asked: str, given: int
) -> None:
    page = tracker.read(f"/{kind}.json?{asked}")
    assert page["limit"] == given
    assert page["offset"] == 0
    assert len(page[kind]) == min(given, page["total_count"])


@pytest.mark.parametrize("kind", ["projects", "users", "issues"])
def test_pages_follow_one_another_and_end_empty(tracker: Tracker, kind: str) -> None:
    whole = [row["id"] for row in tracker.read(f"/{kind}.json?limit=100")[kind]]
    assert len(whole) > 2
    pages = [tracker.read(f"/{kind}.json?limit=2&offset={offset}") for offset in (0, 2)]
    assert [row["id"] for page in pages for row in page[kind]] == whole[:4]
    assert pages[1]["offset"] == 2
    past = tracker.read(f"/{kind}.json?limit=2&offset=100000")
    assert (past[kind], past["offset"]) == ([], 100000)
    assert past["total_count"] == pages[0]["total_count"]


def test_projects_are_the_active_ones(tracker: Tracker) -> None:
    rows = by_id(tracker.read("/projects.json?limit=100")["projects"])
    assert {Project.SUPPORT, Project.PUBLIC, Project.CHILD, Project.OTHER, Project.NO_TIME} <= set(rows)
    assert not {Project.CLOSED, Project.ARCHIVED} & set(rows)
    support = rows[Project.SUPPORT]
    assert (support["name"], support["identifier"]) == ("Support", "support")
    assert (support["status"], support["is_public"]) == (1, False)
    assert {row["id"] for row in support["custom_fields"]} == {
        CustomField.CONTRACT_NUMBER,
        CustomField.COST_CENTRE,
    }
    assert rows[Project.CHILD]["parent"] == {"id": Project.SUPPORT, "name": "Support"}


def test_a_closed_project_says_so_and_an_archived_one_is_403(tracker: Tracker) -> None:
    assert tracker.read(f"/projects/{Project.CLOSED}.json")["project"]["status"] == 5
    assert_empty(tracker.call("GET", f"/projects/{Project.ARCHIVED}.json"), 403)
    assert_empty(tracker.call("GET", f"/projects/{UNKNOWN}.json"), 404)


def test_a_project_names_the_activities_that_work_in_it(tracker: Tracker) -> None:
    path = f"/projects/{Project.SUPPORT}.json?include=time_entry_activities,trackers"
    project = tracker.read(path)["project"]
    activities = {row["id"] for row in project["time_entry_activities"]}
    assert activities == {Activity.DESIGN, Activity.DEVELOPMENT, Activity.HELPDESK}
    assert {row["id"] for row in project["trackers"]} == {IssueType.BUG, IssueType.SUPPORT}


def test_issue_types_come_all_at_once_with_their_default_status(tracker: Tracker) -> None:
    answer = tracker.read("/trackers.json?limit=1&offset=1")
    assert set(answer) == {"trackers"}
    rows = by_id(answer["trackers"])
    assert set(rows) == set(IssueType)
    assert rows[IssueType.BUG]["default_status"] == {"id": Status.NEW, "name": "New"}


def test_statuses_come_all_at_once_and_say_which_are_closed(tracker: Tracker) -> None:
    answer = tracker.read("/issue_statuses.json?limit=1")
    assert set(answer) == {"issue_statuses"}
    rows = by_id(answer["issue_statuses"])
    assert set(rows) == set(Status)
    assert {key for key, row in rows.items() if row["is_closed"]} == {Status.CLOSED, Status.REJECTED}


def test_priorities_name_the_default(tracker: Tracker) -> None:
    rows = tracker.read("/enumerations/issue_priorities.json")["issue_priorities"]
    assert [(row["id"], row["name"]) for row in rows] == [
        (1, "Low"),
        (2, "Normal"),
        (3, "High"),
        (4, "Urgent"),
        (5, "Immediate"),
    ]
    assert [row["id"] for row in rows if row["is_default"]] == [2]


def test_activities_include_the_inactive_but_no_overrides(tracker: Tracker) -> None:
    rows = by_id(tracker.read("/enumerations/time_entry_activities.json")["time_entry_activities"])
    assert set(rows) == set(Activity) - {Activity.ONSITE_OVERRIDE}
    assert rows[Activity.DESIGN] == {
        "id": Activity.DESIGN,
        "name": "Design",
        "is_default": False,
        "active": True,
    }
    assert [key for key, row in rows.items() if not row["active"]] == [Activity.LEGACY]
    assert [key for key, row in rows.items() if row["is_default"]] == [Activity.HELPDESK]


def test_roles_are_those_that_can_be_given(tracker: Tracker) -> None:
    rows = tracker.read("/roles.json")["roles"]
    assert [(row["id"], row["name"]) for row in rows] == [
        (Role.MANAGER, "Manager"),
        (Role.DEVELOPER, "Developer"),
        (Role.REPORTER, "Reporter"),
    ]


def test_users_have_login_and_mail_and_their_status_on_newer_versions(
    tracker: Tracker, version: Version
) -> None:
    alice = by_id(tracker.read("/users.json?limit=100&offset=0")["users"])[User.ALICE]
    assert (alice["login"], alice["mail"]) == ("alice", "alice@example.test")
    assert (alice["firstname"], alice["lastname"]) == ("Alice", "Archer")
    assert alice.get("status") == (1 if version >= (6, 0) else None)


@pytest.mark.parametrize("login", ["alice", "ali", "ALICE"])
def test_only_newer_versions_filter_users_by_login(tracker: Tracker, version: Version, login: str) -> None:
    everybody = {row["login"] for row in tracker.read("/users.json?limit=100")["users"]}
    exactly = {login} & everybody
    found = {row["login"] for row in tracker.read(f"/users.json?limit=100&login={login}")["users"]}
    assert found == (exactly if version >= (6, 0) else everybody)


@pytest.mark.parametrize(
    ("address", "exact"),
    [("bob@example.test", True), ("ob@example.test", False), ("bob@example.tes", False)],
)
def test_an_address_is_found_exactly_by_newer_versions_and_in_part_by_all(
    tracker: Tracker, version: Version, address: str, exact: bool
) -> None:
    in_part = tracker.read(f"/users.json?name={address}")["users"]
    assert [row["login"] for row in in_part] == ["bob"]
    both = tracker.read(f"/users.json?name={address}&mail=%3D{address}")["users"]
    assert [row["login"] for row in both] == (["bob"] if exact or version < (6, 0) else [])
    assert {"status" in row for row in in_part} == {version >= (6, 0)}


def test_users_of_every_status_are_asked_for_in_one_way_or_the_other(
    tracker: Tracker, version: Version
) -> None:
    every, other = ("*", "") if version >= (6, 0) else ("", "*")
    assert "dave" in {row["login"] for row in tracker.read(f"/users.json?limit=100&status={every}")["users"]}
    answer = tracker.call("GET", f"/users.json?status={other}")
    if version >= (6, 0):
        assert_rejected(answer, "Status cannot be blank")
    else:
        assert answer.json()["users"] == []


def test_locked_users_are_left_out_and_the_rest_is_sorted_by_login(tracker: Tracker) -> None:
    logins = [row["login"] for row in tracker.read("/users.json?limit=100")["users"]]
    assert logins == sorted(logins)
    assert {"admin", "alice", "bob", "carol", "erin", "mallory"} <= set(logins)
    assert "dave" not in logins


def test_users_are_not_for_people_who_are_no_administrators(tracker: Tracker) -> None:
    assert_empty(tracker.call("GET", "/users.json", su="alice"), 403)
    assert_empty(tracker.call("GET", "/custom_fields.json", su="alice"), 403)


def test_categories_are_those_of_the_project(tracker: Tracker) -> None:
    answer = tracker.read(f"/projects/{Project.SUPPORT}/issue_categories.json")
    assert answer["total_count"] == 2
    assert {row["id"]: row["name"] for row in answer["issue_categories"]} == {
        Category.HARDWARE: "Hardware",
        Category.SOFTWARE: "Software",
    }


@pytest.mark.parametrize(("project_id", "status"), [(Project.ARCHIVED, 403), (UNKNOWN, 404)])
def test_categories_of_a_project_that_is_archived_or_unknown_are_refused(
    tracker: Tracker, project_id: int, status: int
) -> None:
    assert_empty(tracker.call("GET", f"/projects/{project_id}/issue_categories.json"), status)


def test_categories_of_a_closed_project_are_refused_or_there(tracker: Tracker, version: Version) -> None:
    answer = tracker.call("GET", f"/projects/{Project.CLOSED}/issue_categories.json")
    if version >= (6, 1):
        assert answer.json() == {"issue_categories": [], "total_count": 0}
    else:
        assert_empty(answer, 403)


@pytest.mark.parametrize(("person", "project_id"), [("erin", Project.SUPPORT), ("carol", Project.PUBLIC)])
def test_categories_are_for_whoever_manages_them_or_sees_the_issues(
    tracker: Tracker, version: Version, person: str, project_id: int
) -> None:
    answer = tracker.call("GET", f"/projects/{project_id}/issue_categories.json", su=person)
    if version >= (6, 1):
        assert answer.status_code == 200
    else:
        assert_empty(answer, 403)


def test_custom_fields_say_what_they_are_for(tracker: Tracker) -> None:
    rows = by_id(tracker.read("/custom_fields.json")["custom_fields"])
    assert {key: row["customized_type"] for key, row in rows.items()} == {
        CustomField.CONTRACT_NUMBER: "project",
        CustomField.COST_CENTRE: "project",
        CustomField.ISSUE_TICKET: "issue",
        CustomField.ISSUE_CHANNEL: "issue",
        CustomField.TIME_TASK: "time_entry",
    }
    cost_centre = rows[CustomField.COST_CENTRE]
    assert (cost_centre["name"], cost_centre["field_format"]) == ("Cost centre", "string")
    assert cost_centre["is_required"] is False
    values = [row["value"] for row in rows[CustomField.ISSUE_CHANNEL]["possible_values"]]
    assert values == ["Phone", "Mail", "Portal"]


def test_newer_versions_tell_more_of_fields_statuses_and_projects(tracker: Tracker, version: Version) -> None:
    fields = tracker.read("/custom_fields.json")["custom_fields"]
    statuses = tracker.read("/issue_statuses.json")["issue_statuses"]
    projects = tracker.read("/projects.json")["projects"]
    tells = [
        {"description", "editable"} <= fields[0].keys(),
        "description" in statuses[0],
        "homepage" in projects[0],
    ]
    assert tells == [version >= (6, 0)] * 3


def test_projects_are_listed_by_their_ids_with_closed_ones_and_their_includes(tracker: Tracker) -> None:
    wanted = "%7C".join(str(one) for one in (Project.SUPPORT, Project.CLOSED, Project.ARCHIVED, 99999))
    include = "enabled_modules,time_entry_activities,issue_categories"
    listed = tracker.read(f"/projects.json?id={wanted}&status=1%7C5&include={include}")
    rows = by_id(listed["projects"])
    assert {number: row["status"] for number, row in rows.items()} == {Project.SUPPORT: 1, Project.CLOSED: 5}
    assert listed["total_count"] == 2
    own_page = tracker.read(f"/projects/{Project.SUPPORT}.json?include={include}")["project"]
    assert {name: rows[Project.SUPPORT][name] for name in include.split(",")} == {
        name: own_page[name] for name in include.split(",")
    }


def test_a_path_that_does_not_exist_is_404(tracker: Tracker) -> None:
    assert tracker.call("GET", "/no_such_thing.json").status_code == 404
