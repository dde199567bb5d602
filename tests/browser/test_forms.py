"""Forms in the browser: errors are visible, no input is lost or sent twice, and bulk changes are listed first."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import SLOW_MS
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

RED = "rgb(163, 18, 31)"


def left_with_a_question(page: Any, path: str) -> list[str]:
    """Leave the page; return the kinds of dialogs that were shown before."""
    asked: list[str] = []

    def stay(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.once("dialog", stay)
    page.goto(path)
    page.remove_listener("dialog", stay) if not asked else None
    return asked


def test_a_faulty_template_is_red_and_is_not_put_in_force_unawares(
    page: Any, sign_in: Any, console: Any
) -> None:
    sign_in()
    page.goto("/console/templates/new?operation=issue.create")
    body = page.get_by_role("textbox", name="Body")
    good = body.input_value()
    page.get_by_label("Name").fill("Ours")
    page.get_by_role("button", name="Save version 1").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    body.fill(good.replace("ticket.title", "ticket.titel"))
    expect(page.locator("#told .fault")).to_have_css("color", RED)
    page.get_by_role("button", name="Save and activate").click()
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("ticket")
    expect(alert).to_have_css("color", RED)
    expect(body).to_have_value(re.compile("titel"))
    kept = console.app.state.services.templates.show(1)
    assert (kept.version, kept.active_version) == (1, None), "nothing was saved"
    page.get_by_role("button", name="Save version 2").click()
    expect(page.get_by_role("status").filter(has_text="Saved as a draft")).to_be_visible()


def test_statuses_are_listed_before_they_are_rewritten_and_a_result_is_sent_once(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    for number in (4711, 4712):
        of_ticket = ticket(number, title=f"Ticket of status {number}")
        bridge.forward(task_event(of_ticket=of_ticket, of_task=task(number)), ticket_id=number)
    sign_in()
    page.goto("/console/settings/status-map")
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    page.locator("select[name='status.2']").select_option(label="Feedback")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("The statuses of 2 issues differ from the new status map.")).to_be_visible()
    expect(page.get_by_role("row", name="Ticket of status 4711")).to_be_visible()
    expect(page.get_by_role("row", name="Ticket of status 4712")).to_be_visible()
    page.reload()
    expect(page.get_by_text("The statuses of 2 issues differ from the new status map.")).to_be_visible()
    assert len(sent) == 1, "a reload sends no form again"
    page.get_by_role("button", name="Update 2 issues").click()
    expect(page.get_by_role("dialog")).to_contain_text("Redmine may send e-mail")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert len(sent) == 1, "it asks first"


def test_what_was_typed_is_not_lost_and_an_exact_name_is_taken(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    sign_in()
    page.goto("/console/settings")
    page.get_by_role("textbox", name="Address").fill("https://elsewhere.example.org")
    assert left_with_a_question(page, "/console") == ["beforeunload"]
    page.goto("/console/links/entity/9")
    assert left_with_a_question(page, "/console") == [], "nothing was typed"
    page.goto("/console/links/entity/9?back=/console/events")
    page.get_by_role("combobox", name="Redmine project").fill("support")
    assert left_with_a_question(page, "/console/links/entity/9?back=/console/events") == ["beforeunload"]
    page.get_by_role("combobox", name="Redmine project").fill("support")
    page.get_by_role("button", name="Save mapping").click()
    expect(page.get_by_text("Mapping saved.")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("heading", name="Events", level=1)).to_be_visible()
    with bridge.store.transaction() as tx:
        assert any(link.helpdesk_id == 9 for link in tx.mappings.all())
