"""The console works by keyboard alone, at 200 %, with the system's colours, and without motion."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PASSWORD
from tests.browser.pages import PAGES, filled
from tests.support.bridge import Bridge
from tests.support.events import task_event


def tab_to(page: Any, name: str) -> None:
    """Press Tab until an element with that name has the focus, which must be visible."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_a_failure_is_found_and_replayed_with_the_keyboard_alone(
    page: Any, console: Any, bridge: Bridge
) -> None:
    bridge.configure(default_activity_id=77)
    assert bridge.forward(task_event()) == ["failed"]
    bridge.configure(default_activity_id=9)
    page.goto("/console/sign-in")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.keyboard.type("operator")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    tab_to(page, "See them")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Events", level=1).wait_for()
    tab_to(page, "Replay 1 event")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("button", name="Replay 1 event")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Replay 1 event").press("Enter")
    expect(page.get_by_text("deskbridge is processing it again.")).to_be_visible()


def test_tab_leaves_the_editor_of_templates(page: Any, sign_in: Any) -> None:
    sign_in()
    page.goto("/console/templates/new?operation=issue.create")
    page.get_by_role("textbox", name="Body").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("textbox", name="Body")).not_to_be_focused()


@pytest.mark.parametrize("how", ["page", "text"])
def test_twice_as_large_nothing_is_cut_off(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: Any, how: str
) -> None:
    """At 200 %, a window of 1280 pixels is 640 wide; a browser can also enlarge only the text.

    Then widths in `rem` double, too: 780 pixels are on the narrow side of 50rem in both cases.
    """
    filled(bridge, stand_in)
    page.set_viewport_size({"width": 640 if how == "page" else 780, "height": 400})
    sign_in()
    wrong = []
    for path in PAGES:
        page.goto(f"/console{path}")
        if how == "text":
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 28
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(path)
    assert wrong == []


def test_with_the_colours_of_the_system_everything_is_still_told_apart(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: Any
) -> None:
    filled(bridge, stand_in)
    page.emulate_media(forced_colors="active")
    sign_in()
    for path in PAGES:
        page.goto(f"/console{path}")
        assert page.evaluate("matchMedia('(forced-colors: active)').matches")
        for kind in (".badge", ".say", ".count", ".tile", ".button", "button.main"):
            for one in page.locator(f"{kind}:visible").all():
                assert one.evaluate("one => getComputedStyle(one).borderTopStyle") != "none", (path, kind)
    page.goto("/console")
    bar, worse = (
        page.locator(f".chart .{name}").first.evaluate("one => getComputedStyle(one).fill")
        for name in ("bar", "worse")
    )
    assert bar != worse
    here = page.locator(".side nav a[aria-current]")
    assert here.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


def test_who_wants_no_motion_gets_none(page: Any, sign_in: Any) -> None:
    page.emulate_media(reduced_motion="reduce")
    sign_in()
    durations = "[...document.querySelectorAll('*')].map(one => getComputedStyle(one).transitionDuration)"
    assert set(page.evaluate(durations)) == {"0s"}
