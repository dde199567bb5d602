"""The first page and its tiles: it never says that all is well while something waits or has failed."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.records.rights import Right
from shared.process.itself import Process
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.store.tables.journal import JournalEvent
from shared.store.tables.types import clock
from tests.integration.console.conftest import ComeIn
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

ALL_IS_WELL = "All systems operational"


def tile(page: str) -> tuple[str, str]:
    """Return the tone and the text of the tracker's tile."""
    found = re.search(r'<a class="tile (\w+)" href="[^"]+"><span class="name">Redmine</span>(.*?)</a>', page)
    assert found
    return found[1], re.sub(r"<[^>]+>", " ", found[2])


def test_the_tile_of_the_tracker_shows_its_last_answer_and_the_age(
    come_in: ComeIn, bridge: Bridge, stand_in: StandIn
) -> None:
    visitor = come_in("viewer")
    Heartbeats(bridge.redis).mark(WORKER)
    visitor.open("/console")
    assert tile(visitor.page)[0] == "calm"
    assert "Not contacted yet" in tile(visitor.page)[1]
    bridge.forward(task_event())
    visitor.open("/console")
    assert tile(visitor.page)[0] == "good"
    assert re.search(r"Answers .*last answer: 20\d,\s+(now|just now|\d+ s)", tile(visitor.page)[1])
    stand_in.fault("status_before", status=502)
    bridge.forward(task_event(of_ticket=ticket(4712), of_task=task(513)), ticket_id=4712)
    visitor.open("/console")
    assert tile(visitor.page)[0] != "good"
    assert "last answer: 502" in tile(visitor.page)[1]
    stand_in.clear_faults()


def test_what_is_not_set_up_is_no_green_tile(come_in: ComeIn, bridge: Bridge) -> None:
    bridge.configure(base_url=None)
    visitor = come_in("viewer")
    visitor.open("/console")
    assert tile(visitor.page)[0] == "calm"
    assert "Not connected" in tile(visitor.page)[1]


def test_a_status_that_is_not_mapped_is_not_shown_as_done(come_in: ComeIn, bridge: Bridge) -> None:
    bridge.forward(task_event())
    bridge.configure(status_map={})
    shown = come_in("viewer").open("/console/tickets/4711")
    assert "Everything is in Redmine" not in shown
    assert "without its status" in shown
    assert re.search(r"Status\s*!\s*Warning", shown)


@pytest.fixture
def visitor(come_in: ComeIn) -> Visitor:
    return come_in(Right.OPERATOR)


@pytest.fixture
def at_work(bridge: Bridge) -> Bridge:
    """A deskbridge with a running worker."""
    for kind in (WORKER, BEAT):
        Heartbeats(bridge.redis).mark(kind)
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    return bridge


def test_the_overview_says_that_all_is_well_where_all_is(visitor: Visitor, at_work: Bridge) -> None:
    assert at_work.forward(task_event()) == ["done"]
    assert ALL_IS_WELL in visitor.open("/console")


def test_the_overview_says_why_everything_waits_that_gets_no_clear_answer(
    visitor: Visitor, at_work: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", status=502)
    for one in (1, 2, 3):
        at_work.forward(task_event(of_ticket=ticket(one), of_task=task(one)), ticket_id=one)
    page = visitor.open("/console")
    assert "All events are waiting for Redmine." in page
    assert "Redmine gave no clear answer for several tickets in a row" in page
    assert ALL_IS_WELL not in page


def test_the_overview_does_not_say_that_all_is_well_while_an_event_waits_that_was_tried_in_vain(
    visitor: Visitor, at_work: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", method="POST", status=502)
    assert at_work.forward(task_event()) == ["pending"]
    page = visitor.open("/console")
    assert "Some events are not forwarded yet." in page
    assert "answered 502" in page
    assert ALL_IS_WELL not in page


def test_the_overview_does_not_say_that_all_is_well_while_an_event_has_waited_for_long(
    visitor: Visitor, at_work: Bridge
) -> None:
    at_work.receive(task_event())
    assert ALL_IS_WELL in visitor.open("/console"), "it came a moment ago"
    with at_work.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-150)))
    page = visitor.open("/console")
    assert "Some events are not forwarded yet." in page
    assert ALL_IS_WELL not in page


def test_beside_what_failed_the_overview_promises_nothing_of_the_rest(
    visitor: Visitor, at_work: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", method="POST", path="/time_entries.json", status=422)
    assert at_work.forward(task_event()) == ["failed"]
    page = visitor.open("/console")
    assert "1 event failed" in page
    assert "being forwarded" not in page
