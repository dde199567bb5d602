"""The number of concurrent calls follows what the tracker can take, and is shown to people."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.finding import CheckResult
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.services import calls
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.notices.doctor_service import ServiceFinding
from shared.notices.limits import CallLimit, CallLimitBy
from shared.process.itself import Process
from shared.redis.call_limits import publish
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.latency import note_calls
from shared.tracker.meter import Meter
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries, ours
from tests.support.together import at_work
from tests.support.waiting import until
from worker.runtime.concurrency import ConcurrencyLimit
from worker.ticket import create as creation

MANY = range(1, 121)


def found(bridge: Bridge) -> list[CheckResult]:
    vault = Vault(bridge.settings.secret_keys)
    connect = Connector(bridge.store, vault).connect
    return list(
        calls(Installation(bridge.settings, bridge.store, bridge.redis, vault, connect, lambda: True))
    )


def test_the_doctor_says_how_many_and_why(bridge: Bridge) -> None:
    (nothing,) = found(bridge)
    assert nothing.found == ServiceFinding.NO_CALLS_LATELY()
    worker = replace(Process.here(), host="here", pid=1)
    Heartbeats(bridge.redis).mark(WORKER, worker)
    publish(bridge.redis, worker, CallLimit(3, CallLimitBy.QUEUEING, ratio=1.8))
    (one,) = found(bridge)
    because = CallLimitBy.QUEUEING(ratio=1.8)
    assert one.found == ServiceFinding.CALLS_AT_ONCE(host="here", pid=1, count=3, because=because)
    assert "1.8 times as long" in one.what


def test_the_doctor_speaks_of_response_times_only_after_calls(bridge: Bridge) -> None:
    worker = replace(Process.here(), host="here", pid=1)
    Heartbeats(bridge.redis).mark(WORKER, worker)
    publish(bridge.redis, worker, CallLimit(8))
    assert [one.found for one in found(bridge)] == [ServiceFinding.NO_CALLS_LATELY()]
    note_calls(bridge.redis, {"POST issues": (1, 0.2)})
    assert [one.found.code for one in found(bridge)] == [ServiceFinding.CALLS_AT_ONCE]


def test_the_trace_says_that_a_ticket_waited_and_for_what(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = CallLimit(3, CallLimitBy.QUEUEING, ratio=1.8)
    bridge.service = replace(bridge.service, call_limit=lambda: limit)
    bridge.forward(task_event())
    assert not any(step.startswith("Waited") for step in bridge.steps()), "not long"
    monkeypatch.setattr(creation, "LONG_S", 0.0)
    bridge.forward(task_event(2, of_ticket=ticket(8), of_task=task(2)), ticket_id=8)
    assert any(
        "the worker already made 3 calls at once: responses take 1.8 times as long" in step
        for step in bridge.steps(8)
    )


def test_many_tickets_open_the_limit_of_a_tracker_that_takes_them(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.settings(latency_ms=100)
    limit = ConcurrencyLimit(16)
    limit.share_with(4)
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys), meter=Meter(limit.add))
    bridge.service = replace(bridge.service, connect=connector.connect)
    ids = bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in MANY))
    assert limit.size == 2
    with at_work(bridge.service.sync_ticket, callers=16, limit=limit) as scheduler:
        scheduler.take(MANY)
        until(lambda: not scheduler.is_at_work, seconds=90)
    assert {bridge.event(one).state for one in ids} == {"done"}
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(MANY)
    assert limit.current.size > 4
