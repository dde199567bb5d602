"""Every page in two widths, two schemes and two languages: axe finds nothing serious, nothing overflows the window."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from deploy.sandbox.tracker.control import StandIn
from tests.browser.pages import PAGES, filled, serious
from tests.support.bridge import Bridge

WIDTHS = {"wide": (1440, 900), "narrow": (320, 700)}


@pytest.mark.parametrize(
    ("scheme", "language", "width"),
    [
        ("light", "en", "wide"),
        ("dark", "en", "narrow"),
        ("light", "fr", "narrow"),
        ("dark", "fr", "wide"),
    ],
)
def test_every_page_is_for_everybody(
    page: Any, sign_in: Any, bridge: Bridge, stand_in: StandIn, scheme: str, language: str, width: str
) -> None:
    filled(bridge, stand_in)
    page.emulate_media(color_scheme=scheme)
    across, down = WIDTHS[width]
    page.set_viewport_size({"width": across, "height": down})
    sign_in()
    page.context.set_extra_http_headers({"Accept-Language": language})
    page.goto("/console/sign-in")
    assert page.locator("html").get_attribute("lang") == language
    wrong: list[Any] = [("sign-in", one) for one in serious(Axe().run(page))]
    for path in PAGES:
        page.goto(f"/console{path}")
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append((path, "wider than the window"))
        assert page.locator("h1").count() == 1, path
        wrong += [(path, one) for one in serious(Axe().run(page))]
    page.goto("/console/events?state=failed")
    page.locator("form[action='/console/events/replay'] button.main").click()
    page.get_by_role("dialog").wait_for()
    wrong += [("dialog", one) for one in serious(Axe().run(page))]
    assert wrong == []
