"""The metrics of a worker's registry over a real database, a real Redis and a tracker."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from producer.admin.records.transaction import Store
from shared.monitoring import state_metrics
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.faults import Fault
from shared.notices.invalid import Invalid
from shared.notices.limits import CallLimit, CallLimitBy
from shared.notices.notice import written
from shared.process.itself import Process
from shared.redis.call_limits import publish
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.keys import key_of
from shared.redis.rate_limit import KEY, RateLimiter
from shared.store.journal.journal import Done
from shared.store.tables.database import Database
from shared.store.tables.journal import EventState
from shared.telemetry import metrics
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

Shown = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_metrics, "FRESH_S", 0.0)


def shown(bridge: Bridge, store: Store | None = None) -> Shown:
    """Return every sample that a worker exports."""
    looks = StateMetricsCollector(bridge.redis, store or bridge.store, lambda: 3)
    text = generate_latest(metrics.registry("worker", looks)).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(found: Shown, name: str, **labels: str) -> float | None:
    """Return a sample, or None if there is none."""
    return found.get((f"deskbridge_{name}", tuple(sorted(labels.items()))))


def grown(before: Shown, after: Shown, name: str, **labels: str) -> float:
    return (of(after, name, **labels) or 0.0) - (of(before, name, **labels) or 0.0)


def test_what_was_done_is_counted_by_outcome_code_operation_and_status(bridge: Bridge) -> None:
    before = shown(bridge)
    assert bridge.forward(task_event()) == ["done"]
    after = shown(bridge)
    assert grown(before, after, "events_ended_total", outcome="done", code="time_logged") == 1
    assert grown(before, after, "tracker_calls_total", operation="POST issues", status="201") == 1
    assert grown(before, after, "tracker_call_seconds_count", operation="POST time_entries") == 1


def test_what_a_transaction_did_not_commit_is_not_counted(bridge: Bridge) -> None:
    (event_id,) = bridge.receive(task_event())
    before = shown(bridge)
    with pytest.raises(KeyError), bridge.store.transaction() as tx:
        tx.journal.done_all(
            [Done(event_id, "ticket-task:512", Fault.OWN_FAULT(error="KeyError"), written(""))]
        )
        raise KeyError
    after = shown(bridge)
    assert grown(before, after, "events_ended_total", outcome="done", code="own_fault") == 0
    assert of(after, "events_pending") == 1


def test_somebody_who_is_nobody_on_the_tracker_is_counted_by_why(bridge: Bridge) -> None:
    before = shown(bridge)
    bridge.forward(task_event(of_task=task(user={"id": 99, "email": "nobody@example.test"})))
    after = shown(bridge)
    codes = {
        labels: value for (name, labels), value in after.items() if name.endswith("as_administrator_total")
    }
    assert sum(codes.values()) > sum(
        value for (name, _), value in before.items() if name.endswith("as_administrator_total")
    )
    assert (("code", "email_unknown"),) in codes


def test_what_waits_has_an_age_and_what_is_paused_asks_for_no_more_workers(bridge: Bridge) -> None:
    bridge.receive(task_event())
    waiting = shown(bridge)
    assert of(waiting, "events_pending") == 1
    assert (of(waiting, "oldest_due_age_seconds") or 0) > 0
    assert of(waiting, "paused", code="") == 0
    bridge.breaker.begin(Fault.TRACKER_AWAY(method="GET", path="/users.json"))
    paused = shown(bridge)
    assert (of(paused, "oldest_pending_age_seconds") or 0) > 0
    assert of(paused, "oldest_due_age_seconds") == 0
    assert of(paused, "paused", code="tracker_away") == 1
    assert of(paused, "paused", code="") is None


def test_what_waits_at_the_rate_limit_has_an_age_and_how_long_a_turn_takes_is_shown(bridge: Bridge) -> None:
    bridge.receive(task_event())
    assert of(shown(bridge), "rate_limit_wait_seconds") == 0
    RateLimiter(bridge.redis, 0.01).next_turn()
    held_back = shown(bridge)
    assert (of(held_back, "oldest_due_age_seconds") or 0) > 0, "so that the alert fires"
    assert 90 < (of(held_back, "rate_limit_wait_seconds") or 0) <= 100
    bridge.redis.set(key_of(bridge.redis, KEY), "nobody's")
    assert of(shown(bridge), "rate_limit_wait_seconds") == 0


def test_how_many_calls_are_made_at_once_is_shown_with_why(bridge: Bridge) -> None:
    worker = replace(Process.here(), host="here", pid=1)
    about = {"worker": "here:1", "why": "limited_by_queueing"}
    assert of(shown(bridge), "tracker_call_limit", **about) is None
    Heartbeats(bridge.redis).mark(WORKER, worker)
    publish(bridge.redis, worker, CallLimit(3, CallLimitBy.QUEUEING, ratio=1.5))
    found = shown(bridge)
    assert of(found, "tracker_call_limit", **about) == 3
    assert of(found, "tracker_call_latency_ratio", worker="here:1") == 1.5


def test_an_event_that_waits_for_its_next_attempt_is_not_due(bridge: Bridge) -> None:
    ids = bridge.receive(task_event())
    with bridge.store.transaction() as tx:
        tx.journal.wait(
            ids, tx.now() + timedelta(hours=1), Fault.TRACKER_AWAY(method="GET", path="/users.json")
        )
    found = shown(bridge)
    assert of(found, "oldest_due_age_seconds") == 0
    assert (of(found, "oldest_pending_age_seconds") or 0) > 0


def test_what_needs_a_person_is_counted(bridge: Bridge) -> None:
    (event_id,) = bridge.receive(task_event())
    with bridge.store.transaction() as tx:
        tx.journal.end([event_id], EventState.FAILED, Fault.OWN_FAULT(error="KeyError"))
        tx.journal.park("a-delivery", "glpi/ticket", b"{}", [("item", Invalid.FIELD_REQUIRED())])
    found = shown(bridge)
    assert of(found, "events_failed", code="own_fault") == 1
    assert of(found, "deliveries_unreadable") == 1
    assert (of(found, "on_hold"), of(found, "misattributed")) == (0, 0)


def test_recovery_mode_is_left_on_once_it_was_on_for_as_long_as_the_backup_was_old(bridge: Bridge) -> None:
    day = timedelta(days=1)
    assert of(shown(bridge), "recovery_left_on_seconds") == 0
    with bridge.store.transaction() as tx:
        now = tx.now()
        tx.recovery.begin(now - 2 * day, now - day)
    assert of(shown(bridge), "recovery_left_on_seconds") == 0
    with bridge.store.transaction() as tx:
        mode = tx.recovery.get()
        assert mode is not None
        mode.began_at, mode.backup_at = now - 3 * day, now - 4 * day
    assert of(shown(bridge), "recovery_left_on_seconds") == pytest.approx(2 * 86400, abs=60)


def test_heartbeat_and_messages_are_shown(bridge: Bridge) -> None:
    Heartbeats(bridge.redis).mark(WORKER)
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    found = shown(bridge)
    assert of(found, "last_seen_age_seconds", process="worker") is not None
    assert of(found, "last_seen_age_seconds", process="producer") is not None
    assert of(found, "last_seen_age_seconds", process="beat") is None
    assert of(found, "rings_waiting") == 3
    assert of(found, "metadata_synchronised_timestamp_seconds") == 0


def test_what_cannot_be_asked_is_left_out_and_said(bridge: Bridge) -> None:
    away = Store(Database("postgresql+psycopg2://deskbridge@127.0.0.1:1/deskbridge"))
    found = shown(bridge, store=away)
    assert of(found, "reachable", service="database") == 0
    assert of(found, "reachable", service="redis") == 1
    assert of(found, "events_pending") is None


def test_however_many_ask_it_is_looked_up_once(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_metrics, "FRESH_S", 60.0)
    asked: list[int] = []

    def backlog() -> int:
        asked.append(1)
        return 0

    looks = StateMetricsCollector(bridge.redis, bridge.store, backlog)
    for _ in range(5):
        assert list(looks.collect())
    assert asked == [1]
