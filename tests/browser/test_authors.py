"""A person whose hours are under another name is mapped and gets them on one page; the monthly report agrees."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import expect

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries

STRANGER = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}


def test_a_stranger_is_mapped_and_given_their_hours(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(correct_authors=True)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for number in (601, 602, 603):
        of_task = task(number, user=STRANGER, date=today)
        bridge.forward(task_event(of_ticket=ticket(technician=STRANGER), of_task=of_task))
    sign_in("operator")
    page.goto("/console/authors")
    look(page, "authors")
    page.get_by_role("combobox", name="Redmine user for stranger").fill("alice")
    page.get_by_role("option").first.click()
    page.get_by_role("button", name="Map", exact=True).click()
    page.get_by_role("button", name="Give the 3 time entries to Alice Archer").click()
    page.get_by_role("dialog").get_by_role("button", name="Give the 3 time entries").click()
    expect(page.get_by_text("The hours now belong to the right user.")).to_be_visible()
    assert [one["user_id"] for one in entries(stand_in)] == [5, 5, 5]
    page.get_by_role("link", name="Hours", exact=True).click()
    row = page.locator("#hours tr", has_text="Alice Archer")
    expect(row.locator("td").nth(0)).to_have_text("4.5")
    expect(row.locator("td").nth(1)).to_have_text("4.5")
    look(page, "hours")


def look(page: Any, name: str) -> None:
    """Take a screenshot if a folder for pictures is set."""
    if folder := os.environ.get("DESKBRIDGE_TEST_PICTURES"):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.screenshot(path=f"{folder}/{name}.png")
