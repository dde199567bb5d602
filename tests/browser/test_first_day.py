"""The whole journey: from the first sign-in on an empty installation to a ticket that failed and was fixed."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect
from sqlalchemy import delete

from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.store.tables.configuration import (
    EntityMappingRow,
    MetadataRow,
    MetadataRun,
    PluginConfigRecord,
    TrackerUser,
)
from tests.browser.conftest import SLOW_MS
from tests.support.bridge import Bridge
from tests.support.events import task_event


def emptied(bridge: Bridge) -> None:
    """Remove the configuration, mappings and cache that tests start with."""
    with bridge.store.database.transaction() as session:
        for model in (PluginConfigRecord, EntityMappingRow, TrackerUser, MetadataRow, MetadataRun):
            session.execute(delete(model))


def test_from_the_first_sign_in_to_a_ticket_that_broke_and_was_fixed(
    page: Any, console: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    emptied(bridge)
    Heartbeats(bridge.redis).mark(WORKER)
    page.goto(f"/console/sign-in?code={AccountStore(bridge.store).link_for('administrator')}")
    page.get_by_role("button", name="Continue").click()
    expect(
        page.get_by_role("heading", name="No events are forwarded yet, because Redmine is not connected.")
    ).to_be_visible()
    page.get_by_role("link", name="See what is missing").click()
    page.get_by_role("link", name="Check the Redmine settings").first.click()

    page.get_by_role("textbox", name="Address").fill(stand_in.base_url)
    page.get_by_label("API key").fill(stand_in.api_key)
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("heading", name="The connection works")).to_be_visible(timeout=SLOW_MS)
    page.get_by_label("API key").fill(stand_in.api_key)
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page).to_have_url(re.compile("/console/doctor"))  # the page from which the settings were opened
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Read now").click()
    expect(page.get_by_text("Metadata read.")).to_be_visible(timeout=SLOW_MS)
    page.get_by_role("link", name="Defaults of new issues and time entries").click()
    page.get_by_label("Activity").select_option(label="Development")
    page.get_by_label("Role").select_option(label="Developer")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()

    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Mappings").click()
    page.get_by_label("Id of the GLPI entity").fill("3")
    page.get_by_role("button", name="Add mapping").click()
    page.get_by_role("combobox", name="Redmine project").fill("Support")
    page.get_by_role("option").first.click()
    page.get_by_role("button", name="Save mapping").click()
    expect(page.get_by_role("rowheader", name="entity 3")).to_be_visible(timeout=SLOW_MS)

    assert bridge.forward(task_event()) == ["done"]
    page.get_by_role("link", name="Events", exact=True).click()
    page.get_by_role("link", name="#4711").click()
    expect(page.get_by_role("heading", name="In Redmine, without its status")).to_be_visible()
    page.get_by_text("POST /issues.json").first.click()
    expect(page.get_by_text('"subject"').first).to_be_visible()

    stand_in.patch("activities", 9, active=False)
    later = task_event()
    later["ticket"]["id"], later["task"]["id"] = 4712, 600
    assert bridge.forward(later, ticket_id=4712) == ["failed"]
    page.goto("/console")
    expect(page.get_by_role("heading", name="deskbridge does not work correctly.")).to_be_visible()
    page.get_by_role("link", name="See ticket 4712 for details").first.click()
    expect(page.get_by_role("heading", name="1 time entry is missing in Redmine")).to_be_visible()
    page.get_by_role("link", name="Choose another activity").first.click()
    page.get_by_label("Activity").select_option(label="Design")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto("/console/tickets/4712")
    page.get_by_role("button", name="Replay 1 event").click()
    expect(page.get_by_text("deskbridge is processing it again.")).to_be_visible()
    bridge.sync(4712)
    expect(page.get_by_role("heading", name="In Redmine, without its status")).to_be_visible(timeout=SLOW_MS)
    page.goto("/console/events?state=failed")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
