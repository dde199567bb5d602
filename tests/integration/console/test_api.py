"""The console's API."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from producer.http.bodies import LARGEST_BODY
from shared.notices.cautions import Caution
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from tests.integration.console.conftest import OLD_TOKEN, TOKEN, ComeIn, Console
from tests.support.bridge import SUPPORT, Bridge
from tests.support.events import SUPPORT_ENTITY, task_event

PATHS = ["/api/links", "/api/events", "/api/config", "/api/openapi.json", "/api/nothing"]


@pytest.mark.promise("SEC-22")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "tökén".encode().decode("latin-1")]
)
def test_nothing_is_shown_without_a_token(console: Console, path: str, token: str | None) -> None:
    problem = console.refused("GET", path, 401, token=token)
    assert problem["title"] == "Not signed in"
    assert "WWW-Authenticate" in console.ask("GET", path, token=token).headers


def test_only_bearer_tokens_are_taken_and_each_of_them(console: Console) -> None:
    assert console.ask("GET", "/api/links", token=OLD_TOKEN).status_code == 200
    basic = console.http.get(console.base_url + "/api/links", auth=("x", TOKEN), timeout=10)
    assert basic.status_code == 401
    assert console.ask("GET", "/healthz", token=None).status_code == 200


def test_a_body_that_is_too_large_is_not_read(console: Console) -> None:
    answer = console.ask("PATCH", "/api/config", data=b" " * (LARGEST_BODY + 1))
    assert answer.status_code == 413


def test_a_compressed_body_is_refused_as_such_and_a_byte_order_mark_is_accepted(console: Console) -> None:
    body, path = b'{"tracker_project_id": 1}', "/api/links/entities/9"
    address, named = (
        console.base_url + path,
        {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
    )
    packed = named | {"Content-Encoding": "gzip"}
    answer = console.http.put(address, data=gzip.compress(body), headers=packed, timeout=30)
    assert (answer.status_code, answer.json()["title"]) == (415, "Content-Encoding is not supported")
    marked = console.http.put(address, data=b"\xef\xbb\xbf" + body, headers=named, timeout=30)
    assert marked.status_code == 200


def test_openapi_lists_every_route(console: Console) -> None:
    paths = console.get("/api/openapi.json")["paths"]
    assert set(paths) == {
        "/api/links",
        "/api/links/projects/{helpdesk_id}",
        "/api/links/entities/{helpdesk_id}",
        "/api/events",
        "/api/held",
        "/api/hours",
        "/api/misattributed",
        "/api/trace/{ticket_id}",
        "/api/tickets/{ticket_id}",
        "/api/changes",
        "/api/config",
        "/api/metadata",
        "/api/metadata/sync",
        "/api/metadata/{part}",
        "/api/trial",
        "/api/templates",
        "/api/templates/variables",
        "/api/templates/fields",
        "/api/templates/generate",
        "/api/templates/left",
        "/api/templates/{template_id}",
        "/api/templates/{template_id}/history",
        "/api/templates/{template_id}/activate",
        "/api/templates/{template_id}/deactivate",
        "/api/templates/{template_id}/rollback",
        "/ajax/template_test.php",
        "/api/user-map",
        "/api/user-map/{helpdesk_user_id}",
        "/api/user-map/{helpdesk_user_id}/confirm",
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("POST", "/api/links", 405),
        ("GET", "/api/links/projects/12", 404),
        ("GET", "/api/links/projects/0", 422),
        ("GET", "/api/links/entities/x", 422),
        ("DELETE", "/api/links/entities/99", 404),
        ("GET", "/api/trace/99", 404),
        ("GET", "/api/events?state=nonsense", 422),
        ("GET", "/api/events?limit=0", 422),
        ("GET", "/api/metadata/nonsense", 404),
        ("DELETE", "/api/user-map/99", 404),
        ("GET", f"/api/trace/{2**63}", 422),
    ],
)
def test_every_refusal_is_a_problem_document(console: Console, method: str, path: str, status: int) -> None:
    console.refused(method, path, status)


def test_a_link_is_put_shown_and_deleted(console: Console) -> None:
    console.do("POST", "/api/metadata/sync")
    put = console.do("PUT", "/api/links/projects/12", {"tracker_project_id": 1, "default_category_id": 2})
    link = {"kind": "project", "id": 12, "tracker_project_id": 1, "default_category_id": 2}
    assert put | link == put
    assert (put["created"], put["confirmed"]) == (False, True)
    assert put["metadata"] == {"ok": True, "error": None, "code": None, "params": {}}
    address = console.get("/api/config")["base_url"] + "/projects/1"
    shown = console.get("/api/links/projects/12")
    named = {**link, "name": None, "project": "Support"}
    assert shown == {**named, "url": address}
    assert named in console.get("/api/links")
    console.do("DELETE", "/api/links/projects/12", status=204)
    console.refused("GET", "/api/links/projects/12", 404)


@pytest.mark.parametrize(("project_id", "codes"), [(6, ["linked_to_no_project"]), (1, [])])
def test_a_link_that_nothing_could_confirm_is_confirmed_by_the_read_that_follows(
    console: Console, project_id: int, codes: list[str]
) -> None:
    """Project 6 is closed."""
    put = console.do("PUT", "/api/links/projects/12", {"tracker_project_id": project_id})
    assert put["confirmed"] is False
    assert [one["code"] for one in put["cautions"]] == codes
    assert len(put["warnings"]) == len(codes)


def test_a_category_that_is_left_out_stays_and_null_removes_it(console: Console) -> None:
    console.do("POST", "/api/metadata/sync")

    def category_after(**body: Any) -> object:
        return console.do("PUT", "/api/links/projects/12", {"tracker_project_id": 1, **body})[
            "default_category_id"
        ]

    assert category_after(default_category_id=2) == 2
    assert category_after() == 2
    assert category_after(replay=True) == 2
    assert category_after(default_category_id=None) is None


def test_a_project_is_created_with_a_category_in_one_form(console: Console, stand_in: StandIn) -> None:
    console.do("POST", "/api/metadata/sync")
    form = {"create": {"name": "Lab", "identifier": "lab"}, "default_category_id": 7}
    told = console.do("PUT", "/api/links/projects/12", form, status=201)
    assert (told["created"], told["default_category_id"]) == (True, None)
    (caution,) = told["cautions"]
    assert told["warnings"] == [caution["reason"]]
    assert caution["code"] == Caution.LINKED_WITHOUT_CATEGORY
    assert caution["params"]["problem"]["params"]["category_id"] == 7
    stand_in.patch("categories", 2, project_id=told["tracker_project_id"])
    again = console.do("PUT", "/api/links/projects/12", {**form, "default_category_id": 2})
    assert (again["created"], again["default_category_id"], again["warnings"]) == (False, 2, [])
    assert console.get("/api/links/projects/12")["default_category_id"] == 2


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({}, "either"),
        ({"tracker_project_id": 1, "create": {}}, "either"),
        ({"tracker_project_id": 6}, "closed"),
        ({"tracker_project_id": 1, "default_category_id": 3}, "Hardware"),
        ({"tracker_project_id": "1"}, "tracker_project_id"),
        ({"tracker_project_id": 0}, "tracker_project_id"),
        ({"colour": 1}, "colour"),
        ([], "body"),
        ({"create": {}}, "create.name"),
        ({"create": {"name": "x", "identifier": "Ä"}}, "create.identifier"),
    ],
)
def test_a_link_that_cannot_be_made_says_why(console: Console, body: Any, what: str) -> None:
    console.do("POST", "/api/metadata/sync")
    assert what in str(console.refused("PUT", "/api/links/entities/9", 422, body))


def test_a_project_is_created_once_and_the_trackers_refusal_comes_back_by_field(
    console: Console, stand_in: StandIn
) -> None:
    console.do("POST", "/api/metadata/sync")
    wanted = {"create": {"name": "Lab", "identifier": "LAB", "custom_field_values": {"2": "C-1"}}}
    made = console.do("PUT", "/api/links/entities/9", wanted, status=201)
    again = console.do("PUT", "/api/links/entities/9", wanted)
    assert (made["created"], again["created"]) == (True, False)
    assert made["tracker_project_id"] == again["tracker_project_id"]
    stand_in.settings(required_custom_fields=[2])
    problem = console.refused(
        "PUT", "/api/links/entities/8", 422, {"create": {"name": "B", "identifier": "b"}}
    )
    told = "Cost centre cannot be blank"
    assert problem["errors"] == [
        {
            "path": "create.custom_field_values.2",
            "detail": told,
            "code": "as_written",
            "params": {"text": told},
        }
    ]
    assert problem["code"] == Refusal.FORM_NOT_VALID


def test_a_tracker_that_is_away_is_a_bad_gateway(console: Console, bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", status=500)
    assert "500" in console.refused("POST", "/api/metadata/sync", 502)["detail"]
    wanted = {"create": {"name": "Lab", "identifier": "lab"}}
    console.refused("PUT", "/api/links/entities/9", 502, wanted)
    bridge.configure(base_url=None)
    assert "config set" in console.refused("PUT", "/api/links/entities/9", 409, wanted)["detail"]


def test_events_held_and_trace_have_the_shapes_of_the_command_line(console: Console, bridge: Bridge) -> None:
    bridge.forward(task_event())
    (event,) = console.get("/api/events")
    assert (event["key"], event["state"], event["occurred_at"]) == (
        "ticket-task:512",
        "done",
        "2026-01-05T09:00:00Z",
    )
    assert console.get("/api/events?state=failed") == []
    assert len(console.get("/api/events?ticket=4711&limit=1")) == 1
    assert console.get("/api/held") == []
    trace = console.get("/api/trace/4711")
    assert trace["link"]["tracker_project_id"] == SUPPORT
    assert trace["ticket_tasks"][0]["task_id"] == 512


def test_the_configuration_is_changed_and_the_key_only_ever_written(console: Console, bridge: Bridge) -> None:
    console.do("POST", "/api/metadata/sync")
    shown = console.get("/api/config")
    assert shown["api_key"] == "stored"
    changed = console.do(
        "PATCH", "/api/config", {"status_map": {"1": 2}, "default_role_id": None, "api_key": "new-key"}
    )
    assert changed["config"]["status_map"] == {"1": 2}
    assert changed["config"]["default_role_id"] is None
    assert "new-key" not in str(changed)
    with bridge.store.transaction() as tx:
        config, encrypted = tx.configs.get()
    assert config.status_map == {1: 2}
    assert encrypted
    assert "new-key" not in encrypted


@pytest.mark.parametrize("is_taken", [True, False])
@pytest.mark.parametrize("door", ["api", "page"])
def test_a_key_that_the_tracker_takes_ends_the_pause(
    console: Console, bridge: Bridge, stand_in: StandIn, come_in: ComeIn, door: str, is_taken: bool
) -> None:
    bridge.breaker.begin(written("the tracker refuses the key"), 60)
    key = stand_in.api_key if is_taken else "of-nobody"
    if door == "api":
        told = console.do("PATCH", "/api/config", {"api_key": key})["warnings"]
    else:
        visitor = come_in(Right.ADMINISTRATOR)
        visitor.open("/console/settings")
        (seen,) = re.findall(r'name="seen" value="(\w+)"', visitor.page)
        told = visitor.send(
            "/console/settings", {"seen": seen, "api_key": key, "verify_tls": "on"}, follow=True
        ).text
    assert ("it cannot be used yet" in str(told)) is not is_taken
    assert (bridge.breaker.current() is None) is is_taken


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"default_tracker_id": 99}, "1 (Bug)"),
        ({"nonsense": 1}, "nonsense"),
        ({"api_key": "two words", "default_role_id": 3}, "API key"),
        ({"api_key": 7}, "API key"),
        ({"done_state": "x"}, "done_state"),
        ([1], "body"),
    ],
)
def test_a_wrong_value_changes_nothing(console: Console, body: Any, what: str) -> None:
    console.do("POST", "/api/metadata/sync")
    before = console.get("/api/config")
    assert what in str(console.refused("PATCH", "/api/config", 422, body))
    assert console.get("/api/config") == before


def test_metadata_is_shown_in_parts(console: Console, stand_in: StandIn) -> None:
    empty = console.get("/api/metadata")
    assert (empty["counts"]["projects"], empty["synchronised_at"]) == (0, None)
    stand_in.patch("projects", 2, name="Café 🚒")
    told = console.do("POST", "/api/metadata/sync")
    assert "Café 🚒" in told["differences"]["projects"]["added"]
    shown = console.get("/api/metadata")
    assert (shown["counts"]["projects"], shown["counts"]["users"], shown["runs"][0]["ok"]) == (5, 6, True)
    assert {
        "id": 2,
        "name": "Café 🚒",
        "identifier": "support-public",
        "parent_id": None,
        "is_public": True,
    } in (console.get("/api/metadata/projects"))
    assert [one["name"] for one in console.get("/api/metadata/categories?project=1")] == [
        "Hardware",
        "Software",
    ]
    assert console.get("/api/metadata/users")[0]["login"] == "admin"


def test_people_are_mapped_and_unmapped(console: Console, bridge: Bridge) -> None:
    bridge.forward(task_event())
    (alice,) = console.get("/api/user-map")
    assert (alice["helpdesk_user_id"], alice["by"], alice["login"]) == (7, "e-mail", "alice")
    assert (alice["new"], alice["waits"]) == (True, False)
    assert not console.do("POST", "/api/user-map/7/confirm")["new"]
    assert not console.get("/api/user-map")[0]["new"]
    console.refused("POST", "/api/user-map/99/confirm", 404)
    console.do("PUT", "/api/user-map/7", {"tracker_user_id": 6})
    (mapped,) = console.get("/api/user-map")
    assert (mapped["by"], mapped["login"]) == ("override", "bob")
    console.refused("PUT", "/api/user-map/7", 422, {"tracker_user_id": 99})
    console.do("DELETE", "/api/user-map/7", status=204)
    assert console.get("/api/user-map")[0]["by"] == "e-mail"


def test_linking_with_replay_sends_what_had_been_skipped(console: Console, bridge: Bridge) -> None:
    console.do("POST", "/api/metadata/sync")
    console.do("DELETE", f"/api/links/entities/{SUPPORT_ENTITY}", status=204)
    assert bridge.forward(task_event()) == ["skipped"]
    put = console.do(
        "PUT", f"/api/links/entities/{SUPPORT_ENTITY}", {"tracker_project_id": 1, "replay": True}
    )
    assert (put["skipped_events"], put["replayed"]) == (1, True)
    assert console.get("/api/events")[0]["state"] == "pending"


def test_a_monitor_needs_no_token_and_is_told_no_name(console: Console, bridge: Bridge) -> None:
    bridge.forward(task_event())
    assert console.ask("GET", "/livez", token=None).json() == {"status": "ok"}
    ready = console.ask("GET", "/readyz", token=None)
    assert (ready.status_code, ready.json()) == (200, {"database": "ok", "redis": "ok"})
    shown = console.ask("GET", "/metrics", token=None)
    assert shown.headers["Content-Type"].startswith("text/plain")
    assert "deskbridge_events_pending 0.0" in shown.text.splitlines()
    assert "alice" not in shown.text
    console.refused("POST", "/metrics", 405)


def test_without_its_database_the_console_lives_and_is_not_ready(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.store.tables.database.Database.takes_writes", lambda _self: False)
    assert console.ask("GET", "/livez", token=None).status_code == 200
    assert console.ask("GET", "/readyz", token=None).status_code == 503
