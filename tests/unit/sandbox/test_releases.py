"""How the stand-in differs as Redmine 5.0, 6.0 and 6.1; the contract tests show most of it on real ones too."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker import fields
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.releases import RELEASES
from tests.unit.sandbox.conftest import Api


@pytest.fixture(params=RELEASES)
def api_of(request: pytest.FixtureRequest) -> tuple[Api, str]:
    """The stand-in's API with fresh data, and the Redmine version that it imitates."""
    made = Api()
    made.tracker.settings.redmine = request.param
    return made, request.param


@pytest.mark.parametrize(
    ("seconds", "decimals", "minutes"),
    [
        (17, 0.0, 0.0),
        (29, 0.01, 0.0),
        (30, 0.01, 0.02),
        (5429, 1.51, 1.5),
        (5430, 1.51, 1.52),
        (5460, 1.52, 1.52),
    ],
)
def test_hours_are_listed_as_the_version_rounds_them(seconds: int, decimals: float, minutes: float) -> None:
    listed = {name: fields.listed_hours(seconds / 3600, one) for name, one in RELEASES.items()}
    assert listed == {"5.0": decimals, "6.0": minutes, "6.1": minutes}


@pytest.mark.parametrize(
    ("seconds", "taken"), [(17, set()), (18, {"5.0"}), (29, {"5.0"}), (30, set(RELEASES))]
)
def test_what_a_version_rounds_to_zero_is_refused_where_zero_is(
    api_of: tuple[Api, str], seconds: int, taken: set[str]
) -> None:
    api, version = api_of
    api.tracker.settings.accept_zero_hours = False
    assert api.time(hours=seconds / 3600)[0] == (201 if version in taken else 422)


def test_time_on_a_closed_issue_is_refused_where_the_version_has_the_setting(api_of: tuple[Api, str]) -> None:
    api, version = api_of
    api.tracker.settings.closed_issues_take_time = False
    assert api.time()[0] == 201
    api.tracker.issues[1].status_id = 5
    status, answered = api.time()
    if version == "6.1":
        assert (status, answered) == (422, {"errors": ["Cannot log time on a closed issue"]})
    else:
        assert status == 201


def test_a_deleted_project_is_there_for_a_moment_on_newer_versions(api_of: tuple[Api, str]) -> None:
    api, version = api_of
    api.tracker.settings.deletion_s = 60.0
    assert api.send("DELETE", "/projects/1.json")[0] == 204
    status, answered = api.send("GET", "/projects/1.json")
    if version == "5.0":
        assert status == 404
        return
    assert (status, answered["project"]["status"]) == (200, 10)
    listed = [api.send("GET", f"/projects.json{query}")[1]["projects"] for query in ("", "?status=10")]
    assert all(row["id"] != 1 for rows in listed for row in rows)
    assert api.issue()[0] == 422
    assert api.send("PUT", "/issues/1.json", {"issue": {"status_id": 2}})[0] == 403
    taken = {"project": {"name": "again", "identifier": "support"}}
    assert api.send("POST", "/projects.json", taken)[1] == {"errors": ["Identifier has already been taken"]}
    for project in api.tracker.projects.values():
        project.ends = project.ends and 0.0
    assert api.send("GET", "/projects/1.json")[0] == 404
    assert api.send("POST", "/projects.json", taken)[0] == 201


@pytest.mark.parametrize(("query", "found"), [("admin=1", {"admin"}), ("mail=alice@example.test", {"alice"})])
def test_newer_versions_filter_users(api_of: tuple[Api, str], query: str, found: set[str]) -> None:
    api, version = api_of
    rows = api.send("GET", f"/users.json?{query}")[1]["users"]
    assert ({row["login"] for row in rows} == found) == (version != "5.0")


def test_an_unknown_address_is_a_page_or_nothing(api_of: tuple[Api, str]) -> None:
    api, version = api_of
    status, page = api.send("GET", "/nowhere.json", accept="*/*")
    assert (status, page is None) == (404, version != "5.0")


def test_the_version_is_one_that_there_is(stand_in: StandIn) -> None:
    assert stand_in.settings(redmine="6.1")["redmine"] == "6.1"
    with pytest.raises(ValueError, match=r"redmine must be one of 5\.0, 6\.0, 6\.1"):
        stand_in.settings(redmine="4.2")


def test_the_command_line_chooses_the_version() -> None:
    with StandIn(arguments=["--redmine", "6.0"]) as running:
        assert running.settings()["redmine"] == "6.0"


def test_where_the_database_refuses_a_second_identifier_no_race_makes_one(api_of: tuple[Api, str]) -> None:
    api, version = api_of
    api.tracker.settings.duplicate_identifiers_race = True
    for project in api.tracker.projects.values():
        project.committed = 1e12  # committed while the request was under way
    body: dict[str, Any] = {"project": {"name": "again", "identifier": "support"}}
    assert api.send("POST", "/projects.json", body)[0] == (422 if version == "6.1" else 201)
