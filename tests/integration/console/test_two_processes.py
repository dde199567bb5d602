"""Two processes of the console behind a proxy: whoever is signed in at one is so at the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from producer.admin.accounts import AccountStore
from producer.console.app import create_console
from shared.store.rights import Right
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.serving import Served


@pytest.fixture
def consoles(bridge: Bridge) -> Iterator[list[Served]]:
    """Two applications with connections of their own over one database."""
    AccountStore(bridge.store).add("claire", PASSWORD, Right.ADMINISTRATOR)
    running = [Served(create_console(bridge.settings)) for _ in range(2)]
    for one in running:
        one.start()
    yield running
    for one in running:
        one.stop()


@pytest.fixture
def visitor(consoles: list[Served]) -> Iterator[Visitor]:
    made = Visitor(consoles[0].base_url)
    made.sign_in("claire")
    yield made
    made.close()


def swap(visitor: Visitor, consoles: list[Served]) -> None:
    """Have the proxy take the other process for what comes next."""
    visitor.base_url = next(one.base_url for one in consoles if one.base_url != visitor.base_url)


def test_every_request_may_go_to_the_other_process(
    visitor: Visitor, consoles: list[Served], bridge: Bridge
) -> None:
    bridge.configure(default_activity_id=77)
    bridge.forward(task_event())
    for path in ("", "/events", "/tickets/4711", "/settings", "/access"):
        swap(visitor, consoles)
        visitor.open(f"/console{path}")
    swap(visitor, consoles)
    assert "did=replayed" in visitor.do("/console/tickets/4711/replay"), "a form of one, sent to the other"
    swap(visitor, consoles)
    assert "replayed" in visitor.open("/console/changes")


def test_signing_out_at_one_is_signing_out_at_the_other(visitor: Visitor, consoles: list[Served]) -> None:
    session = next(one.value for one in visitor.http.cookies)
    visitor.open("/console")
    visitor.do("/console/sign-out")
    swap(visitor, consoles)
    visitor.http.cookies.set("deskbridge_session", session or "", path="/console")
    assert "Sign in" in visitor.open("/console")


def test_a_page_that_has_not_changed_is_the_same_page_at_both(
    visitor: Visitor, consoles: list[Served]
) -> None:
    tags = []
    for _ in range(2):
        tags.append(visitor.http.get(visitor.base_url + "/console/held", timeout=10).headers["ETag"])
        swap(visitor, consoles)
    assert tags[0] == tags[1]


def test_a_stale_form_is_noticed_by_the_other_process(visitor: Visitor, consoles: list[Served]) -> None:
    visitor.open("/console/settings")
    stale = visitor.page.split('name="seen" value="')[1].split('"')[0]
    given = {"done_state": "3", "seen": stale, "verify_tls": "on"}
    visitor.do("/console/settings", given)
    swap(visitor, consoles)
    assert visitor.send("/console/settings", {**given, "done_state": "4"}).status_code == 409
