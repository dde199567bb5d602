"""The call limit over a fake Redis; tests/integration/test_locks.py has the same over a real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, TURN_KEY, CallLimit, Limit
from shared.tracker.meter import Meter
from tests.support.call_limit import CallLimitContract
from worker.sync.limiter import Limiter


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


class TestCallLimitOverAFakeRedis(CallLimitContract):
    pass


def called(meter: Meter, count: int, seconds: float = 0.1) -> None:
    for _ in range(count):
        meter.begin()
        meter.end("POST issues", seconds)


def test_a_meter_tells_what_came_since_it_was_read_last() -> None:
    meter = Meter()
    meter.begin()
    called(meter, 2)
    assert meter.read() == (2, {"POST issues": (2, 0.2)})
    assert meter.read() == (1, {})
    meter.end("POST issues", None)
    assert meter.read() == (1, {})
    assert meter.read() == (0, {})


def test_a_worker_opens_up_as_long_as_calls_take_no_longer(redis: Redis) -> None:
    meter = Meter()
    worker = Limiter(CallLimit(redis), meter, "a", 32)
    for _ in range(12):
        called(meter, ENOUGH)
        worker.tell(32)
        redis.delete(TURN_KEY)
    assert worker.share == 32
    assert (limit := CallLimit(redis).current())
    assert limit.why is CallLimitBy.BOUND


def test_a_worker_that_has_nothing_to_do_tells_it_once_and_may_make_one_call(redis: Redis) -> None:
    CallLimit(redis).decide(Limit(8, CallLimitBy.OPENING, bases={"POST issues": 0.1}))
    worker = Limiter(CallLimit(redis), Meter(), "a", 32)
    worker.tell(5)
    assert worker.share == 5
    worker.tell(0)
    assert worker.share == 1
    redis.flushdb()
    worker.tell(0)
    assert redis.dbsize() == 0


def test_without_redis_the_share_stays_as_it_was() -> None:
    with Redis(port=1) as redis:
        worker = Limiter(CallLimit(redis), Meter(), "a", 32)
        worker.tell(5)
        assert worker.share == 1


def test_whoever_wants_more_is_told_at_once(redis: Redis) -> None:
    CallLimit(redis).decide(Limit(8, CallLimitBy.OPENING, bases={"POST issues": 0.1}))
    worker = Limiter(CallLimit(redis), Meter(), "a", 32)
    wanted, told = [0], threading.Event()
    worker.keep_telling(lambda: wanted[0], told.set)
    wanted[0] = 7
    worker.soon()
    assert told.wait(5)
    assert worker.share == 7
    wanted[0] = 0
