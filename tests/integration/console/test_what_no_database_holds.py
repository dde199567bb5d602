"""Texts that PostgreSQL refuses (U+0000, lone surrogates) cause no internal error in any part of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.routing import Route

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.app import create_console
from tests.integration.console.conftest import TOKEN, Console
from tests.integration.console.pages import PASSWORD, SAME_ORIGIN, Visitor
from tests.support.bridge import Bridge

FIELDS = (
    *("act", "after", "body", "code", "event", "find", "id", "key", "kind", "name", "next", "number", "only"),
    *("operation", "password", "project", "q", "right", "since", "state", "ticket", "until", "upto", "who"),
)
STRANGE = ("a\x00b", "a\ud800b")


@pytest.fixture
def console(bridge_on_postgresql: Bridge) -> Iterator[Console]:
    AccountStore(bridge_on_postgresql.store).add("claire", PASSWORD, Right.ADMINISTRATOR)
    tokens = (SecretStr(TOKEN),)
    settings = bridge_on_postgresql.settings.model_copy(update={"console_tokens": tokens})
    running = Console(create_console(settings))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def visitor(console: Console) -> Iterator[Visitor]:
    made = Visitor(console.base_url)
    made.sign_in("claire")
    made.open("/console")
    yield made
    made.close()


def pages(console: Console, method: str) -> list[str]:
    """Return the pages' routes with this method; those that end the session come last."""
    routes = [
        one.path
        for one in console.app.router.routes
        if isinstance(one, Route) and one.path.startswith("/console") and method in (one.methods or ())
    ]
    return sorted(routes, key=lambda path: "sign" in path)


@pytest.mark.promise("SEC-74")
@pytest.mark.parametrize("part", ["7", "a%00b"])
def test_no_page_fails_over_an_address(console: Console, visitor: Visitor, part: str) -> None:
    query = "&".join(f"{name}=a%00b" for name in FIELDS)
    asked = [re.sub(r"\{[^}]+\}", part, path) for path in pages(console, "GET")]
    assert len(asked) > 20
    for path in asked:
        answer = visitor.http.get(
            f"{visitor.base_url}{path}?{query}", headers=SAME_ORIGIN, allow_redirects=False, timeout=30
        )
        assert answer.status_code < 500, (path, answer.text[-300:])


@pytest.mark.promise("SEC-74")
@pytest.mark.parametrize("strange", ["a%00b", "a\x00b", "a%ED%A0%80b"])
def test_no_page_fails_over_a_form(console: Console, visitor: Visitor, strange: str) -> None:
    form = "&".join([f"form_token={visitor.form_token}", *(f"{name}={strange}" for name in FIELDS)])
    asked = [re.sub(r"\{[^}]+\}", "7", path) for path in pages(console, "POST")]
    assert len(asked) > 20
    for path in asked:
        answer = visitor.http.post(
            visitor.base_url + path, data=form, headers=SAME_ORIGIN, allow_redirects=False, timeout=30
        )
        assert answer.status_code < 500, (path, answer.text[-300:])


@pytest.mark.promise("SEC-74")
@pytest.mark.parametrize("name", ["a%00b", "a%ED%A0%80b"])
def test_nor_does_the_sign_in(console: Console, name: str) -> None:
    answer = console.http.post(
        console.base_url + "/console/sign-in",
        data=f"name={name}&password=correct+horse+battery+staple",
        headers=SAME_ORIGIN,
        timeout=30,
    )
    assert answer.status_code == 400
    assert "Not a valid form" in answer.text


@pytest.mark.promise("SEC-74")
@pytest.mark.parametrize("part", ["7", "a%00b"])
def test_no_route_of_the_api_fails_over_an_address(console: Console, part: str) -> None:
    paths: dict[str, dict[str, Any]] = console.get("/api/openapi.json")["paths"]
    for path, methods in paths.items():
        for method, described in methods.items():
            names = [one["name"] for one in described.get("parameters", []) if one["in"] == "query"]
            query = "&".join(f"{name}=a%00b" for name in names)
            answer = console.ask(method.upper(), f"{re.sub(r'{[^}]+}', part, path)}?{query}")
            assert answer.status_code < 500, (method, path, answer.text)


@pytest.mark.promise("SEC-74")
@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/templates", {"operation": "issue.create", "name": "?", "body": "{}"}),
        ("POST", "/api/templates", {"operation": "issue.create", "name": "one", "body": "?"}),
        ("POST", "/api/templates", {"operation": "?", "name": "one", "body": "{}"}),
        ("POST", "/ajax/template_test.php", {"operation": "issue.create", "body": "?"}),
        ("PATCH", "/api/config", {"base_url": "?"}),
        ("PATCH", "/api/config", {"api_key": "?"}),
        ("PATCH", "/api/config", {"?": 1}),
        ("PUT", "/api/links/entities/77", {"create": {"name": "?", "identifier": "one"}}),
        ("PUT", "/api/links/entities/77", {"create": {"name": "One", "identifier": "?"}}),
        (
            "PUT",
            "/api/links/entities/77",
            {"create": {"name": "One", "identifier": "one", "description": "?"}},
        ),
        ("PUT", "/api/user-map/7", {"tracker_user_id": "?"}),
    ],
)
def test_no_route_of_the_api_fails_over_a_body(
    console: Console, method: str, path: str, body: Any, strange: str
) -> None:
    text = json.dumps(body).replace("?", json.dumps(strange)[1:-1])
    answer = console.ask(method, path, json=json.loads(text))
    assert answer.status_code < 500, answer.text
