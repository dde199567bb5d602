"""Hours are logged on the day of the work, even after outages and lost answers; an unreadable day is left out."""

from __future__ import annotations

import json

from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.store.tables.journal import JournalEvent
from tests.support.bridge import Bridge
from tests.support.events import task, task_event
from tests.support.ledger import entries, row, until_settled

DAYS = {512: "2026-01-20", 513: "2026-01-21", 514: None}


def test_what_waited_through_an_outage_is_booked_where_it_belongs(bridge: Bridge, stand_in: StandIn) -> None:
    fault = stand_in.fault("status_before", status=503, retry_after=1)
    bridge.receive(task_event(of_task=task(date="2026-01-20 23:30:00")))
    bridge.sync()
    stand_in.clear_faults(fault)
    stand_in.settings(clock_offset=3 * 86400.0)
    bridge.breaker.end()
    until_settled(bridge)
    assert [one["spent_on"] for one in entries(stand_in)] == ["2026-01-20"]


def test_entries_that_only_their_days_tell_apart_are_each_found_after_a_lost_answer(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event(of_task=task(500))) == ["done"]
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=2)
    stand_in.fault("reset_before", method="POST", path="/time_entries.json", count=1)
    for at, (task_id, day) in enumerate(DAYS.items(), 1):
        bridge.receive(task_event(at, of_task=task(task_id, content="the same", date=day)))
    bridge.sync()
    until_settled(bridge)
    found = {one["id"]: one["spent_on"] for one in entries(stand_in) if one["comments"] == "the same"}
    assert len(found) == len(DAYS)
    for task_id in (512, 513):
        assert found[row(bridge, Kind.TICKET_TASK, task_id).tracker_id] == DAYS[task_id]


def test_a_day_that_the_journal_has_from_before_and_cannot_be_read_is_none(
    bridge: Bridge, stand_in: StandIn
) -> None:
    (event_id,) = bridge.receive(task_event())
    old = json.dumps(task_event(of_task=task(date="20.01.2026")))
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(payload=old))
    bridge.sync()
    assert bridge.event(event_id).state == "done"
    assert "spent_on" not in (row(bridge, Kind.TICKET_TASK, 512).body or {})["time_entry"]
    assert len(entries(stand_in)) == 1
