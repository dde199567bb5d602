"""Events can be filtered by person, place, cause and time, selected for a replay, and exported."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest

from producer.admin.queries.events import event_page
from producer.admin.records.event_search import Wanted
from shared.store.tables.journal import EventState, JournalEvent
from tests.integration.console.conftest import Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

CLAIRE = {"id": 21, "email": "claire@example.test", "name": "Claire Lefèvre"}
HUGO = {"id": 22, "email": "hugo@example.test", "name": "Hugo Bernard"}


@pytest.fixture
def told(bridge: Bridge) -> Bridge:
    """Two events of Claire, and one of Hugo in an entity without a mapping."""
    for number, person, entity in ((1, CLAIRE, 3), (2, CLAIRE, 3), (3, HUGO, 77)):
        of_ticket = ticket(
            number, technician=None, entity_id=entity, entity_name=f"Branch {entity}", title="=VPN"
        )
        bridge.forward(task_event(of_ticket=of_ticket, of_task=task(number, user=person)), ticket_id=number)
    return bridge


@pytest.mark.parametrize(
    ("query", "tickets"),
    [
        ("person=21", {1, 2}),
        ("person=2", set()),
        ("person=hugo@example.test", {3}),
        ("person=HUGO", {3}),
        ("place=entity:77", {3}),
        ("place=project:77", set()),
        ("place=77", {3}),
        ("place=branch+3", {1, 2}),
        ("cause=no_link", {3}),
        ("last=hour&person=21", {1, 2}),
        ("kind=ticket.updated", set()),
        ("until=2020-01-01T00:00:00Z", set()),
    ],
)
def test_page_and_api_filter_alike(
    visitor: Visitor, console: Console, told: Bridge, query: str, tickets: set[int]
) -> None:
    assert {one["ticket_id"] for one in console.get(f"/api/events?{query}")} == tickets
    if "until" in query:
        return
    visitor.sign_in("viewer")
    visitor.open(f"/console/events?{query}")
    assert {one for one in (1, 2, 3) if f'href="/console/tickets/{one}"' in visitor.page} == tickets


def test_an_hour_ago_is_not_within_the_last_hour(console: Console, told: Bridge) -> None:
    with told.store.database.transaction() as session:
        row = session.get(JournalEvent, 1)
        assert row is not None
        row.received_at -= timedelta(hours=2)
    assert {one["id"] for one in console.get("/api/events?last=hour")} == {2, 3}
    assert {one["id"] for one in console.get("/api/events?last=day&below=3")} == {1, 2}


def test_what_matches_is_exported_as_csv_and_json_and_the_address_keeps_the_filter(
    visitor: Visitor, told: Bridge
) -> None:
    visitor.sign_in("viewer")
    visitor.open("/console/events?person=21&last=week")
    assert 'href="/console/events.csv?person=21&amp;last=week"' in visitor.page
    answer = visitor.http.get(f"{visitor.base_url}/console/events.csv?person=21", timeout=30)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="deskbridge-events.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(row["ticket_id"], row["who"], row["title"]) for row in rows] == [
        ("2", "Claire Lefèvre", "'=VPN"),
        ("1", "Claire Lefèvre", "'=VPN"),
    ], "no spreadsheet takes a title for a formula"
    found: Any = visitor.http.get(
        f"{visitor.base_url}/console/events.json?place=entity:77", timeout=30
    ).json()
    assert [(one["ticket_id"], one["state"], one["code"], one["who"]) for one in found] == [
        (3, "skipped", "no_link", "Hugo Bernard")
    ]
    assert visitor.http.get(f"{visitor.base_url}/console/events.json?person=5", timeout=30).json() == []


def test_a_row_says_what_it_is_about_and_its_sentence_names_no_command(
    visitor: Visitor, told: Bridge
) -> None:
    visitor.sign_in("viewer")
    page = visitor.open("/console/events?place=entity:77")
    assert "Entity and project not mapped" in page
    assert "Hugo Bernard" in page
    assert "=VPN" in page
    assert "deskbridge mapping add" not in page, "a page does it"
    assert "/console/links/entity/77?back=%2Fconsole%2Fevents%3Fplace%3Dentity%253A77" in visitor.page


def test_chosen_events_are_replayed_and_no_others(visitor: Visitor, told: Bridge) -> None:
    told.forward(task_event(of_ticket=ticket(4, entity_id=77), of_task=task(4, user=HUGO)), ticket_id=4)
    visitor.sign_in("operator")
    visitor.open("/console/events?state=skipped")
    assert visitor.do("/console/events/replay", {"chosen": "yes", "state": "skipped"}) == (
        "/console/events?state=skipped&did=none-chosen"
    )
    led = visitor.do("/console/events/replay", {"chosen": "yes", "state": "skipped", "id": "3"})
    assert led == "/console/events?state=skipped&did=replayed"
    with told.store.transaction() as tx:
        states = {row.id: row.state for row in tx.journal.find(limit=10)}
    assert (states[3], states[4]) == (EventState.PENDING, EventState.SKIPPED)
    assert (
        visitor.do("/console/events/replay", {"chosen": "yes", "id": "999"}) == "/console/events?did=nothing"
    )


def test_pages_of_a_persons_events_lead_on_and_count_all_of_them(bridge: Bridge) -> None:
    said = [
        task_event(of_ticket=ticket(one, technician=None), of_task=task(one, user=CLAIRE))
        for one in range(1, 6)
    ]
    numbers = bridge.receive(*said)
    bridge.receive(task_event(of_ticket=ticket(9, technician=None), of_task=task(9, user=HUGO)))
    wanted, places = Wanted(person="21"), []
    below = None
    while True:
        found = event_page(bridge.store, wanted, size=2, below=below, above=None)
        places.append([row.id for row in found.rows])
        assert (found.matching, found.newest) == (5, numbers[-1])
        assert found.has_newer is (below is not None)
        if not found.has_older:
            break
        below = found.rows[-1].id
    assert places == [numbers[4:2:-1], numbers[2:0:-1], numbers[:1]]
    before = event_page(bridge.store, wanted, size=2, below=None, above=numbers[0])
    assert [row.id for row in before.rows] == numbers[2:0:-1]
