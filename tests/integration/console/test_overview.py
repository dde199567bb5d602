"""The tiles of the first page: the tracker's last answer and its age, and nothing green that is not set up."""

from __future__ import annotations

import re

from deploy.sandbox.tracker.control import StandIn
from shared.redis.heartbeat import WORKER, Heartbeats
from tests.integration.console.conftest import ComeIn
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket


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
