"""How many calls go to the tracker at once: what the tracker takes, told to whoever asks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.finding import CheckResult
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.services import calls
from shared.codes.findings import Finding
from shared.codes.limits import CallLimitBy
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.redis.concurrency_limit import ConcurrencyLimit, Limit
from shared.tracker.meter import Meter
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import entries, ours
from tests.support.together import at_work
from tests.support.waiting import until
from worker.runtime.quota import Quota
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
    assert nothing.found == Finding.NO_CALLS_LATELY()
    ConcurrencyLimit(bridge.redis).decide(Limit(3.7, CallLimitBy.QUEUEING, gain=1.2))
    (one,) = found(bridge)
    assert one.found == Finding.CALLS_AT_ONCE(count=3, because=CallLimitBy.QUEUEING(gain=1.2))
    assert "only 1.2 times as much" in one.what


def test_the_trace_says_that_a_ticket_waited_and_for_what(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Limit(3.7, CallLimitBy.QUEUEING, gain=1.2)
    bridge.service = replace(bridge.service, call_limit=lambda: limit)
    bridge.forward(task_event())
    assert not any(step.startswith("Waited") for step in bridge.steps()), "not long"
    monkeypatch.setattr(creation, "LONG_S", 0.0)
    bridge.forward(task_event(2, of_ticket=ticket(8), of_task=task(2)), ticket_id=8)
    assert any(
        " for one of 3 calls at once: twice as many do only 1.2 times" in step for step in bridge.steps(8)
    )


def test_many_tickets_open_the_limit_of_a_tracker_that_takes_them(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is what was found to be worth it, whatever a busy machine made of a trial after that."""
    stand_in.settings(latency_ms=100)
    found, decide = list[float](), ConcurrencyLimit.decide

    def noted(self: ConcurrencyLimit, limit: Limit) -> None:
        found.append(limit.kept or limit.calls)  # under a trial, what was before it
        decide(self, limit)

    monkeypatch.setattr(ConcurrencyLimit, "decide", noted)
    meter = Meter()
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys), meter=meter)
    bridge.service = replace(bridge.service, connect=connector.connect)
    ids = bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in MANY))
    quota = Quota(ConcurrencyLimit(bridge.redis), meter, "here", 16)
    with at_work(bridge.service.sync_ticket, callers=16, share=quota) as scheduler:
        quota.keep_telling(lambda: scheduler.wanted, scheduler.look)
        scheduler.take(MANY)
        until(lambda: not scheduler.is_at_work, seconds=90)
    assert {bridge.event(one).state for one in ids} == {"done"}
    assert len(ours(stand_in)) == len(entries(stand_in)) == len(MANY)
    assert ConcurrencyLimit(bridge.redis).current() is not None
    assert max(found) > 4, found
