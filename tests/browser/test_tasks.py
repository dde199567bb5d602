"""Common tasks in the console: Redmine is down, a colleague starts and leaves, a technician needs a week's hours."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from deploy.sandbox.tracker.control import StandIn
from shared.notices.faults import Fault
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from tests.browser.conftest import SLOW_MS
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries

CLAIRE = {"id": 21, "email": "alice@example.test", "name": "Claire Lefèvre"}
FIVE_MINUTES_S = 301


def test_redmine_is_down_for_five_minutes_and_everything_arrives_afterwards(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    for process in (WORKER, BEAT):
        Heartbeats(bridge.redis).mark(process)
    sign_in("operator")
    stand_in.fault("status_before", status=503)
    bridge.receive(task_event())
    bridge.sync()
    bridge.age(FIVE_MINUTES_S)
    bridge.breaker.begin(Fault.TRACKER_AWAY(method="GET", path="/users.json"))
    page.goto("/console")
    heading = page.get_by_role("heading", name="All events are waiting for Redmine.")
    expect(heading).to_be_visible()
    expect(page.locator(".say.bad")).to_contain_text("resumes automatically when Redmine answers")
    page.get_by_role("link", name="See them").first.click()
    expect(page.get_by_role("link", name="#4711")).to_be_visible()

    stand_in.clear_faults()
    bridge.breaker.end()
    bridge.hurry()
    bridge.sync()
    for process in (WORKER, BEAT):
        Heartbeats(bridge.redis).mark(process)
    assert len(entries(stand_in)) == 1
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(heading).to_have_count(0, timeout=SLOW_MS)
    expect(page.locator(".say.bad")).to_have_count(0)


def test_a_colleague_begins_with_a_link_and_is_out_at_once_when_disabled(
    page: Any, sign_in: Any, browser: Any, console: Any
) -> None:
    sign_in()
    page.goto("/console/access")
    page.get_by_label("Name", exact=True).fill("claire")
    page.get_by_label("Operator: can also replay").check()
    page.get_by_role("button", name="Add account and create sign-in link").click()
    link = page.locator("#secret").text_content()

    theirs = browser.new_context(base_url=console.base_url)
    colleague = theirs.new_page()
    colleague.goto(link)
    colleague.get_by_role("button", name="Continue").click()
    expect(colleague.get_by_role("heading", name="Overview")).to_be_visible()
    colleague.goto("/console/account")
    colleague.get_by_label("New password").fill("four words are enough")
    colleague.get_by_label("Repeat password").fill("four words are enough")
    colleague.get_by_role("button", name="Set the password").click()
    expect(colleague.get_by_text("Password changed")).to_be_visible()

    page.goto("/console/access")
    row = page.get_by_role("row", name="claire")
    row.get_by_role("button", name="Disable").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(row.get_by_text("disabled")).to_be_visible()
    colleague.goto("/console/events")
    expect(colleague.get_by_role("button", name="Sign in")).to_be_visible()
    theirs.close()


def test_a_technicians_week_is_found_and_exported(page: Any, sign_in: Any, bridge: Bridge) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for number in (601, 602, 603):
        of_task = task(number, user=CLAIRE, date=today)
        of_ticket = ticket(number, technician=CLAIRE)
        bridge.forward(task_event(of_ticket=of_ticket, of_task=of_task), ticket_id=number)
    bridge.forward(task_event(of_task=task(604, user={"id": 8, "email": "bob@example.test"})))
    sign_in("viewer")
    page.goto("/console/events")
    page.get_by_label("Person").fill("Claire Lefèvre")
    page.get_by_label("Received").select_option(label="in the last week")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("table.dense tbody tr")).to_have_count(3)
    rows = exported(page, "Export as CSV")
    assert sorted(row["ticket_id"] for row in rows) == ["601", "602", "603"]
    page.get_by_role("link", name="Hours", exact=True).click()
    expect(page.locator("#hours tr", has_text="Alice Archer").locator("td").first).to_have_text("4.5")
    (row,) = [one for one in exported(page, "Export as CSV") if "Alice Archer" in one.values()]
    assert list(row.values()).count("4.5") == 2, "in GLPI and in Redmine"


def exported(page: Any, name: str) -> list[dict[str, str]]:
    """Download a list and return its rows."""
    with page.expect_download() as download:
        page.get_by_role("link", name=name, exact=True).click()
    return list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()))
