"""How the stand-in handles time entries, memberships, projects, keys and bodies."""

from __future__ import annotations

import time
from typing import Any

import pytest

from deploy.sandbox.tracker import fields
from deploy.sandbox.tracker.access import Request, answer
from deploy.sandbox.tracker.seed import DEFAULT_KEY, user_key


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (1.5, 1.5),
        (0, 0.0),
        (0.001, 0.0),
        (1 / 3, 0.33),
        (0.005, 0.01),
        (2.675, 2.68),
        (16.6666666, 16.67),
        ("1,5", 1.5),
        ("1:30", 1.5),
        ("1h30", 1.5),
        ("1.5", 1.5),
    ],
)
def test_hours_are_shown_with_two_decimals(api: Any, given: object, shown: float) -> None:
    status, answered = api.time(hours=given)
    assert (status, answered["time_entry"]["hours"]) == (201, shown)


def test_two_decimals_agree_with_decimal_rounding_for_whole_seconds() -> None:
    assert [fields.two_decimals(seconds / 3600) for seconds in (18, 54, 90, 126, 5400)] == [
        0.01,
        0.02,
        0.03,
        0.04,
        1.5,
    ]


@pytest.mark.parametrize(
    ("changed", "errors"),
    [
        ({"activity_id": 10}, ["Activity is not included in the list"]),
        ({"activity_id": 12}, ["Activity is not included in the list"]),
        ({"activity_id": 13}, ["Activity is not included in the list"]),
        ({"activity_id": None}, ["Activity cannot be blank"]),
        ({"hours": -1}, ["Hours is invalid"]),
        ({"hours": "abc"}, ["Hours is invalid"]),
        ({"hours": None}, ["Hours cannot be blank"]),
        (
            {"hours": 1000},
            ["Cannot log more than 999:00 hours on the same day (0:00 hours have already been logged)"],
        ),
        ({"comments": "x" * 1025}, ["Comment is too long (maximum is 1024 characters)"]),
        ({"issue_id": 99}, ["Project cannot be blank", "Project is invalid", "Issue is invalid"]),
        ({"issue_id": 2}, ["Issue is invalid"]),
        ({"issue_id": 3}, ["Issue is invalid"]),
        ({"issue_id": 5}, ["Issue is invalid"]),
        ({"project_id": 4}, ["Issue is invalid"]),
        ({"spent_on": "bad"}, ["Date cannot be blank", "Date is not a valid date"]),
        ({"user_id": 7}, ["User is invalid"]),
    ],
)
def test_refused_time_says_why(api: Any, changed: dict[str, object], errors: list[str]) -> None:
    assert api.time(**changed) == (422, {"errors": errors})
    assert not api.tracker.time_entries


def test_a_projects_own_row_of_an_activity_works_in_place_of_the_global_one(api: Any) -> None:
    api.tracker.activities[13].active = True
    assert (api.time(activity_id=13)[0], api.time(activity_id=10)[0]) == (201, 422)


@pytest.mark.parametrize(
    ("su", "issue_id", "expected"), [("erin", 1, 201), ("carol", 1, 403), ("mallory", 1, 422)]
)
def test_time_is_logged_as_the_impersonated_user(api: Any, su: str, issue_id: int, expected: int) -> None:
    assert api.time(su=su, issue_id=issue_id)[0] == expected


def test_the_administrator_may_log_a_members_time_and_a_developer_may_not(api: Any) -> None:
    assert api.time(user_id=5)[1]["time_entry"]["user"]["name"] == "Alice Archer"
    assert api.time(user_id=6, su="alice")[1] == {"errors": ["User is invalid"]}


def test_switches_refuse_zero_hours_and_missing_comments(api: Any) -> None:
    api.tracker.settings.accept_zero_hours = False
    api.tracker.settings.require_comments = True
    assert api.time(hours=0.004, comments=" ") == (
        422,
        {"errors": ["Comment cannot be blank", "Hours is invalid"]},
    )


def test_a_membership_is_made_once_and_counts_at_once(api: Any) -> None:
    body = {"membership": {"user_id": 7, "role_ids": [4, 999]}}
    assert api.issue(su="carol")[0] == 422
    status, shown = api.send("POST", "/projects/1/memberships.json", body)
    assert (status, shown["membership"]["roles"]) == (201, [{"id": 4, "name": "Developer"}])
    assert api.issue(su="carol")[0] == 201
    assert api.send("POST", "/projects/1/memberships.json", body)[1] == {
        "errors": ["User has already been taken"]
    }


@pytest.mark.parametrize(
    ("project", "membership", "su", "expected"),
    [
        (1, {"user_id": 99, "role_ids": [4]}, None, 422),
        (1, {"user_id": 7, "role_ids": [1]}, None, 422),
        (1, {"user_id": 10, "role_ids": [4]}, None, 201),
        ("support", {"user_id": 7, "role_ids": [4]}, None, 201),
        (4, {"user_id": 7, "role_ids": [4]}, "mallory", 201),
        (1, {"user_id": 7, "role_ids": [4]}, "alice", 403),
        (6, {"user_id": 7, "role_ids": [4]}, None, 403),
        (7, {"user_id": 7, "role_ids": [4]}, None, 403),
        (99, {"user_id": 7, "role_ids": [4]}, None, 404),
        (1, None, None, 500),
    ],
)
def test_memberships_answer_as_the_tracker_does(
    api: Any, project: object, membership: object, su: str | None, expected: int
) -> None:
    body = {} if membership is None else {"membership": membership}
    assert api.send("POST", f"/projects/{project}/memberships.json", body, su=su)[0] == expected


