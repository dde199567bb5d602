"""Workers publish their concurrency limits in Redis, and foreign values in their place are ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import fakeredis
import pytest
from redis import Redis

from shared.notices.limits import CallLimit, CallLimitBy
from shared.process.itself import Process
from shared.redis.call_limits import KEPT_S, KEY, WorkerLimit, publish, published
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.latency import seconds_per_call
from shared.tracker.meter import LOST, Meter
from worker.process import report_calls
from worker.runtime.concurrency import ConcurrencyLimit

HERE = replace(Process.here(), host="here", pid=1)
GOOD = asdict(CallLimit(8))


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        Heartbeats(connection).mark(WORKER, HERE)
        yield connection


def test_what_a_worker_publishes_is_read_as_long_as_it_is_alive(redis: Redis) -> None:
    assert published(redis) == []
    limit = CallLimit(3, CallLimitBy.QUEUEING, 1.25)
    publish(redis, HERE, limit)
    assert published(redis) == [WorkerLimit(HERE, limit)]
    assert 0 < redis.ttl(f"{KEY}here:1") <= KEPT_S
    redis.zincrby("deskbridge:alive:worker", -KEPT_S - 1, json.dumps(HERE.told(), sort_keys=True))
    assert published(redis) == []


@pytest.mark.parametrize(
    "value",
    [
        "?",
        "{}",
        "[]",
        "[" * 999,
        '{"size": 1e999}',
        json.dumps(GOOD | {"size": 0}),
        json.dumps(GOOD | {"size": 10**9}),
        json.dumps(GOOD | {"why": "because"}),
        json.dumps(GOOD | {"ratio": float("nan")}),
        json.dumps(GOOD | {"ratio": 0.5}),
    ],
)
def test_a_limit_that_no_worker_can_have_written_does_not_count(redis: Redis, value: str) -> None:
    redis.set(f"{KEY}here:1", value)
    assert published(redis) == []


def test_a_value_of_another_type_does_not_count(redis: Redis) -> None:
    redis.rpush(f"{KEY}here:1", "x")
    assert published(redis) == []


def test_a_worker_reports_its_calls_and_sees_with_how_many_it_shares_the_tracker(redis: Redis) -> None:
    limit = ConcurrencyLimit(32)
    worker: Any = SimpleNamespace(
        redis=redis, heartbeats=Heartbeats(redis), limit=limit, meter=Meter(limit.add)
    )
    Heartbeats(redis).mark(WORKER)
    report_calls(worker)
    assert limit.size == 4, "two of them"
    worker.meter.add("POST issues", 0.2)
    worker.meter.add(LOST, 5.0, failed=True)
    report_calls(worker)
    assert seconds_per_call(redis) == pytest.approx(2.6)
    (mine,) = published(redis)
    assert (mine.process.pid, mine.limit) == (Process.here().pid, CallLimit(2, CallLimitBy.ERRORS))


def test_a_meter_returns_what_came_since_it_was_read_last() -> None:
    meter = Meter()
    for operation, seconds in (("POST issues", 0.1), ("POST issues", 0.2), ("PUT issues", 0.3)):
        meter.add(operation, seconds)
    assert meter.read() == {"POST issues": (2, pytest.approx(0.3)), "PUT issues": (1, 0.3)}
    assert meter.read() == {}
