"""Attacks on people who use the pages fail: foreign text on every page, and actions that their role forbids."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute

from deploy.sandbox.tracker.control import StandIn
from producer.console.app import PAGES as MODULES
from producer.console.auth.rights import OPERATOR_MAY, VIEWER_ROUTES
from shared.metadata.synchronisation import synchronise
from shared.templating.operations import Operation
from tests.browser.pages import PAGES, filled
from tests.integration.console.conftest import Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task_event

EVIL = "</textarea></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'` onfocus=alert(1) \u202e{{7*7}}"


@pytest.mark.promise("SEC-65")
def test_no_text_from_outside_is_anything_but_text_on_any_page(
    console: Console, visitor: Visitor, bridge: Bridge, stand_in: StandIn
) -> None:
    filled(bridge, stand_in)
    services = console.app.state.services
    for table, row in (
        ("projects", 1),
        ("statuses", 1),
        ("activities", 9),
        ("roles", 4),
        ("custom_fields", 3),
    ):
        stand_in.patch(table, row, name=EVIL)
    assert synchronise(services.store, services.locks, services.connector.connect)
    kept = services.templates.create(
        Operation.ISSUE_CREATE, EVIL[:100], '{"issue": {"subject": "' + EVIL, "x"
    )
    evil = task_event()
    evil["ticket"] |= {"id": 4714, "title": EVIL, "content": EVIL}
    evil["task"] |= {"id": 5555, "content": EVIL, "user": {"id": 77, "email": EVIL}}
    stand_in.settings(required_custom_fields=[3])  # its name is in the error
    assert bridge.forward(evil, ticket_id=4714) == ["failed"]
    visitor.sign_in("administrator")
    for path in (*PAGES, "/tickets/4714", f"/templates/{kept.id}", "/held/ticket/4714"):
        answer = visitor.http.get(f"{visitor.base_url}/console{path}", timeout=30)
        assert answer.status_code < 500, path
        page = re.sub(
            r'<script type="module" src="/console/static/\w+/console.js"></script>', "", answer.text
        )
        assert "<script" not in page, path
        assert "<img src=x" not in page, path
        assert "\u202e" not in page or path.startswith("/templates/"), path
        assert not re.search(r"<[^>]*\sonfocus=alert", re.sub(r'"[^"]*"', '""', page)), path


def page_routes() -> list[str]:
    """Return every POST route of the pages."""
    routes = [route for module in MODULES for route in module.router.routes]
    return sorted(one.path for one in routes if isinstance(one, APIRoute) and "POST" in (one.methods or ()))


@pytest.mark.promise("SEC-66")
@pytest.mark.parametrize("who", ["viewer", "operator"])
def test_nobody_changes_what_their_role_may_not(visitor: Visitor, who: str) -> None:
    visitor.sign_in(who)
    visitor.open("/console")
    may = {"/console/sign-in", *VIEWER_ROUTES, *(OPERATOR_MAY if who == "operator" else ())}
    refused = [path for path in page_routes() if path not in may]
    assert len(refused) >= 10, refused
    for path in refused:
        real = path.replace("{kind}", "entity" if "links" in path else "ticket")
        answer = visitor.send(re.sub(r"\{[^}]+\}", "7", real), {"name": "x"})
        assert answer.status_code == 403, (path, answer.status_code)
        assert "This requires the" in answer.text


@pytest.mark.promise("SEC-65")
@pytest.mark.parametrize("path", PAGES)
def test_no_page_lets_itself_be_framed_or_kept(visitor: Visitor, path: str) -> None:
    visitor.sign_in("administrator")
    headers = visitor.http.get(f"{visitor.base_url}/console{path}", timeout=30).headers
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
