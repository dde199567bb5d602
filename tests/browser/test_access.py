"""A token is shown once and copied exactly, and reloading its page does not create another."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from producer.admin.access.accounts import AccountStore
from tests.support.bridge import Bridge


def test_a_token_is_shown_and_copied_as_it_is_and_only_once(page: Any, sign_in: Any, bridge: Bridge) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in()
    page.goto("/console/access")
    page.get_by_label("Purpose").fill("scripts")
    page.get_by_label("Expires").select_option("90")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator("#secret")
    expect(secret).to_be_visible()
    assert page.evaluate("document.getElementById('secret').innerText") == secret.text_content()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == secret.text_content()
    accounts = AccountStore(bridge.store)
    assert accounts.token_with(copied)
    page.reload()
    expect(page.get_by_text("is shown only once")).to_be_visible()
    assert len(accounts.tokens()) == 1
