"""Layout: the editor is beside its preview, every header has text, and targets are large enough for a finger."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.browser.pages import PAGES, filled
from tests.support.bridge import Bridge

SMALL = """sentence => [...document.querySelectorAll('a, button, summary, select, textarea, .check, input')]
  .filter(one => one.checkVisibility() && one.type !== 'hidden')
  .filter(one => !one.closest('.skip, .unseen') && !one.matches(sentence))
  .map(one => [one, one.getBoundingClientRect()])
  .filter(([one, box]) => box.width && (box.height < 24 || (box.width < 24 && one.matches('input, button'))))
  .map(([one, box]) => `${one.tagName} ${one.textContent.trim().slice(0, 30)} ${box.width}x${box.height}`)"""
SENTENCE = "p a, li:not(nav li) a, dd a, dt a, .say a, bdi a, .hint a, .check input"
"""Links within a sentence, which are only as high as its line (WCAG 2.5.8)."""

EMPTY = (
    "[...document.querySelectorAll('th')].filter(one => !one.textContent.trim()).map(one => one.outerHTML)"
)


@pytest.mark.parametrize(("across", "down"), [(1280, 900), (400, 800)])
def test_targets_are_24_pixels_high_and_every_column_has_a_header(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn, across: int, down: int
) -> None:
    filled(bridge, stand_in)
    page.set_viewport_size({"width": across, "height": down})
    sign_in()
    wrong: list[Any] = []
    for path in PAGES:
        page.goto(f"/console{path}")
        wrong += [(path, one) for one in page.evaluate(SMALL, SENTENCE) + page.evaluate(EMPTY)]
    assert wrong == []


def test_the_editor_is_beside_its_preview_and_on_a_phone_above_it(page: Any, sign_in: Any) -> None:
    sign_in()
    for across, beside in ((1280, True), (400, False)):
        page.set_viewport_size({"width": across, "height": 900})
        page.goto("/console/templates/new?operation=issue.create")
        editor, preview = page.locator(".editor").bounding_box(), page.locator("#shown").bounding_box()
        assert (preview["x"] > editor["x"] + editor["width"]) is beside
        assert editor["width"] > (500 if beside else 300)


def test_the_modules_of_a_new_project_are_shown_where_they_count_also_on_a_phone(
    page: Any, sign_in: Any
) -> None:
    """What is ticked without the first box is ignored."""
    sign_in()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/console/links/entity/12")
    page.get_by_label("a new Redmine project").check()
    last = page.get_by_label("gantt")
    is_shown_at_first = last.is_visible()
    page.get_by_label("Choose modules here").check()
    box = last.bounding_box()
    assert (is_shown_at_first, box["x"] + box["width"] < 390) == (False, True)
