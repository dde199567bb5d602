"""The call limit over a fake Redis; tests/integration/test_locks.py has the same over a real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import fakeredis
import pytest
import structlog
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, OutOfMemoryError, ReadOnlyError
from redis.retry import Retry

from shared.codes.limits import CallLimitBy
from shared.redis.concurrency_limit import ENOUGH, TURN_KEY, ConcurrencyLimit, Limit
from shared.tracker.meter import Meter
from tests.support.concurrency_limit import CallLimitContract
from worker.runtime import quota
from worker.runtime.quota import Quota


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


class TestCallLimitOverAFakeRedis(CallLimitContract):
    pass


def answer(meter: Meter, count: int, operation: str = "POST issues", seconds: float = 0.1) -> None:
    for _ in range(count):
        meter.add(operation, seconds)


def test_a_meter_tells_what_came_since_it_was_read_last() -> None:
    meter = Meter()
    answer(meter, 2)
    answer(meter, 1, "PUT issues", 0.3)
    assert meter.read() == {"POST issues": (2, 0.2), "PUT issues": (1, 0.3)}
    assert meter.read() == {}


@pytest.mark.parametrize("operation", ["POST issues", "POST issues refused"])
def test_a_worker_opens_up_as_long_as_more_calls_do_more(redis: Redis, operation: str) -> None:
    meter = Meter()
    worker = Quota(ConcurrencyLimit(redis), meter, "a", 32)
    for _ in range(12):
        answer(meter, 10 * ENOUGH * worker.share, operation)
        worker.tell(32)
        redis.delete(TURN_KEY)
    assert worker.share == 32


def test_a_worker_that_has_nothing_to_do_tells_it_once_and_may_make_one_call(redis: Redis) -> None:
    ConcurrencyLimit(redis).decide(Limit(8, CallLimitBy.OPENING))
    worker = Quota(ConcurrencyLimit(redis), Meter(), "a", 32)
    worker.tell(5)
    assert worker.share == 5
    worker.tell(0)
    assert worker.share == 1
    redis.flushdb()
    worker.tell(0)
    assert redis.dbsize() == 0


def test_without_redis_a_worker_may_make_one_call_and_says_so_once() -> None:
    with Redis(port=1, retry=Retry(NoBackoff(), 0)) as redis, structlog.testing.capture_logs() as lines:
        worker = Quota(ConcurrencyLimit(redis), Meter(), "a", 32)
        worker.share = 0
        for _ in range(3):
            worker._try_to_tell(5)
        assert worker.share == 1
    assert [line["event"] for line in lines] == ["the call limit stays as it was"]


def test_whoever_wants_more_is_told_at_once(redis: Redis) -> None:
    ConcurrencyLimit(redis).decide(Limit(8, CallLimitBy.OPENING))
    worker = Quota(ConcurrencyLimit(redis), Meter(), "a", 32)
    wanted, told = [0], threading.Event()
    worker.keep_telling(lambda: wanted[0], told.set)
    wanted[0] = 7
    worker.soon()
    assert told.wait(25)
    assert worker.share == 7
    wanted[0] = 0


def test_whoever_had_nothing_to_do_and_comes_back_to_work_is_told_without_delay(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ConcurrencyLimit(redis).decide(Limit(8, CallLimitBy.OPENING))
    monkeypatch.setattr(quota, "NO_SOONER_S", 30.0)
    monkeypatch.setattr(quota, "TOLD_EVERY_S", 90.0)
    worker = Quota(ConcurrencyLimit(redis), Meter(), "a", 32)
    wanted, told = [0], threading.Event()
    worker.keep_telling(lambda: wanted[0], told.set)
    time.sleep(0.1)
    wanted[0] = 7
    worker.soon()
    assert told.wait(25)
    wanted[0] = 0


@pytest.mark.parametrize("error", [OutOfMemoryError, ReadOnlyError, NoPermissionError])
def test_what_redis_refuses_for_itself_costs_nobody_the_limit(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    limit = ConcurrencyLimit(redis)
    limit.decide(Limit(8))

    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(limit, "_tell", refuse)
    with pytest.raises(error):
        limit.tell("a", 1, 8, {})
    assert limit.current() == Limit(8)