@pytest.mark.parametrize(
    ("identifier", "errors"),
    [
        ("ABC", ["Identifier is invalid"]),
        ("123", ["Identifier is invalid"]),
        ("new", ["Identifier is reserved"]),
        ("support", ["Identifier has already been taken"]),
        ("x" * 101, ["Identifier is too long (maximum is 100 characters)"]),
        (None, ["Identifier cannot be blank"]),
        ("-abc", None),
        ("1_a", None),
    ],
)
def test_project_identifiers_are_checked(api: Any, identifier: str | None, errors: list[str] | None) -> None:
    status, shown = api.send("POST", "/projects.json", {"project": {"name": "N", "identifier": identifier}})
    assert (status, shown.get("errors")) == (422 if errors else 201, errors)


@pytest.mark.parametrize(("parent_id", "expected"), [(1, 201), (6, 422), (7, 422), (99, 500)])
def test_a_parent_project_must_be_active(api: Any, parent_id: int, expected: int) -> None:
    body = {"project": {"name": "N", "identifier": "n", "parent_id": parent_id}}
    assert api.send("POST", "/projects.json", body)[0] == expected


def test_concurrent_creations_of_one_identifier_succeed_only_in_the_race(api: Any) -> None:
    arrived = time.monotonic()
    body = b'{"project": {"name": "N", "identifier": "twin"}}'
    headers = {"x-redmine-api-key": DEFAULT_KEY, "content-type": "application/json"}

    def create() -> int:
        return answer(api.tracker, Request("POST", "/projects.json", "", headers, body, arrived)).status

    assert (create(), create()) == (201, 422)
    api.tracker.settings.duplicate_identifiers_race = True
    assert create() == 201


def test_a_closed_project_reads_and_an_archived_one_does_not(api: Any) -> None:
    assert api.send("PUT", "/projects/1/close.json") == (204, None)
    assert (api.send("GET", "/projects/1.json")[0], api.issue()[0]) == (200, 422)
    assert api.send("PUT", "/projects/1/archive.json") == (204, None)
    assert api.send("GET", "/projects/1.json") == (403, None)


OPEN_LISTS = ["projects", "trackers", "issue_statuses", "roles", "issues", "time_entries"]


@pytest.mark.parametrize(
    "name", [*OPEN_LISTS, "enumerations/issue_priorities", "enumerations/time_entry_activities"]
)
def test_lists_answer_an_invalid_key_as_anonymous_unless_a_login_is_required(api: Any, name: str) -> None:
    assert api.send("GET", f"/{name}.json", key="wrong")[0] == 200
    api.tracker.settings.login_required = True
    assert api.send("GET", f"/{name}.json", key="wrong")[0] == 401


def test_an_anonymous_caller_sees_public_projects_only(api: Any) -> None:
    assert [p["id"] for p in api.send("GET", "/projects.json", key=None)[1]["projects"]] == [2]


@pytest.mark.parametrize(("rest", "expected"), [(True, 401), (False, 403)])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/users.json"),
        ("GET", "/users/current.json"),
        ("GET", "/custom_fields.json"),
        ("POST", "/issues.json"),
    ],
)
def test_the_rest_needs_a_key_and_rest_switched_on(
    api: Any, rest: bool, expected: int, method: str, path: str
) -> None:
    api.tracker.settings.rest_enabled = rest
    assert api.send(method, path, key=DEFAULT_KEY.upper() if rest else DEFAULT_KEY) == (expected, None)


def test_a_key_of_no_administrator_ignores_the_switch_header(api: Any) -> None:
    body = {"issue": {"project_id": 1, "subject": "S"}}
    for login in ("mallory", "nobody"):
        answered = api.send("POST", "/issues.json", body, key=user_key("bob"), su=login)
        assert answered[1]["issue"]["author"]["name"] == "Bob Baker"
    assert api.send("GET", "/users.json", key=user_key("bob")) == (403, None)


def test_both_header_dialects_work(api: Any) -> None:
    body = {"issue": {"project_id": 1, "subject": "S"}}
    headers = {"x_tracker_api_key": DEFAULT_KEY, "x_tracker_switch_user": "bob"}
    assert api.send("POST", "/issues.json", body, key=None, **headers)[1]["issue"]["author"]["id"] == 6


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"issue":', 400),
        (b"\xff\xfe", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b'{"issue": {"subject": NaN}}', 400),
        (b'{"issue": {"subject": "\\ud800"}}', 400),
        (b"[" * 200 + b"]" * 200, 400),
        (b"[]", 422),
        (b"{}", 422),
        (b"", 422),
        (b'{"issue": "x"}', 500),
    ],
)
def test_odd_bodies_answer_as_the_tracker_does(api: Any, body: bytes, expected: int) -> None:
    assert api.send("POST", "/issues.json", body)[0] == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [("application/json; charset=utf-8", 201), ("text/plain", 422), ("application/xml", 400)],
)
def test_a_body_counts_only_as_json(api: Any, content_type: str, expected: int) -> None:
    body = {"issue": {"project_id": 1, "subject": "S"}}
    assert api.send("POST", "/issues.json", body, content_type=content_type)[0] == expected


def test_an_unknown_address_is_a_page_to_those_who_take_html(api: Any) -> None:
    assert "<html>" in api.send("GET", "/nothing.json", accept="*/*")[1]
    assert api.send("GET", "/nothing.json")[0] == 404
