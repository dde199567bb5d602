"""Every page leads to what a person searches for, and the first screen shows fifteen events."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

TITLE = "VPN does not connect from the branch office in Lyon since Monday"
VISIBLE_ROWS = """[...document.querySelectorAll("table.dense tbody tr")]
    .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""


def test_events_are_found_chosen_and_opened_in_their_row(page: Any, sign_in: Any, bridge: Bridge) -> None:
    claire = {"id": 21, "email": "claire@example.test", "name": "Claire Lefèvre"}
    for number in range(5000, 5016):
        entity = 77 if number == 5015 else 3
        of_ticket = ticket(number, title=f"{TITLE} {number}", entity_id=entity, technician=claire)
        one = task_event(of_ticket=of_ticket, of_task=task(number, user=claire))
        bridge.forward(one, ticket_id=number)
    sign_in("operator")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/console/doctor")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("lyon 5007")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/console/tickets/5007$"))
    page.goto("/console/events")
    expect(page.locator("table.dense tbody tr")).to_have_count(16)
    assert page.evaluate(VISIBLE_ROWS) >= 15
    page.get_by_text("Entity and project not mapped").click()
    expect(page.get_by_text("Neither the ticket's GLPI project nor its entity")).to_be_visible()
    page.get_by_role("link", name="Add mapping").click()
    expect(page).to_have_url(re.compile(r"/console/links/entity/77\?back=%2Fconsole%2Fevents$"))
    page.get_by_role("link", name="Back").click()
    page.get_by_label("Choose event 16").check()
    page.get_by_role("button", name="Replay selected events").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay selected events").click()
    expect(page.get_by_text("deskbridge is processing it again.")).to_be_visible()
    assert bridge.event(16).state == "pending"
    assert bridge.event(15).state == "done"
    page.get_by_label("Person").fill("claire")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("16 events match")).to_be_visible()
    expect(page.get_by_label("Person")).to_have_value("claire")
