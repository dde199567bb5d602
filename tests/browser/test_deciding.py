"""A person decides on a creation on hold: a typed number is compared first, and a wrong decision is undone."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from deploy.sandbox.tracker.control import StandIn
from shared.store.tables.ledger import LedgerState
from tests.browser.conftest import SLOW_MS
from tests.support.bridge import Bridge
from tests.support.events import task_event


def state_of(bridge: Bridge) -> tuple[str, int | None]:
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    return row.state, row.tracker_id


def test_a_wrong_number_is_seen_before_it_does_anything_and_a_wrong_choice_is_taken_back(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(in_doubt_policy="hold")
    stand_in.fault("close_before", method="POST", path="/issues.json", count=1)
    bridge.forward(task_event())
    stand_in.patch("issues", 1, created_on=1577836800.0)
    sign_in("operator")
    page.goto("/console/held")
    page.get_by_role("link", name="Compare and decide").click()
    expect(page.get_by_text("Redmine has no similar object")).to_be_visible(timeout=SLOW_MS)
    page.get_by_label("Redmine id").fill("#1")
    page.get_by_role("button", name="Compare").click()
    row = page.get_by_role("row", name="subject")
    expect(row.locator("mark")).to_contain_text("Seed issue", timeout=SLOW_MS)
    expect(page.get_by_text("older than the request").first).to_be_visible()
    assert state_of(bridge) == (LedgerState.ON_HOLD, None), "a number alone changes nothing"
    page.get_by_label("It is older than the request").check()
    page.get_by_role("button", name="It is #1: adopt it").click()
    assert state_of(bridge) == (LedgerState.ON_HOLD, None), "the dialog asks once more"
    page.get_by_role("dialog").get_by_role("button", name="It is #1: adopt it").click()
    # the page removes its note from the address
    expect(page).to_have_url(re.compile(r"/console/tickets/4711(\?|$)"))
    expect(page.get_by_text("adopt issue #1").first).to_be_visible()
    assert state_of(bridge) == (LedgerState.LINKED, 1)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Adoption undone")).to_be_visible(timeout=SLOW_MS)
    assert state_of(bridge) == (LedgerState.ON_HOLD, None)
    assert stand_in.state()["time_entries"] == []
