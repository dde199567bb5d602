"""Addresses that people type lead to the console, and a search that finds nothing says so."""

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


def test_a_search_for_what_is_no_ticket_number_says_so(come_in: ComeIn) -> None:
    visitor = come_in("viewer")
    assert "“VPN” is no ticket number" in visitor.open("/console/tickets?number=VPN", status=422)
    assert "No number was typed" in visitor.open("/console/tickets?number=", status=422)
    assert (
        visitor.http.get(
            f"{visitor.base_url}/console/tickets?number=%2312", allow_redirects=False, timeout=9
        ).headers["Location"]
        == "/console/tickets/12"
    )
    assert "“abc” is no number" in visitor.open("/console/links/open?kind=entity&id=abc", status=422)
    assert "“-1” is no number" in visitor.open("/console/links/open?kind=project&id=-1", status=422)
