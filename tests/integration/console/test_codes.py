"""Each refusal of the API has the code of what was wrong, and tells a stranger nothing of where things are."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests
from sqlalchemy.exc import OperationalError

from producer.admin.records.rights import Right
from producer.console.refusals import problem_of
from shared.codes.coded import Code, Coded
from shared.codes.invalid import Invalid
from shared.codes.refusals import Refusal
from shared.metadata.synchronisation import synchronise
from shared.store.configuration.configs import Configs
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

REFUSED: list[tuple[str, str, Any, int, Code]] = [
    ("GET", "/api/nowhere", None, 404, Refusal.ADDRESS_UNKNOWN),
    ("DELETE", "/api/config", None, 405, Refusal.METHOD_NOT_POSSIBLE),
    ("GET", "/api/trace/99", None, 404, Refusal.TICKET_UNKNOWN),
    ("GET", "/api/metadata/nothing", None, 404, Refusal.METADATA_PART_UNKNOWN),
    ("PUT", "/api/links/entities/9", {}, 422, Refusal.PROJECT_OR_CREATE),
    ("PUT", "/api/links/entities/9", {"tracker_project_id": "x"}, 422, Refusal.REQUEST_NOT_VALID),
    ("PATCH", "/api/config", {"nonsense": 1}, 422, Refusal.CONFIG_KEY_UNKNOWN),
    ("PATCH", "/api/config", {"api_key": " "}, 422, Refusal.API_KEY_EMPTY),
    ("PATCH", "/api/config", {"default_role_id": "abc"}, 422, Refusal.CONFIG_NOT_VALID),
    ("GET", "/ajax/template_test.php?action=dryrun", None, 405, Refusal.DRY_RUN_BY_GET),
    ("POST", "/ajax/template_test.php?action=preview", {}, 422, Refusal.OPERATION_AND_BODY),
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
    assert problem.why == Coded(Refusal.DATABASE_DOWN)
    assert b"db.internal" not in bytes(problem.response().body)
    ours = problem_of(ZeroDivisionError("secret"))
    assert (ours.why, b"secret" in bytes(ours.response().body)) == (Refusal.UNEXPECTED_ERROR(), False)


def test_a_database_that_is_down_is_told_to_who_has_no_token_yet(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("db.internal"))

    monkeypatch.setattr(Configs, "get", down)
    problem = console.refused("GET", "/api/config", 503)
    assert (problem["code"], problem["params"]) == (Refusal.DATABASE_DOWN, {})


@pytest.fixture
def visitor(console: Console, bridge: Bridge, come_in: ComeIn) -> Visitor:
    desk = console.app.state.desk
    assert synchronise(desk.store, desk.locks, desk.connector.connect)
    return come_in(Right.ADMINISTRATOR)


def named(answer: requests.Response) -> list[str]:
    """Return the fields that the list of faults above a form leads to."""
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
