"""The newest known state of a ticket task decides what is logged, and where (SPEC section 3)."""

from __future__ import annotations

from typing import Any

from deploy.sandbox.tracker.control import StandIn
from shared.store.tables.journal import EventState
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

HOUR = 3600


def entries(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["time_entries"]


def test_hours_that_were_taken_back_before_they_were_sent_are_not_logged(
    bridge: Bridge, stand_in: StandIn
) -> None:
    states = bridge.forward(
        task_event(1, of_task=task(actiontime=8 * HOUR)), task_event(2, of_task=task(state=1))
    )
    assert states == [EventState.SUPERSEDED, EventState.SKIPPED]
    assert entries(stand_in) == []
    bridge.forward(task_event(3, of_task=task(actiontime=HOUR)))
    assert [float(one["hours"]) for one in entries(stand_in)] == [1]


def test_an_older_event_that_comes_after_the_undoing_logs_nothing(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.forward(task_event(2, of_task=task(state=1)))
    assert bridge.forward(task_event(1)) == [EventState.SUPERSEDED]
    assert entries(stand_in) == []


def test_a_task_that_moves_to_another_ticket_before_it_is_logged_is_logged_there(
    bridge: Bridge, stand_in: StandIn
) -> None:
    old, new = bridge.receive(task_event(1), task_event(2, of_ticket=ticket(99)))
    bridge.sync(4711)
    assert entries(stand_in) == []
    bridge.sync(99)
    (entry,) = entries(stand_in)
    subject = next(one["subject"] for one in stand_in.state()["issues"] if one["id"] == entry["issue_id"])
    assert "99" in subject
    assert [bridge.event(one).state for one in (old, new)] == [EventState.SUPERSEDED, EventState.DONE]


def test_a_task_that_was_logged_stays_logged_when_it_is_undone(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.forward(task_event(1))
    bridge.forward(task_event(2, of_task=task(state=1)))
    assert len(entries(stand_in)) == 1
