"""The tasks that people do with the console, step by step, as they see them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from deploy.sandbox.tracker.control import StandIn
from shared.metadata.synchronisation import synchronise
from shared.notices.reasons import Reason
from tests.browser.conftest import SLOW_MS
from tests.browser.pages import PAGES, filled
from tests.support.bridge import Bridge
from tests.support.events import task_event


def test_an_entity_is_linked_by_searching_for_the_project_with_the_keyboard_alone(
    page: Any, sign_in: Any, bridge: Bridge
) -> None:
    sign_in()
    page.goto("/console/links/entity/9")
    field = page.get_by_role("combobox", name="Redmine project")
    field.focus()
    page.keyboard.type("Support")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save mapping").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Mapping saved.")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("rowheader", name="entity 9")).to_be_visible()
    with bridge.store.transaction() as tx:
        assert any(link.helpdesk_id == 9 for link in tx.mappings.all())


def test_a_template_is_marked_tried_put_in_force_used_and_rolled_back(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    sign_in()
    page.goto("/console/templates/new?operation=issue.create")
    body = page.get_by_role("textbox", name="Body")
    good = body.input_value()
    body.fill(good.replace("ticket.title", "ticket.titel"))
    expect(page.locator(".editor .tints u")).to_have_text("ticket")
    line = 1 + good[: good.index("ticket.title")].count("\n")
    column = len(good[: good.index("ticket.title")].rpartition("\n")[2]) + 1
    expect(page.locator("#told .fault")).to_contain_text(f"Line {line}, column {column}")
    body.fill(good)
    expect(page.locator(".editor .tints u")).to_have_count(0)
    expect(page.locator("#shown")).to_contain_text('"subject"')
    page.get_by_label("Name").fill("Ours")
    page.get_by_role("button", name="Save version 1").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("button", name="Activate version 1").click()
    expect(page.get_by_text("Activated.")).to_be_visible()

    body.fill(good.replace('"subject": "', '"subject": "Desk: '))
    expect(page.locator("#shown")).to_contain_text("Desk: ")
    page.get_by_role("button", name="Dry run").click()
    page.get_by_role("dialog").get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("heading", name="Redmine accepted it")).to_be_visible(timeout=SLOW_MS)
    assert [one for one in stand_in.state()["issues"] if "Desk: " in one["subject"]] == [], "deleted again"
    expect(body).to_have_value(good.replace('"subject": "', '"subject": "Desk: '))
    page.get_by_role("button", name="Save and activate").click()
    expect(page.get_by_text("version 2 is active")).to_be_visible()

    bridge.forward(task_event())
    assert stand_in.state()["issues"][-1]["subject"].startswith("Desk: ")
    page.get_by_role("link", name="What changed").first.click()
    expect(page.locator("ins")).to_contain_text("Desk:")
    page.goto("/console/tickets/4711")
    why = page.locator("section", has=page.get_by_role("heading", name="Details"))
    expect(why).to_contain_text("Ours")
    expect(why).to_contain_text("version 2")

    page.goto("/console/templates")
    page.get_by_role("link", name="Ours", exact=True).click()
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_text("version 1 is active")).to_be_visible()


def test_a_project_is_created_with_what_the_tracker_requires(
    page: Any, sign_in: Any, console: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.settings(required_custom_fields=[2])
    services = console.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    sign_in()
    page.goto("/console/links/entity/12")
    page.get_by_label("a new Redmine project").check()
    page.get_by_label("Name").fill("Twelve")
    page.get_by_label("Identifier").fill("Not Valid!")
    page.get_by_label("Public").check()
    page.get_by_role("combobox", name="Parent project").fill("Support")
    page.get_by_role("option").first.click()
    asked = len(stand_in.requests())
    page.get_by_role("button", name="Save mapping").click()
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("Correct 2 errors")
    assert not [one for one in stand_in.requests()[asked:] if one["method"] == "POST"], (
        "asked before the call"
    )
    expect(page.get_by_label("Name")).to_have_value("Twelve")
    expect(page.get_by_label("Public")).to_be_checked()
    expect(page.get_by_label("Identifier")).to_have_attribute("aria-invalid", "true")
    alert.get_by_role("link", name="Cost centre").click()
    expect(page.get_by_label("Cost centre")).to_be_focused()
    page.get_by_label("Cost centre").fill("C-12")
    page.get_by_label("Identifier").fill("twelve")
    page.get_by_role("button", name="Save mapping").click()
    expect(page.get_by_role("rowheader", name="entity 12")).to_be_visible(timeout=SLOW_MS)
    made = next(one for one in stand_in.state()["projects"] if one["identifier"] == "twelve")
    assert (made["parent_id"], made["custom_fields"]) == (1, {"2": "C-12"})


@pytest.mark.parametrize("verdict", ["adopt", "again"])
def test_a_held_issue_is_compared_and_resolved(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn, verdict: str
) -> None:
    bridge.forward(task_event())
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
        assert row is not None
        tx.issues.gone(4711, row.tracker_id or 0, Reason.ISSUE_GONE(issue_id=row.tracker_id))
    before = len(stand_in.state()["issues"])
    stand_in.patch("issues", row.tracker_id or 0, subject="Something else")
    sign_in("operator")
    page.get_by_role("link", name="Decide", exact=True).click()
    page.get_by_role("link", name="Compare and decide").click()
    expect(page.get_by_role("row", name="subject").locator("mark")).to_have_text("Something else")
    label = f"It is #{row.tracker_id}: adopt it" if verdict == "adopt" else "None: create it again"
    page.get_by_role("button", name=label).click()
    told = "Nothing is created" if verdict == "adopt" else "Creates it again in Redmine."
    expect(page.get_by_role("dialog")).to_contain_text(told)
    page.get_by_role("dialog").get_by_role("button", name=label).click()
    # the page removes its note from the address
    expect(page).to_have_url(re.compile(r"/console/tickets/4711(\?|$)"))
    bridge.sync()
    expect(page.get_by_role("heading", name="Everything is in Redmine")).to_be_visible(timeout=SLOW_MS)
    assert len(stand_in.state()["issues"]) == before + (verdict == "again")
    page.goto("/console/held")
    expect(page.get_by_role("heading", name="Nothing is on hold")).to_be_visible()


def test_a_viewer_finds_no_button_that_changes_anything(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn
) -> None:
    filled(bridge, stand_in)
    sign_in("viewer")
    own = ("/console/sign-out", "/console/language", "/console/account/password", "/console/account/sign-out")
    for path in PAGES:
        page.goto(f"/console{path}")
        for form in page.locator("form[method=post]").all():
            if form.get_attribute("action") in own:
                continue
            for button in form.locator("button:not([type=button])").all():
                expect(button).to_be_disabled()
                expect(button).to_have_attribute("title", re.compile("^Your account cannot change this"))
    page.goto("/console/access")
    expect(page.get_by_role("alert")).to_contain_text("administrator")


def test_after_signing_out_back_shows_nothing(page: Any, sign_in: Any) -> None:
    sign_in()
    page.goto("/console/changes")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.go_back()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_of_two_tabs_the_stale_form_is_refused_and_keeps_what_was_typed(page: Any, sign_in: Any) -> None:
    sign_in()
    page.goto("/console/settings/behaviour")
    other = page.context.new_page()
    other.goto("/console/settings/behaviour")
    other.get_by_label("State that means Done").fill("3")
    other.get_by_role("button", name="Save").first.click()
    expect(other.get_by_text("Saved.")).to_be_visible()
    page.get_by_label("State that means Done").fill("4")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Another user has changed the settings")).to_be_visible()
    expect(page.get_by_label("State that means Done")).to_have_value("4")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("State that means Done")).to_have_value("4")


def test_a_form_of_a_tab_whose_session_was_signed_out_in_another_changes_nothing(
    page: Any, sign_in: Any
) -> None:
    sign_in()
    page.goto("/console/settings/behaviour")
    other = page.context.new_page()
    other.goto("/console")
    other.get_by_role("button", name="Sign out").click()
    other.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_label("State that means Done").fill("4")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
    sign_in()
    page.goto("/console/settings/behaviour")
    expect(page.get_by_label("State that means Done")).to_have_value("2")


def test_the_connection_is_tried_with_what_is_typed_and_the_stored_key_goes_nowhere_else(
    page: Any, sign_in: Any
) -> None:
    sign_in()
    page.goto("/console/settings")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("heading", name="The connection works")).to_be_visible(timeout=SLOW_MS)
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("alert")).to_contain_text("API key")


def test_a_language_is_chosen_and_kept(page: Any, sign_in: Any, bridge: Bridge) -> None:
    bridge.forward(task_event())
    sign_in()
    page.goto("/console/tickets/4711")
    page.get_by_role("button", name="Français").click()
    expect(page.get_by_role("heading", name="Tout est dans Redmine")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    assert "/tickets/4711" in page.url, "one stays where one was"
    exact = page.locator(".story time").first.get_attribute("title")
    assert re.match(r"\d{1,2} \S+ \d{4}.* · \d\d/\d\d/\d{4} \d\d:\d\d:\d\d UTC$", exact), exact
    page.get_by_role("link", name="Événements").click()
    expect(page.get_by_role("heading", name="Événements", level=1)).to_be_visible()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Events", level=1)).to_be_visible()
