"""X-Redmine-Switch-User: acting as a person (SPEC section 5, rules 2 and 3, and section 7)."""

from __future__ import annotations

import pytest

from tests.contract.seed import Activity, Category, Issue, Priority, Project, Role, User, key_of
from tests.contract.support import (
    NO_PROJECT,
    Json,
    Tracker,
    Version,
    accepted,
    assert_empty,
    assert_rejected,
    unique,
)


def test_an_issue_created_as_a_member_has_the_member_as_author(tracker: Tracker) -> None:
    assert tracker.issue(su="alice")["author"] == {"id": User.ALICE, "name": "Alice Archer"}


def test_a_login_matches_whatever_its_case(tracker: Tracker) -> None:
    assert tracker.issue(su="ALICE")["author"]["id"] == User.ALICE


def test_a_members_priority_and_category_are_honoured(tracker: Tracker) -> None:
    issue = tracker.issue(su="alice", priority_id=Priority.HIGH, category_id=Category.HARDWARE)
    assert issue["priority"]["id"] == Priority.HIGH
    assert issue["category"]["id"] == Category.HARDWARE


def test_watchers_of_a_member_who_may_not_add_them_are_silently_dropped(tracker: Tracker) -> None:
    issue_id = tracker.issue(su="alice", watcher_user_ids=[User.BOB])["id"]
    assert tracker.read(f"/issues/{issue_id}.json?include=watchers")["issue"]["watchers"] == []


def test_watchers_of_a_manager_are_set(tracker: Tracker, version: Version) -> None:
    issue_id = tracker.issue(su="mallory", project_id=Project.OTHER, watcher_user_ids=[User.BOB])["id"]
    watchers = tracker.read(f"/issues/{issue_id}.json?include=watchers")["issue"]["watchers"]
    himself = {User.MALLORY} if version >= (6, 0) else set()
    assert {watcher["id"] for watcher in watchers} == {User.BOB} | himself


@pytest.mark.parametrize("person", ["carol", "mallory"], ids=["member of nothing", "member elsewhere"])
def test_a_non_member_of_a_private_project_is_422_as_if_the_project_did_not_exist(
    tracker: Tracker, person: str
) -> None:
    assert_rejected(tracker.create_issue(su=person), *NO_PROJECT)


def test_a_member_of_the_parent_only_is_refused_in_the_child(tracker: Tracker) -> None:
    assert_rejected(tracker.create_issue(su="alice", project_id=Project.CHILD), *NO_PROJECT)


def test_a_non_member_may_create_in_a_public_project(tracker: Tracker) -> None:
    assert tracker.issue(su="carol", project_id=Project.PUBLIC)["author"]["id"] == User.CAROL


@pytest.mark.parametrize("project", [Project.CLOSED, Project.ARCHIVED])
def test_a_member_of_a_project_that_is_not_active_is_refused(tracker: Tracker, project: Project) -> None:
    assert_rejected(tracker.create_issue(su="alice", project_id=project), *NO_PROJECT)


@pytest.mark.parametrize("person", ["nobody-of-this-name", "dave"], ids=["unknown", "locked"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/issues.json", {"issue": {"project_id": 1, "subject": "never created"}}),
        ("POST", "/time_entries.json", {"time_entry": {"issue_id": 1, "hours": 1}}),
        ("PUT", f"/issues/{Issue.SUPPORT}.json", {"issue": {"status_id": 1}}),
        ("GET", "/projects.json", None),
        ("GET", "/users.json", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_login_that_cannot_act_is_412_and_empty_whatever_the_call(
    tracker: Tracker, person: str, method: str, path: str, body: Json | None
) -> None:
    assert_empty(tracker.call(method, path, body, su=person), 412)


def test_an_empty_switch_header_acts_as_the_administrator(tracker: Tracker) -> None:
    assert tracker.issue(su="")["author"]["id"] == User.ADMIN


@pytest.mark.parametrize("person", ["bob", "nobody-of-this-name", "dave"])
def test_a_key_that_is_no_administrators_ignores_the_switch(tracker: Tracker, person: str) -> None:
    body = {"issue": {"project_id": Project.SUPPORT, "subject": unique()}}
    answer = tracker.call("POST", "/issues.json", body, key=key_of("alice"), su=person)
    assert accepted(answer)["issue"]["author"]["id"] == User.ALICE


@pytest.mark.parametrize(("person", "user"), [("alice", User.ALICE), ("erin", User.ERIN)])
def test_time_logged_as_a_member_belongs_to_the_member(tracker: Tracker, person: str, user: User) -> None:
    entry = accepted(tracker.log_time(tracker.issue()["id"], su=person))["time_entry"]
    assert entry["user"]["id"] == user


@pytest.mark.parametrize("person", ["mallory", "alice"], ids=["member elsewhere", "member of another"])
def test_time_on_an_issue_the_person_cannot_see_is_422(tracker: Tracker, person: str) -> None:
    issue_id = Issue.SUPPORT if person == "mallory" else Issue.OTHER
    answer = tracker.log_time(issue_id, su=person, activity_id=Activity.DESIGN)
    assert_rejected(answer, "Issue is invalid")


def test_a_person_sees_only_own_and_public_projects(tracker: Tracker) -> None:
    seen = {row["id"] for row in tracker.read("/projects.json?limit=100", su="alice")["projects"]}
    assert {Project.SUPPORT, Project.PUBLIC} <= seen
    assert not seen & {Project.OTHER, Project.NO_TIME, Project.CLOSED, Project.ARCHIVED}


def test_the_roles_of_a_person_are_listed_with_their_project(tracker: Tracker) -> None:
    user = tracker.read(f"/users/{User.ERIN}.json?include=memberships")["user"]
    assert user["admin"] is False
    assert [(one["project"]["id"], [role["id"] for role in one["roles"]]) for one in user["memberships"]] == [
        (Project.SUPPORT, [Role.REPORTER])
    ]
    assert tracker.read(f"/users/{User.ADMIN}.json?include=memberships")["user"]["admin"] is True


def test_a_role_that_is_inherited_from_the_parent_project_is_listed(tracker: Tracker) -> None:
    child = accepted(tracker.create_project(parent_id=Project.SUPPORT, inherit_members=True))["project"]
    user = tracker.read(f"/users/{User.ERIN}.json?include=memberships")["user"]
    assert child["id"] in {one["project"]["id"] for one in user["memberships"]}


@pytest.mark.parametrize("role", list(Role))
def test_a_role_tells_what_it_may_do(tracker: Tracker, role: Role) -> None:
    found = tracker.read(f"/roles/{role}.json")["role"]
    assert found["id"] == role
    assert {"add_issues", "log_time"} <= set(found["permissions"])
    assert ("edit_issues" in found["permissions"]) is (role != Role.REPORTER)


def test_a_role_that_is_not_there_is_404(tracker: Tracker) -> None:
    assert_empty(tracker.call("GET", "/roles/99999.json"), 404)
