"""Each refusal of the API has the code of its cause, and tells a stranger nothing about the system's internals."""

from __future__ import annotations

import asyncio
import html
import re
from typing import Any

import pytest
import requests
import structlog
from redis.exceptions import ConnectionError as RedisConnectionError
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console import monitoring, refusals
from producer.console.auth import guard
from producer.console.refusals import _answer, problem_of
from producer.http.problems import Problem
from shared.errors import TrackerRejected
from shared.metadata.synchronisation import synchronise
from shared.notices.access import AccessRefusal
from shared.notices.faults import Fault
from shared.notices.invalid import Invalid
from shared.notices.notice import Code, Notice
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.notices.system_refusals import SystemRefusal
from shared.store.configuration.configs import Configs
from tests.integration.console.conftest import TOKEN, ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

REFUSED: list[tuple[str, str, Any, int, Code]] = [
    ("GET", "/api/nowhere", None, 404, AccessRefusal.ADDRESS_UNKNOWN),
    ("DELETE", "/api/config", None, 405, AccessRefusal.METHOD_NOT_POSSIBLE),
    ("GET", "/api/trace/99", None, 404, Refusal.TICKET_UNKNOWN),
    ("GET", "/api/metadata/nothing", None, 404, Refusal.METADATA_PART_UNKNOWN),
    ("PUT", "/api/links/entities/9", {}, 422, AccessRefusal.PROJECT_OR_CREATE),
    ("PUT", "/api/links/entities/9", {"tracker_project_id": "x"}, 422, AccessRefusal.REQUEST_NOT_VALID),
    ("PATCH", "/api/config", {"nonsense": 1}, 422, Refusal.CONFIG_KEY_UNKNOWN),
    ("PATCH", "/api/config", {"api_key": " "}, 422, Refusal.API_KEY_EMPTY),
    ("PATCH", "/api/config", {"default_role_id": "abc"}, 422, Refusal.CONFIG_NOT_VALID),
    ("GET", "/ajax/template_test.php?action=dryrun", None, 405, AccessRefusal.DRY_RUN_BY_GET),
    ("POST", "/ajax/template_test.php?action=preview", {}, 422, AccessRefusal.OPERATION_AND_BODY),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED)
def test_a_refusal_has_its_code(
    console: Console, method: str, path: str, body: Any, status: int, code: Code
) -> None:
    assert console.refused(method, path, status, body)["code"] == code


def test_each_field_has_its_code(console: Console) -> None:
    body = {"default_role_id": "abc", "done_state": "x"}
    errors = console.refused("PATCH", "/api/config", 422, body)["errors"]
    assert {one["path"]: one["code"] for one in errors} == dict.fromkeys(body, Invalid.WHOLE_NUMBER_EXPECTED)


def test_of_a_database_that_is_down_a_stranger_learns_the_code_and_no_more() -> None:
    gone = OperationalError("SELECT secret", {}, Exception("could not connect to db.internal"))
    problem = problem_of(gone)
    assert problem.why == Notice(SystemRefusal.DATABASE_DOWN)
    assert b"db.internal" not in bytes(problem.response().body)
    ours = problem_of(ZeroDivisionError("secret"))
    assert (ours.why, b"secret" in bytes(ours.response().body)) == (SystemRefusal.UNEXPECTED_ERROR(), False)


def test_a_database_that_is_down_is_told_to_who_has_no_token_yet(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("db.internal"))

    monkeypatch.setattr(Configs, "get", down)
    problem = console.refused("GET", "/api/config", 503)
    assert (problem["code"], problem["params"]) == (SystemRefusal.DATABASE_DOWN, {})


@pytest.mark.parametrize(
    ("where", "asks"), [("user_of_session", "/console/events"), ("token_with", "/api/config")]
)
def test_why_nobody_can_tell_who_asks_is_logged_by_its_kind(
    console: Console, come_in: ComeIn, monkeypatch: pytest.MonkeyPatch, where: str, asks: str
) -> None:
    visitor = come_in(Right.VIEWER)
    theirs = type("CannotConnectNow", (Exception,), {"pgcode": "57P03"})("hidden-word at db.internal")

    def down(*_: object) -> None:
        raise OperationalError("SELECT", {}, theirs)

    monkeypatch.setattr(AccountStore, where, down)
    for module in (refusals, guard):
        monkeypatch.setattr(module, "log", structlog.get_logger())
    headers = {"Authorization": "Bearer another"}
    with structlog.testing.capture_logs() as lines:
        answer = visitor.http.get(console.base_url + asks, headers=headers, timeout=30)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "20")
    (line,) = (one for one in lines if one["log_level"] == "error")
    told = {name: line[name] for name in ("code", "params", "error", "state")}
    assert told == {
        "code": SystemRefusal.DATABASE_DOWN,
        "params": {},
        "error": "CannotConnectNow",
        "state": "57P03",
    }
    for secret in ("hidden-word", "db.internal"):
        assert secret not in f"{lines} {answer.text}"


@pytest.fixture
def visitor(console: Console, bridge: Bridge, come_in: ComeIn) -> Visitor:
    services = console.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    return come_in(Right.ADMINISTRATOR)


def named(answer: requests.Response) -> list[str]:
    """Return the fields that the list of faults above a form links to."""
    assert answer.status_code == 422
    above = answer.text.partition('id="faults"')[2].partition("</div>")[0]
    return re.findall(r'href="#(\w+)"', above)


