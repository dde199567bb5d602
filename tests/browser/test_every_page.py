"""Every page in both widths and both schemes: nothing serious to axe, nothing wider than the window."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support.bridge import Bridge
from tests.support.events import task_event

PAGES = (
    "",
    "/events",
    "/events?state=failed",
    "/tickets/4711",
    "/held",
    "/links",
    "/links/entity/3",
    "/people",
    "/templates",
    "/templates/new?operation=issue.create",
    "/settings",
    "/doctor",
    "/knowledge/KB-TRACKER-002",
    "/changes",
    "/access",
    "/account",
)
WIDTHS = {"wide": (1440, 900), "narrow": (320, 700)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_for_everybody(
    page: Any, sign_in: Any, bridge: Bridge, scheme: str, width: str
) -> None:
    bridge.forward(task_event())
    bridge.configure(default_activity_id=77)
    other = task_event()
    other["ticket"]["id"], other["task"]["id"] = 4712, 600
    bridge.forward(other, ticket_id=4712)
    page.emulate_media(color_scheme=scheme)
    across, down = WIDTHS[width]
    page.set_viewport_size({"width": across, "height": down})
    sign_in()
    wrong: list[Any] = []
    for path in PAGES:
        page.goto(f"/console{path}")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append((path, "wider than the window"))
        assert page.locator("h1").count() == 1, path
        for one in Axe().run(page).response["violations"]:
            if one["impact"] in ("serious", "critical"):
                wrong.append((path, one["id"], [node["html"][:160] for node in one["nodes"]][:3]))
    assert wrong == []
