"""What an API key gives access to, and how a tracker answers a wrong one (SPEC section 5)."""

from __future__ import annotations

import pytest

from tests.contract.seed import Issue, Project, key_of
from tests.contract.support import Json, Tracker, assert_empty

WRONG_KEYS = {"wrong": "0" * 40, "empty": "", "malformed": "not a key"}
LISTS = [
    "/projects.json?limit=100",
    "/trackers.json",
    "/issue_statuses.json",
    "/enumerations/issue_priorities.json",
    "/enumerations/time_entry_activities.json",
    "/roles.json",
    "/issues.json",
    "/time_entries.json",
    f"/projects/{Project.PUBLIC}.json",
]
GUARDED = [
    "/users.json",
    "/users/current.json",
    "/custom_fields.json",
    f"/projects/{Project.SUPPORT}/issue_categories.json",
    f"/projects/{Project.SUPPORT}.json",
    f"/issues/{Issue.SUPPORT}.json",
]
WRITES: list[tuple[str, str, Json]] = [
    ("POST", "/issues.json", {"issue": {"project_id": int(Project.PUBLIC), "subject": "never created"}}),
    ("PUT", f"/issues/{Issue.SUPPORT}.json", {"issue": {"status_id": 1}}),
    ("POST", "/time_entries.json", {"time_entry": {"issue_id": int(Issue.SUPPORT), "hours": 1}}),
    ("POST", "/projects.json", {"project": {"name": "never created", "identifier": "never-created"}}),
    (
        "POST",
        f"/projects/{Project.SUPPORT}/memberships.json",
        {"membership": {"user_id": 7, "role_ids": [4]}},
    ),
]

any_wrong_key = pytest.mark.parametrize("key", WRONG_KEYS.values(), ids=WRONG_KEYS)


@any_wrong_key
@pytest.mark.parametrize("path", LISTS)
def test_a_wrong_key_reads_lists_as_nobody_and_is_not_told(tracker: Tracker, path: str, key: str) -> None:
    assert tracker.call("GET", path, key=key).status_code == 200


@any_wrong_key
def test_a_wrong_key_sees_public_projects_only(tracker: Tracker, key: str) -> None:
    seen = {row["id"] for row in tracker.read("/projects.json?limit=100", key=key)["projects"]}
    assert Project.PUBLIC in seen
    assert not {Project.SUPPORT, Project.OTHER} & seen


@any_wrong_key
@pytest.mark.parametrize("path", GUARDED)
def test_a_wrong_key_is_401_where_a_person_is_needed(tracker: Tracker, path: str, key: str) -> None:
    answer = tracker.call("GET", path, key=key)
    assert_empty(answer, 401)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="Redmine API"'


@any_wrong_key
@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[write[1] for write in WRITES])
def test_a_wrong_key_is_401_on_every_write(
    tracker: Tracker, method: str, path: str, body: Json, key: str
) -> None:
    assert_empty(tracker.call(method, path, body, key=key), 401)


def test_a_key_is_case_sensitive(tracker: Tracker) -> None:
    assert_empty(tracker.call("GET", "/users/current.json", key=tracker.api_key.upper()), 401)


def test_a_key_says_whose_it_is(tracker: Tracker) -> None:
    admin = tracker.read("/users/current.json")["user"]
    alice = tracker.read("/users/current.json", key=key_of("alice"))["user"]
    assert (admin["login"], admin["admin"]) == ("admin", True)
    assert alice["login"] == "alice"
