"""Trial mode in a browser: switched on, shown on the first page, and switched off with the waiting events dropped."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from shared.redis.heartbeat import WORKER, Heartbeats
from tests.browser.pages import serious
from tests.support.bridge import Bridge
from tests.support.events import task_event

BEHAVIOUR = "/console/settings/behaviour"


@pytest.mark.parametrize("width", [1440, 320])
def test_an_administrator_tries_it_and_drops_what_waits(
    page: Any, sign_in: Any, bridge: Bridge, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    sign_in()
    Heartbeats(bridge.redis).mark(WORKER)
    page.goto(BEHAVIOUR)
    page.get_by_role("button", name="Switch trial mode on").click()
    expect(page.get_by_text("Trial mode is on.")).to_be_visible()
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    wrong: list[Any] = []
    for path in ("/console", BEHAVIOUR):
        page.goto(path)
        expect(
            page.get_by_text("Trial mode: 1 event waits, nothing is sent to Redmine").first
        ).to_be_visible()
        wrong += [(path, one) for one in serious(Axe().run(page))]
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), path
    assert wrong == []
    page.get_by_label("Drop them").check()
    page.get_by_role("button", name="Switch trial mode off").click()
    expect(page.get_by_text("The waiting events were dropped")).to_be_visible()
    assert bridge.event(event_id).state == "skipped"
