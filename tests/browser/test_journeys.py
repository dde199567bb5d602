"""What people do with the console, step by step, as they see it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.support.bridge import Bridge
from tests.support.events import task_event


def test_a_refused_activity_is_read_fixed_and_replayed_on_the_pages(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    bridge.configure(default_activity_id=77)
    assert bridge.forward(task_event()) == ["failed"]
    sign_in()
    page.get_by_role("link", name="Ticket 4711 says why").first.click()
    expect(page.get_by_text("1 time entry is missing on the tracker")).to_be_visible()
    page.get_by_role("link", name="Choose another activity").first.click()
    page.get_by_label("Activity").select_option(label="Development")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto("/console/tickets/4711")
    page.get_by_role("button", name="Replay 1 event").click()
    expect(page.get_by_text("It is being worked on again.")).to_be_visible()
    bridge.sync()
    expect(page.get_by_role("heading", name="Everything is on the tracker")).to_be_visible(timeout=15_000)


def test_an_entity_is_linked_by_searching_for_the_project_with_the_keyboard_alone(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    sign_in()
    page.goto("/console/links/entity/9")
    field = page.get_by_role("combobox", name="Tracker project")
    field.focus()
    page.keyboard.type("Support")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save the link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Linked.")).to_be_visible(timeout=15_000)
    expect(page.get_by_role("rowheader", name="entity 9")).to_be_visible()
    with bridge.store.transaction() as tx:
        assert any(link.helpdesk_id == 9 for link in tx.links.all())


def test_a_template_is_marked_where_it_is_wrong_then_put_in_force_and_rolled_back(
    page: Any, sign_in: Any
) -> None:
    sign_in()
    page.goto("/console/templates/new?operation=issue.create")
    body = page.get_by_role("textbox", name="Body")
    good = body.input_value()
    body.fill(good.replace("ticket.title", "ticket.titel"))
    expect(page.locator(".editor .tints u")).to_be_visible()
    expect(page.locator("#told .fault")).to_contain_text("Line 4")
    body.fill(good)
    expect(page.locator(".editor .tints u")).to_have_count(0)
    expect(page.locator("#shown")).to_contain_text('"subject"')
    page.get_by_label("Name").fill("Ours")
    page.get_by_role("button", name="Save version 1").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("button", name="Put version 1 in force").click()
    expect(page.get_by_text("It is in force now.")).to_be_visible()
    body.fill(good.replace('"subject": "', '"subject": "Desk: '))
    page.get_by_role("button", name="Save, and put in force").click()
    expect(page.get_by_text("version 2 is in force")).to_be_visible()
    page.get_by_role("link", name="What changed").first.click()
    expect(page.locator("ins")).to_contain_text("Desk:")
    page.go_back()
    page.get_by_role("button", name="Go back to the version before").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back").click()
    expect(page.get_by_text("version 1 is in force")).to_be_visible()


def test_a_project_form_asks_for_what_is_required_and_keeps_what_was_typed(page: Any, sign_in: Any) -> None:
    sign_in()
    page.goto("/console/links/entity/12")
    page.get_by_label("a new tracker project").check()
    page.get_by_label("Name").fill("Twelve")
    page.get_by_label("Identifier").fill("Not Valid!")
    page.get_by_role("button", name="Save the link").click()
    expect(page.get_by_role("alert")).to_contain_text("not right yet")
    expect(page.get_by_label("Name")).to_have_value("Twelve")
    expect(page.get_by_label("Identifier")).to_have_attribute("aria-invalid", "true")


def test_a_viewer_sees_why_what_changes_is_not_for_them(page: Any, sign_in: Any, bridge: Bridge) -> None:
    bridge.configure(default_activity_id=77)
    bridge.forward(task_event())
    sign_in("viewer")
    page.goto("/console/tickets/4711")
    button = page.get_by_role("button", name="Replay 1 event")
    expect(button).to_be_disabled()
    expect(button).to_have_attribute(
        "title", "Your account may look, not change this: it needs the role operator."
    )


def test_after_signing_out_back_shows_nothing(page: Any, sign_in: Any) -> None:
    sign_in()
    page.goto("/console/changes")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.go_back()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_stale_form_of_settings_is_refused_and_keeps_what_was_typed(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    sign_in()
    page.goto("/console/settings")
    bridge.configure(done_state=3)
    page.get_by_label("State that means Done").fill("4")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Somebody else changed the settings meanwhile")).to_be_visible()
    expect(page.get_by_label("State that means Done")).to_have_value("4")


def test_the_connection_is_tried_with_what_is_typed_and_the_stored_key_goes_nowhere_else(
    page: Any, sign_in: Any
) -> None:
    sign_in()
    page.goto("/console/settings")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("heading", name="The connection works")).to_be_visible(timeout=15_000)
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("alert")).to_contain_text("API key")
