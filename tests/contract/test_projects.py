"""POST /projects.json: the project and entity forms (SPEC section 2.3)."""

from __future__ import annotations

import pytest

from tests.contract.seed import CustomField, Project
from tests.contract.support import Tracker, accepted, assert_done, assert_empty, assert_rejected, unique


def test_every_field_of_the_form_is_taken(tracker: Tracker) -> None:
    name = unique()
    answer = tracker.create_project(
        name=name,
        identifier=name,
        description="From the form",
        is_public=True,
        parent_id=Project.SUPPORT,
        enabled_module_names=["issue_tracking"],
        custom_field_values={str(int(CustomField.CONTRACT_NUMBER)): "C-1"},
    )
    made = accepted(answer)["project"]
    assert answer.headers["Location"] == f"{tracker.base_url}/projects/{made['id']}"
    project = tracker.read(f"/projects/{made['id']}.json?include=enabled_modules")["project"]
    assert (project["name"], project["identifier"]) == (name, name)
    assert project["description"] == "From the form"
    assert project["status"] == 1
    assert project["is_public"] is True
    assert project["parent"] == {"id": Project.SUPPORT, "name": "Support"}
    assert [module["name"] for module in project["enabled_modules"]] == ["issue_tracking"]
    values = {row["id"]: row["value"] for row in project["custom_fields"]}
    assert values[CustomField.CONTRACT_NUMBER] == "C-1"


def test_a_project_is_public_unless_said_otherwise(tracker: Tracker) -> None:
    identifier = unique()
    body = {"project": {"name": identifier, "identifier": identifier}}
    assert accepted(tracker.call("POST", "/projects.json", body))["project"]["is_public"] is True


def test_a_new_project_takes_issues_at_once(tracker: Tracker) -> None:
    project = accepted(tracker.create_project())["project"]
    assert tracker.issue(project_id=project["id"])["project"]["id"] == project["id"]


@pytest.mark.parametrize("identifier", ["Upper", "with space", "with.dot", "12345", "größe"])
def test_an_identifier_outside_the_rules_is_refused(tracker: Tracker, identifier: str) -> None:
    assert_rejected(tracker.create_project(identifier=identifier), "Identifier is invalid")


def test_an_identifier_of_100_characters_is_accepted_of_101_refused(tracker: Tracker) -> None:
    identifier = unique().ljust(100, "x")
    assert accepted(tracker.create_project(identifier=identifier))["project"]["identifier"] == identifier
    answer = tracker.create_project(identifier=identifier + "x")
    assert_rejected(answer, "Identifier is too long (maximum is 100 characters)")


def test_an_identifier_that_is_taken_or_empty_is_refused(tracker: Tracker) -> None:
    answer = tracker.create_project(identifier="support")
    assert_rejected(answer, "Identifier has already been taken")
    assert_rejected(tracker.create_project(identifier=""), "Identifier cannot be blank")


def test_an_identifier_that_is_a_route_is_refused(tracker: Tracker) -> None:
    assert_rejected(tracker.create_project(identifier="new"), "Identifier is reserved")


def test_a_name_may_be_taken_twice(tracker: Tracker) -> None:
    accepted(tracker.create_project(name="Same name"))
    accepted(tracker.create_project(name="Same name"))


def test_a_name_is_needed_and_has_255_characters_at_most(tracker: Tracker) -> None:
    assert_rejected(tracker.create_project(name=""), "Name cannot be blank")
    answer = tracker.create_project(name="x" * 256)
    assert_rejected(answer, "Name is too long (maximum is 255 characters)")


@pytest.mark.parametrize("parent", [Project.CLOSED, Project.ARCHIVED])
def test_a_parent_that_is_not_active_is_refused(tracker: Tracker, parent: Project) -> None:
    assert_rejected(tracker.create_project(parent_id=parent), "Subproject of is invalid")


def test_a_developer_may_not_create_projects(tracker: Tracker) -> None:
    assert_empty(tracker.create_project(su="alice"), 403)


def test_a_deleted_project_is_gone(tracker: Tracker) -> None:
    project = accepted(tracker.create_project())["project"]
    path = f"/projects/{project['id']}.json"
    assert_done(tracker.call("DELETE", path))
    tracker.wait_until_gone(path)
    assert_empty(tracker.call("GET", path), 404)
    assert_empty(tracker.call("DELETE", path), 404)
