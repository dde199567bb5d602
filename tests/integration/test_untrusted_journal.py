"""Forged journal rows of the producer's role fail alone, and a sync pass uses bounded memory for any number of them."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.store.journal import due as due_module
from shared.store.tables.journal import EventState, JournalEvent
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event

MIB = 1024 * 1024
LATER = datetime(2150, 1, 1, tzinfo=UTC)


def forge(bridge: Bridge, **columns: Any) -> int:
    """Append a row as an attacker with the producer's role could."""
    now = datetime.now(UTC)
    row = {
        "delivery_id": f"forged-{columns}"[:200],
        "digest": "0" * 64,
        "event": "ticket.updated",
        "key": "ticket:4711",
        "ticket_id": 4711,
        "task_id": None,
        "occurred_at": now,
        "clamped": False,
        "received_at": now,
        "payload": json.dumps(ticket_event()),
        "state": EventState.PENDING,
        "attempts": 0,
        **columns,
    }
    with bridge.store.database.transaction() as session:
        return session.scalar(insert(JournalEvent).values(**row).returning(JournalEvent.id)) or 0


def hours(stand_in: StandIn) -> list[float]:
    return [one["hours"] for one in stand_in.state()["time_entries"]]


def states(bridge: Bridge) -> dict[str, int]:
    with bridge.store.database.transaction() as session:
        rows = session.execute(select(JournalEvent.state, func.count()).group_by(JournalEvent.state))
        return dict(rows.all())


@pytest.mark.promise("SEC-57")
@pytest.mark.parametrize(
    "payload",
    [
        "",
        "{",
        "[" * 100_000,
        "null",
        "{}",
        json.dumps({**ticket_event(), "ticket": {"id": 4711}}),
        "9" * 5000,
        '{"x": "' + "x" * (5 * MIB) + '"}',
    ],
    ids=["nothing", "no JSON", "deep", "null", "empty", "no ticket", "a long number", "too large"],
)
def test_a_row_that_cannot_be_read_fails_alone(bridge: Bridge, stand_in: StandIn, payload: str) -> None:
    forged = forge(bridge, payload=payload)
    assert bridge.forward(task_event(), ticket_event(1)) == ["done", "done"]
    assert hours(stand_in) == [1.5]
    row = bridge.event(forged)
    assert (row.state, row.notice and row.notice.code) == ("failed", Reason.EVENT_UNREADABLE)


def test_a_row_that_cannot_be_read_and_claims_to_be_the_newest_of_a_ticket_task_hides_nothing(
    bridge: Bridge, stand_in: StandIn
) -> None:
    forge(
        bridge,
        key="ticket-task:512",
        event="ticket_task.updated",
        task_id=512,
        payload="{",
        occurred_at=LATER,
    )
    assert bridge.forward(task_event()) == ["done"]
    assert hours(stand_in) == [1.5]


@pytest.mark.promise("SEC-57")
@pytest.mark.parametrize(
    "columns",
    [
        {"key": "ticket:4711", "ticket_id": 4711, "task_id": None, "event": "ticket_task.updated"},
        {"key": "ticket-task:999", "task_id": 999, "event": "ticket_task.updated"},
        {"key": "ticket-task:888", "task_id": 888, "event": "ticket_task.added"},
        {"key": "ticket-task:888", "task_id": 999, "event": "ticket_task.updated"},
    ],
)
def test_a_row_about_something_else_than_its_event_logs_no_time(
    bridge: Bridge, stand_in: StandIn, columns: dict[str, Any]
) -> None:
    another_ticket = task_event(of_ticket=ticket(4712), of_task=task(888), event="ticket_task.updated")
    forged = forge(bridge, payload=json.dumps(another_ticket), **columns)
    assert bridge.forward(task_event()) == ["done"]
    assert bridge.event(forged).state == "failed"
    assert hours(stand_in) == [1.5]


@pytest.mark.promise("SEC-58")
@pytest.mark.parametrize("received_at", [None, LATER])
def test_a_time_far_ahead_does_not_win_for_ever(
    bridge: Bridge, stand_in: StandIn, received_at: datetime | None
) -> None:
    bridge.forward(task_event())
    forged = json.dumps(ticket_event(1, of_ticket=ticket(status=6)))
    times = {"received_at": received_at} if received_at else {}
    forge(bridge, payload=forged, occurred_at=LATER, **times)
    bridge.sync()
    with bridge.store.transaction() as tx:
        state = tx.statuses.get(4711)
        assert state is not None
        assert (state.status, state.occurred_at < tx.now() + timedelta(minutes=6)) == (6, True)


@pytest.mark.promise("SEC-59")
def test_many_large_events_are_synced_within_a_bound(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_module, "MOST_BYTES", MIB)
    large = "x" * (MIB // 2)
    bridge.receive(*[task_event(n, of_ticket=ticket(content=large)) for n in range(60)])
    tracemalloc.start()
    try:
        bridge.sync()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert states(bridge) == {"done": 1, "superseded": 59}
    assert hours(stand_in) == [1.5]
    assert peak < 15 * MIB, "all of them at once are more than 30"


def test_of_more_events_than_are_read_at_once_each_ticket_task_s_newest_decides(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_module, "MOST_ROWS", 3)
    events = [
        event
        for number in range(5)
        for event in (
            task_event(number, of_task=task(100 + number, actiontime=3600)),
            task_event(10 + number, of_task=task(100 + number, actiontime=7200)),
            ticket_event(number, of_ticket=ticket(status=1)),
        )
    ]
    ids = bridge.receive(*events, ticket_event(99, of_ticket=ticket(status=5)))
    bridge.sync()
    assert sorted(hours(stand_in)) == [2.0] * 5
    assert states(bridge) == {"done": 6, "superseded": 10}
    assert bridge.event(ids[-1]).state == "done"
    assert [one["status_id"] for one in stand_in.state()["issues"] if one["id"] > 5] == [3]


def test_more_events_than_are_read_at_once_use_up_no_more_attempts(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_module, "MOST_ROWS", 2)
    stand_in.fault("status_before", path="/projects/1/memberships.json", status=500)
    ids = bridge.receive(*[task_event(number) for number in range(20)])
    bridge.sync()
    assert bridge.event(ids[-1]).attempts <= 1
    assert states(bridge)["superseded"] == 19


def test_a_pause_puts_off_everything_that_is_due(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_module, "MOST_ROWS", 2)
    bridge.configure(base_url="http://127.0.0.1:1")
    bridge.receive(*[task_event(number, of_task=task(number + 1)) for number in range(10)])
    bridge.sync()
    with bridge.store.transaction() as tx:
        assert not tx.journal.have_due([4711])
