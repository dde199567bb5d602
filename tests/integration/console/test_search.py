"""One search on every page finds tickets, issues, people, titles and events; a single hit opens at once."""

from __future__ import annotations

from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket


def led_to(visitor: Visitor, text: str) -> str:
    """Search; return where the single hit redirects to."""
    answer = visitor.http.get(
        f"{visitor.base_url}/console/search", params={"q": text}, allow_redirects=False, timeout=30
    )
    assert answer.status_code == 303, answer.text[-1500:]
    return answer.headers["Location"]


def test_a_search_leads_to_what_there_is_one_of_and_lists_what_there_is_more_of(
    visitor: Visitor, bridge: Bridge
) -> None:
    claire = {"id": 21, "email": "claire@example.test", "name": "Claire Lefèvre"}
    told = ticket(4711, title="Émail «VPN» 100% down", technician=claire)
    bridge.forward(task_event(of_ticket=told, of_task=task(512, user=claire)))
    bridge.forward(task_event(of_ticket=ticket(4712), of_task=task(513)), ticket_id=4712)
    visitor.sign_in("viewer")
    visitor.open("/console/doctor")
    assert 'role="search"' in visitor.page
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row is not None
    assert row.tracker_id
    assert led_to(visitor, "4711") == "/console/tickets/4711"
    assert led_to(visitor, f"#{row.tracker_id}") == "/console/tickets/4711", "the issue"
    assert led_to(visitor, "#4712") == "/console/tickets/4712", "no issue has it, a ticket does"
    assert led_to(visitor, "vpn ÉMAIL") == "/console/tickets/4711", "each word, in whatever case"
    assert led_to(visitor, "100%") == "/console/tickets/4711", "no wildcard"
    assert led_to(visitor, "claire@example") == "/console/events?person=21"
    assert led_to(visitor, "lefèvre").startswith("/console/events?person=Claire"), "whom only events name"
    assert led_to(visitor, "printer 4712") == "/console/tickets/4712"
    nothing = visitor.open("/console/search?q=zebra", status=404)
    assert "No results" in nothing
    assert "Searched: names and e-mails" in nothing
    assert "Enter the id of a ticket" in visitor.open("/console/search?q=", status=404)


def test_a_number_that_is_an_event_and_a_ticket_lists_both(visitor: Visitor, bridge: Bridge) -> None:
    bridge.forward(task_event(of_ticket=ticket(1), of_task=task(512)), ticket_id=1)
    visitor.sign_in("viewer")
    listed = visitor.open("/console/search?q=1")
    assert "Ticket #1" in listed
    assert "Event 1" in listed
    assert "Event 1: " in visitor.open("/console/events?event=1")
