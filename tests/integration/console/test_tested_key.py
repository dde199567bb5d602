"""The key that was tested is the key that is saved, and only for the address with which it was tested."""

from __future__ import annotations

import html
import re

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration import connecting
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge

PATH = "/console/settings"


@pytest.fixture
def administrator(come_in: ComeIn) -> Visitor:
    visitor = come_in("administrator")
    visitor.open(PATH)
    return visitor


def form_of(page: str) -> dict[str, str]:
    """Return what the settings form would send, with an empty key."""
    names = ("seen", "base_url", "header_prefix", "sealed_key")
    found: dict[str, str] = {}
    for name in names:
        given = re.search(rf'name="{name}"[^>]*value="([^"]*)"', page)
        if given:
            found[name] = html.unescape(given[1])
    found["header_prefix"] = "Redmine"
    return {**found, "api_key": "", "verify_tls": "on"}


def stored_key(console: Console) -> str:
    services = console.app.state.services
    with services.store.transaction() as tx:
        _, encrypted = tx.configs.get()
    return str(services.vault.decrypt(encrypted).get_secret_value()) if encrypted else ""


def after_a_test(visitor: Visitor, key: str) -> dict[str, str]:
    """Test the connection with a typed key; return the form that the page then shows."""
    answer = visitor.send(f"{PATH}/test", {**form_of(visitor.page), "api_key": key})
    assert answer.status_code == 200
    assert key not in answer.text, "a page never shows it"
    visitor.page = answer.text
    return form_of(answer.text)


def test_the_tested_key_is_saved(
    administrator: Visitor, bridge: Bridge, console: Console, stand_in: StandIn
) -> None:
    another = "0123456789abcdef0123456789abcdef01234567"
    form = after_a_test(administrator, another)
    assert form["sealed_key"]
    assert administrator.do(PATH, form).startswith(PATH)
    assert stored_key(console) == another


def test_a_tested_key_goes_to_no_other_address(
    administrator: Visitor, console: Console, bridge: Bridge
) -> None:
    before = stored_key(console)
    form = after_a_test(administrator, "0123456789abcdef0123456789abcdef01234567")
    answer = administrator.send(PATH, {**form, "base_url": "https://elsewhere.example.test", "moved": "on"})
    assert answer.status_code in (200, 303, 422)
    assert stored_key(console) == before


def test_a_key_that_was_tested_too_long_ago_is_typed_again(
    administrator: Visitor, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored_key(console)
    form = after_a_test(administrator, "0123456789abcdef0123456789abcdef01234567")
    monkeypatch.setattr(connecting, "KEPT_S", -1)
    administrator.do(PATH, form)
    assert stored_key(console) == before


def test_what_nobody_sealed_is_no_key(administrator: Visitor, console: Console) -> None:
    before = stored_key(console)
    administrator.do(PATH, {**form_of(administrator.page), "sealed_key": "x" * 80, "done_state": "3"})
    assert stored_key(console) == before
