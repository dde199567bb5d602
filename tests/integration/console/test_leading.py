"""Addresses that people type lead to the console, and a search without results says so."""

from __future__ import annotations

import pytest

from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import SAME_ORIGIN


@pytest.mark.parametrize(
    ("typed", "to"),
    [
        ("/", "/console"),
        ("/console/", "/console"),
        ("/console/events/?state=failed", "/console/events?state=failed"),
        ("/console//evil.test//", "/console//evil.test"),
        ("/console/%0d%0aX:1/", "/console/%0D%0AX%3A1"),
    ],
)
def test_a_typed_address_leads_to_the_page_that_is_meant(console: Console, typed: str, to: str) -> None:
    answer = console.http.get(console.base_url + typed, allow_redirects=False, timeout=10)
    assert (answer.status_code, answer.headers["Location"]) == (308, to)


def test_the_api_keeps_to_its_addresses(console: Console) -> None:
    assert console.ask("GET", "/api/events/").status_code == 404
    assert console.ask("GET", "/").status_code == 404
    answer = console.http.post(console.base_url + "/", headers=SAME_ORIGIN, allow_redirects=False, timeout=10)
    assert answer.status_code == 401


def test_a_browser_gets_the_icon_without_signing_in(console: Console) -> None:
    answer = console.http.get(console.base_url + "/favicon.ico", timeout=10)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/svg+xml")
    assert answer.content.startswith(b"<svg")


def test_a_number_that_is_none_says_so(come_in: ComeIn) -> None:
    visitor = come_in("viewer")
    assert "“abc” is not a GLPI id" in visitor.open("/console/links/open?kind=entity&id=abc", status=422)
    assert "“-1” is not a GLPI id" in visitor.open("/console/links/open?kind=project&id=-1", status=422)