def test_a_fault_stands_under_its_field_in_any_language(visitor: Visitor) -> None:
    for language in ("en", "fr"):
        visitor.do("/console/language", {"language": language})
        visitor.open("/console/links/entity/9")
        form = {"how": "old", "tracker_project_id": "1", "default_category_id": "3"}
        assert named(visitor.send("/console/links/entity/9", form)) == ["default_category_id"]
        form |= {"tracker_project_id": "999"}
        assert named(visitor.send("/console/links/entity/9", form)) == ["tracker_project_id"]
        visitor.open("/console/settings")
        (seen,) = re.findall(r'name="seen" value="(\w+)"', visitor.page)
        given = {"seen": seen, "verify_tls": "on", "base_url": "https://other.example"}
        assert named(visitor.send("/console/settings", given)) == ["base_url"]
        given = {"seen": seen, "verify_tls": "on", "api_key": "two words", "default_role_id": "99"}
        assert named(visitor.send("/console/settings", given)) == ["api_key"]
        del given["api_key"]
        assert named(visitor.send("/console/settings", given)) == ["default_role_id"]


@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b"[" * 100_000])
def test_a_body_that_cannot_be_read_has_its_code(console: Console, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    answer = requests.patch(f"{console.base_url}/api/config", body, headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["code"]) == (400, AccessRefusal.BODY_UNREADABLE)


def test_a_status_that_has_no_code_of_its_own_has_one_all_the_same() -> None:
    why = problem_of(HTTPException(418, "I'm a teapot")).why
    assert why == AccessRefusal.REQUEST_REFUSED(status=418)


def test_counts_that_are_not_known_in_time_have_their_code(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitoring, "WITHIN_S", 0)
    assert console.refused("GET", "/metrics", 503)["code"] == SystemRefusal.DATABASE_DOWN


def test_what_is_refused_by_a_page_is_said_in_its_language(visitor: Visitor) -> None:
    visitor.do("/console/language", {"language": "fr"})
    visitor.open("/console/templates/new?operation=issue.create")
    refused = visitor.send("/console/templates/new", {"operation": "issue.delete", "body": "{}"})
    assert (refused.status_code, "unknown operation" in refused.text) == (422, False)
    assert "issue.delete" in refused.text
    assert "issue.update_status" in refused.text


def test_the_rights_of_a_token_are_named_as_a_tokens(visitor: Visitor) -> None:
    visitor.open("/console/access")
    for path, whose in (
        ("tokens", "A token's role must be one of"),
        ("accounts", "An account's role must be one of"),
    ):
        refused = visitor.send(f"/console/access/{path}", {"name": "glpi", "right": "king"})
        assert (refused.status_code, whose in html.unescape(refused.text)) == (422, True)


def logged(error: Exception) -> dict[str, Any]:
    """Return what is logged for a request that fails with this error."""
    request = Request({"type": "http", "method": "GET", "path": "/api/x", "headers": [], "server": ("x", 1)})
    with structlog.testing.capture_logs() as lines:
        asyncio.run(_answer(request, error))
    (line,) = lines
    return dict(line)


def test_what_a_stranger_is_not_told_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "log", structlog.get_logger())
    refused = TrackerRejected("POST", "/issues.json", status=422, errors=["Subject is too long"])
    line = logged(refused)
    assert (line["code"], line["params"]["path"]) == (Fault.TRACKER_REJECTED, "/issues.json")
    assert "Subject is too long" in line["reason"]
    line = logged(RedisConnectionError("Error 111 connecting to redis.internal:6379"))
    assert (line["code"], "redis.internal" in line["reason"]) == (SystemRefusal.REDIS_DOWN, True)
    theirs = Exception("hidden-word")
    theirs.pgcode = "08006"  # type: ignore[attr-defined]
    line = logged(OperationalError("SELECT", {}, theirs))
    assert (line["code"], line["error"], line["state"]) == (SystemRefusal.DATABASE_DOWN, "Exception", "08006")
    assert "hidden-word" not in str(line)
    line = logged(Problem(503, "Not now", why=SystemRefusal.TABLE_LOCKED()))
    assert (line["code"], line["reason"]) == (
        SystemRefusal.TABLE_LOCKED,
        sentence(SystemRefusal.TABLE_LOCKED()),
    )


def test_what_is_wrong_with_a_template_is_said_in_french(visitor: Visitor) -> None:
    visitor.do("/console/language", {"language": "fr"})
    visitor.open("/console/templates/new?operation=issue.create")
    for body, told in (
        (
            '{"issue": {"subject": "{{ticket.titel}}"}}',
            "variable inconnue ; vouliez-vous dire ticket.title ?",
        ),
        ('{"issue": {"project_id": []}}', "project_id doit être un entier, et non une liste"),
        (
            '{"issue": {"subject": "a", "project_id": 3}}',
            "issue.project_id diffère du projet de la correspondance",
        ),
        ('{"issue": {"priority_id": 99, "subject": "a"}}', "Redmine n’a pas de priorité 99"),
    ):
        answer = visitor.send("/console/templates/preview", {"operation": "issue.create", "body": body})
        assert any(told in one["text"] for one in answer.json()["told"]), answer.text
