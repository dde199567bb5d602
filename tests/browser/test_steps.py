"""An empty installation is set up on its first page alone, until the first event completes the last step."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from deploy.sandbox.tracker.control import StandIn
from shared.redis.heartbeat import WORKER, Heartbeats
from tests.browser.conftest import SLOW_MS
from tests.browser.pages import serious
from tests.browser.test_first_day import emptied
from tests.support.bridge import Bridge
from tests.support.events import task_event


def test_an_empty_installation_is_set_up_on_its_first_page(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    emptied(bridge)
    Heartbeats(bridge.redis).mark(WORKER)
    sign_in()
    steps = page.locator("#steps li[id]")
    expect(steps.get_by_text("to do")).to_have_count(7)
    assert serious(Axe().run(page)) == []

    page.get_by_label("Address of Redmine").fill(stand_in.base_url)
    page.get_by_label("API key of a Redmine administrator").fill("wrong")
    page.get_by_role("button", name="Test and save").click()
    expect(page.get_by_text("The connection does not work, so nothing was saved.")).to_be_visible(
        timeout=SLOW_MS
    )
    page.get_by_label("API key of a Redmine administrator").fill(stand_in.api_key)
    page.get_by_role("button", name="Test and save").click()
    expect(page.locator("#step-redmine").get_by_text("done")).to_be_visible(timeout=SLOW_MS)
    page.get_by_label("Text formatting").select_option(label="Textile")
    page.get_by_role("button", name="Save the formatting").click()
    expect(page.locator("#step-formatting").get_by_text("done")).to_be_visible()
    page.get_by_role("button", name="Read them now").click()
    expect(page.locator("#step-metadata").get_by_text("done")).to_be_visible(timeout=SLOW_MS)
    page.get_by_label("Activity of time entries").select_option(label="Development")
    page.get_by_label("Role of technicians in a project").select_option(label="Developer")
    page.get_by_role("button", name="Save the defaults").click()
    expect(page.locator("#step-defaults").get_by_text("done")).to_be_visible()
    expect(page.get_by_label("Closed", exact=True)).to_have_value("5")
    page.get_by_role("button", name="Save the status map").click()
    expect(page.locator("#step-statuses").get_by_text("done")).to_be_visible()
    assert serious(Axe().run(page)) == []

    # an event arrives while the page is open: its step turns green by itself, and its entity can be mapped
    assert bridge.forward(task_event()) == ["skipped"]
    expect(page.locator("#step-event").get_by_text("done")).to_be_visible(timeout=SLOW_MS)
    page.get_by_role("link", name="Choose its project").click()
    page.get_by_role("combobox", name="Redmine project").fill("Support")
    page.get_by_role("option").first.click()
    page.get_by_role("button", name="Save mapping").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible(timeout=SLOW_MS)
    expect(page.locator("#steps")).to_have_count(0)
