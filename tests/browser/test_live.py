"""Pages that refresh themselves: the element in use stays, its content and its surroundings are updated."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from shared.notices.faults import Fault
from shared.store.tables.journal import EventState
from tests.browser.conftest import SLOW_MS
from tests.support.bridge import Bridge
from tests.support.events import task_event


def another(bridge: Bridge, ticket_id: int) -> None:
    """Receive an event of another ticket, which stays pending."""
    one = task_event()
    one["ticket"]["id"], one["task"]["id"] = ticket_id, ticket_id * 10
    bridge.receive(one)


def test_a_tile_in_focus_keeps_the_focus_and_counts_on(page: Any, sign_in: Any, bridge: Bridge) -> None:
    sign_in()
    tile = page.locator("a.tile").first
    tile.focus()
    expect(tile.locator("b")).to_have_text("0")
    another(bridge, 4712)
    expect(tile.locator("b")).to_have_text("1", timeout=SLOW_MS)
    assert tile.evaluate("one => one === document.activeElement")
    expect(page.locator("#live")).to_have_text(re.compile(r"^live · \d+ s ago$"))


def test_new_rows_appear_around_an_open_one(page: Any, sign_in: Any, bridge: Bridge) -> None:
    another(bridge, 4712)
    sign_in()
    page.goto("/console/events")
    first = page.locator("tr[id^=event-]").first
    first.locator("summary").click()
    opened = first.get_attribute("id")
    another(bridge, 4713)
    expect(page.locator("tr[id^=event-]")).to_have_count(2, timeout=SLOW_MS)
    expect(page.locator("tr[id^=event-]").first).to_contain_text("4713")
    assert page.locator(f"#{opened} details").evaluate("one => one.open")
    assert page.locator(f"#{opened} summary").evaluate("one => one === document.activeElement")


def test_open_rows_that_have_left_the_list_do_not_stay_below_the_fresh_one(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    for ticket_id in (4712, 4713, 4714):
        another(bridge, ticket_id)
    sign_in()
    page.goto("/console/events?state=pending")
    rows = page.locator("tr[id^=event-]")
    expect(rows).to_have_count(3)
    for number in range(3):
        rows.nth(number).locator("summary").click()
    with bridge.store.transaction() as tx:
        tx.journal.end([1, 2], EventState.FAILED, Fault.OWN_FAULT(error="KeyError"))
    another(bridge, 4715)
    expect(rows.first).to_contain_text("4715", timeout=SLOW_MS)
    expect(rows).to_have_count(2)
    assert page.locator("#event-3 details").evaluate("one => one.open"), "it is still in the list"
    with bridge.store.transaction() as tx:
        tx.journal.end([3, 4], EventState.FAILED, Fault.OWN_FAULT(error="KeyError"))
    expect(page.locator("#events")).to_contain_text("Nothing matches", timeout=SLOW_MS)
    expect(rows).to_have_count(0)


def test_times_are_the_readers_own_and_their_titles_are_in_utc(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    another(bridge, 4712)
    sign_in()
    page.context.new_cdp_session(page).send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    page.goto("/console/events")
    time = page.locator("tr[id^=event-] time").first
    shown, title = time.inner_text(), time.get_attribute("title")
    utc = re.search(r"(\d\d):(\d\d):\d\d UTC$", title)
    assert utc, title
    minutes = (int(utc[1]) * 60 + int(utc[2]) + 330) % (24 * 60)
    assert re.search(r"(\d\d):(\d\d)", shown), shown
    assert shown.split(":")[1][:2] == f"{minutes % 60:02}"
    assert int(re.search(r"(\d+):\d\d", shown)[1]) % 12 == minutes // 60 % 12  # type: ignore[index]
