"""If three tickets in a row get no clear answer, the tracker is away: everything waits, and one probe checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.work import pending
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail, Fault
from shared.notices.render import sentence
from shared.redis.circuit_breaker import FIRST_PAUSE_S
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from worker.ticket.outages import UnclearAnswers

pytestmark = pytest.mark.promise("OPS-11")

FAULTS: dict[str, dict[str, Any]] = {
    "502": {"kind": "status_before", "status": 502},
    "503 without a time": {"kind": "status_before", "status": 503},
    "500, done all the same": {"kind": "status_after", "status": 500},
    "reset": {"kind": "reset_before"},
    "closed, done all the same": {"kind": "close_after"},
    "an answer that breaks off": {"kind": "truncated_after"},
}


def send(bridge: Bridge, number: int) -> str:
    """Log a ticket's time; return the resulting state of its event."""
    (state,) = bridge.forward(
        task_event(of_ticket=ticket(number), of_task=task(number * 10)), ticket_id=number
    )
    return state


def creations(stand_in: StandIn) -> int:
    return len([one for one in stand_in.requests() if one["method"] == "POST"])


def is_paused(bridge: Bridge) -> bool:
    return bridge.breaker.current() is not None


def reasons(bridge: Bridge) -> list[str]:
    with bridge.store.transaction() as tx:
        return [str(row.notice.code) for row in tx.journal.find(limit=None) if row.notice]


def end_of_pause(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pause and all waiting times end."""
    paused = bridge.breaker.current()
    assert paused is not None
    monkeypatch.setattr("shared.redis.circuit_breaker.now", lambda _: paused.until + 1)
    bridge.hurry()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_third_ticket_without_a_clear_answer_begins_a_pause_that_says_why(
    bridge: Bridge, stand_in: StandIn, fault: dict[str, Any]
) -> None:
    stand_in.fault(**fault)
    assert [send(bridge, one) for one in (1, 2)] == ["pending", "pending"]
    assert not is_paused(bridge)
    assert send(bridge, 3) == "pending"
    paused = bridge.breaker.current()
    assert paused is not None
    assert paused.reason.code == Fault.TRACKER_FAILING
    assert paused.reason.params["method"] == "POST"
    before = creations(stand_in)
    assert send(bridge, 4) == "pending"
    assert creations(stand_in) == before, "no further ticket tries by itself"


def test_a_tracker_that_does_not_answer_in_time_is_one(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("timeout_before", seconds=6)
    for one in (1, 2, 3):
        send(bridge, one)
    paused = bridge.breaker.current()
    assert paused is not None
    assert paused.reason.params["detail"].code == Detail.TIME_OUT


def test_the_event_says_why_it_waits(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", status=502)
    for one in (1, 2, 3):
        send(bridge, one)
    assert str(Fault.TRACKER_FAILING) in reasons(bridge)


def test_one_ticket_that_the_tracker_fails_over_stops_nobody(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", method="POST", path="/issues.json", status=500)
    send(bridge, 1)
    for _ in range(5):
        bridge.hurry()
        bridge.sync(1)
    assert not is_paused(bridge)
    stand_in.clear_faults()
    assert send(bridge, 2) == "done"


def test_a_good_answer_in_between_is_no_outage(bridge: Bridge, stand_in: StandIn) -> None:
    send(bridge, 9)
    for one in range(1, 6):
        stand_in.fault("status_before", method="POST", path="/issues.json", status=502, count=1)
        send(bridge, one)
        (state,) = bridge.forward(ticket_event(one, of_ticket=ticket(9, status=1 + one % 2)), ticket_id=9)
        assert state == "done"
    assert not is_paused(bridge)


def test_a_probe_asks_what_creates_nothing_and_as_long_as_that_gets_no_clear_answer_all_wait(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("status_before", status=502)
    for one in (1, 2, 3):
        send(bridge, one)
    before, first = creations(stand_in), bridge.breaker.current()
    end_of_pause(bridge, monkeypatch)
    bridge.service = replace(bridge.service, unclear_answers=UnclearAnswers())  # another process probes
    bridge.sync(1)
    assert creations(stand_in) == before, "nothing more is in doubt for it"
    again = bridge.breaker.current()
    assert first is not None
    assert again is not None
    assert again.reason.code == Fault.TRACKER_FAILING
    assert (first.length, again.length) == (FIRST_PAUSE_S, 2 * FIRST_PAUSE_S)
    assert bridge.breaker.enter().blocked_by is not None


def test_after_it_everything_goes_on_and_each_thing_is_there_once(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("status_after", status=502)
    for one in (1, 2, 3, 4):
        send(bridge, one)
    stand_in.clear_faults()
    end_of_pause(bridge, monkeypatch)
    for _ in range(4):
        for one in (4, 3, 2, 1):
            bridge.sync(one)
        bridge.hurry()
    assert not is_paused(bridge)
    subjects = [row["subject"] for row in stand_in.state()["issues"]]
    logged = [row["comments"] for row in stand_in.state()["time_entries"]]
    for one in (1, 2, 3, 4):
        assert subjects.count(ticket(one)["title"]) == 1
        assert logged.count(f"Extinguished {one * 10}") == 1
    with bridge.store.transaction() as tx:
        assert {row.state for row in tx.journal.find(limit=None)} == {"done"}
        assert all(row.state == LedgerState.LINKED for row in map(tx.issues.get, (1, 2, 3, 4)) if row)


def test_a_ticket_that_the_tracker_fails_over_is_no_outage_as_a_probe_either(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("status_before", status=502)
    for one in (1, 2, 3):
        send(bridge, one)
    stand_in.clear_faults()
    stand_in.fault("status_before", method="POST", status=500)
    end_of_pause(bridge, monkeypatch)
    bridge.receive(task_event(of_ticket=ticket(5), of_task=task(50)))
    bridge.sync(5)
    assert not is_paused(bridge), "the tracker has answered the question before it"


def test_a_status_that_may_still_arrive_is_not_given_again_before_that(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (1, 2, 3):
        assert send(bridge, one) == "done"
    stand_in.fault("status_after", method="PUT", status=502)
    for one in (1, 2, 3):
        event = ticket_event(5, of_ticket=ticket(one, status=5))
        assert bridge.forward(event, ticket_id=one) == ["pending"]
    assert is_paused(bridge)
    with bridge.store.transaction() as tx:
        state, now = tx.statuses.get(3), tx.now()
    assert state is not None
    assert state.status_next_at is not None
    assert (state.status_next_at - now).total_seconds() > bridge.settings.settling_time - 5


def test_the_doctor_says_that_everything_waits(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", status=502)
    for one in (1, 2, 3):
        send(bridge, one)
    connect = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect
    installation = Installation(
        bridge.settings, bridge.store, bridge.redis, Vault(bridge.settings.secret_keys), connect, lambda: True
    )
    (found,) = pending(installation)
    (why,) = [found.found.params["why"]]
    assert why.code == WorkFinding.EVERYTHING_PAUSED
    assert "Redmine gave no clear answer for several tickets in a row" in sentence(found.found)
    assert "answered 502" in sentence(found.found)


def test_those_under_way_at_the_same_time_stop_as_well(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", status=502)
    numbers = range(1, 21)
    bridge.receive(*[task_event(of_ticket=ticket(one), of_task=task(one * 10)) for one in numbers])
    bridge.sync_together(*numbers, callers=2)
    assert is_paused(bridge)
    assert creations(stand_in) <= 5
