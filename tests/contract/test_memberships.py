"""POST /projects/:id/memberships.json (SPEC section 5, rule 3)."""

from __future__ import annotations

import pytest

from tests.contract.seed import UNKNOWN, Activity, Project, Role, User
from tests.contract.support import NO_PROJECT, Json, Tracker, Version, accepted, assert_empty, assert_rejected

TAKEN = "User has already been taken"
NO_ROLE = "Role cannot be empty"


def members(tracker: Tracker, project_id: int) -> dict[int, list[int]]:
    """Return the role ids of each member of a project."""
    rows = tracker.read(f"/projects/{project_id}/memberships.json?limit=100")["memberships"]
    return {row["user"]["id"]: [role["id"] for role in row["roles"]] for row in rows}


def test_a_new_membership_is_201_with_its_shape(tracker: Tracker, project: Json) -> None:
    membership = accepted(tracker.add_member(project["id"], User.CAROL, Role.DEVELOPER))["membership"]
    assert isinstance(membership["id"], int)
    assert membership["project"] == {"id": project["id"], "name": project["name"]}
    assert membership["user"] == {"id": User.CAROL, "name": "Carol Clark"}
    assert membership["roles"] == [{"id": Role.DEVELOPER, "name": "Developer"}]


def test_a_new_member_can_act_at_once(tracker: Tracker, project: Json) -> None:
    assert_rejected(tracker.create_issue(su="carol", project_id=project["id"]), *NO_PROJECT)
    accepted(tracker.add_member(project["id"], User.CAROL, Role.DEVELOPER))
    issue = tracker.issue(su="carol", project_id=project["id"])
    assert issue["author"]["id"] == User.CAROL
    entry = tracker.log_time(issue["id"], su="carol", activity_id=Activity.DESIGN)
    assert accepted(entry)["time_entry"]["user"]["id"] == User.CAROL


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.MANAGER], ids=["same role", "other role"])
def test_who_is_a_member_already_is_refused_and_keeps_the_roles(
    tracker: Tracker, project: Json, role: Role
) -> None:
    accepted(tracker.add_member(project["id"], User.CAROL, Role.DEVELOPER))
    assert_rejected(tracker.add_member(project["id"], User.CAROL, role), TAKEN)
    assert members(tracker, project["id"]) == {User.CAROL: [Role.DEVELOPER]}


@pytest.mark.parametrize("roles", [[], [UNKNOWN]], ids=["none", "unknown"])
def test_a_membership_without_a_known_role_is_refused(
    tracker: Tracker, project: Json, roles: list[int]
) -> None:
    assert_rejected(tracker.add_member(project["id"], User.CAROL, *roles), NO_ROLE)
    assert members(tracker, project["id"]) == {}


def test_an_unknown_role_beside_a_known_one_is_dropped(tracker: Tracker, project: Json) -> None:
    accepted(tracker.add_member(project["id"], User.CAROL, Role.REPORTER, UNKNOWN))
    assert members(tracker, project["id"]) == {User.CAROL: [Role.REPORTER]}


def test_an_unknown_user_is_refused(tracker: Tracker, version: Version, project: Json) -> None:
    answer = tracker.add_member(project["id"], UNKNOWN, Role.DEVELOPER)
    who = "User or Group" if version >= (6, 0) else "Principal"
    assert_rejected(answer, f"{who} cannot be blank")


def test_a_locked_user_becomes_a_member_and_still_cannot_act(tracker: Tracker, project: Json) -> None:
    accepted(tracker.add_member(project["id"], User.DAVE, Role.DEVELOPER))
    assert_empty(tracker.create_issue(su="dave", project_id=project["id"]), 412)


def test_an_unknown_project_is_404_and_empty(tracker: Tracker) -> None:
    assert_empty(tracker.add_member(UNKNOWN, User.CAROL, Role.DEVELOPER), 404)


@pytest.mark.parametrize("project_id", [Project.CLOSED, Project.ARCHIVED])
def test_a_project_that_is_not_active_is_403_and_empty(tracker: Tracker, project_id: Project) -> None:
    assert_empty(tracker.add_member(project_id, User.CAROL, Role.DEVELOPER), 403)


def test_only_a_manager_of_the_project_may_add_members(tracker: Tracker) -> None:
    assert_empty(tracker.add_member(Project.SUPPORT, User.CAROL, Role.DEVELOPER, su="alice"), 403)
    accepted(tracker.add_member(Project.OTHER, User.CAROL, Role.REPORTER, su="mallory"))


def test_the_memberships_of_a_closed_project_can_be_read_of_an_archived_one_not(tracker: Tracker) -> None:
    assert set(members(tracker, Project.CLOSED)) == {User.ALICE, User.BOB}
    assert_empty(tracker.call("GET", f"/projects/{Project.ARCHIVED}/memberships.json"), 403)
