"""The call limit over a fake Redis; tests/integration/test_locks.py has the same over a real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import fakeredis
import pytest
import structlog
from redis import Redis

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, TURN_KEY, CallLimit, Limit
from shared.tracker.meter import Meter
from tests.support.call_limit import CallLimitContract
from worker.sync.gradient import LEAST
from worker.sync.limiter import Limiter


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


class TestCallLimitOverAFakeRedis(CallLimitContract):
    pass


def one_by_one(meter: Meter, count: int, operation: str = "POST issues", seconds: float = 0.1) -> None:
    for _ in range(count):
        meter.begin()
        meter.end(operation, seconds)


def together(meter: Meter, count: int) -> None:
    for _ in range(count):
        meter.begin()
    for _ in range(count):
        meter.end("POST issues", 0.1)


def test_a_meter_tells_what_came_since_it_was_read_last() -> None:
    meter = Meter()
    meter.begin()
    one_by_one(meter, 2)
    assert meter.read() == (2, {"POST issues": (2, 0.2)})
    assert meter.read() == (1, {})
    meter.end("POST issues", None)
    assert meter.read() == (1, {})
    assert meter.read() == (0, {})


def test_a_worker_opens_up_as_long_as_calls_take_no_longer(redis: Redis) -> None:
    meter = Meter()
    worker = Limiter(CallLimit(redis), meter, "a", 32)
    for _ in range(12):
        (together if worker.share > 1 else one_by_one)(meter, max(ENOUGH, worker.share))
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


def test_without_redis_a_worker_may_make_one_call_and_says_so_once() -> None:
    with Redis(port=1) as redis, structlog.testing.capture_logs() as lines:
        worker = Limiter(CallLimit(redis), Meter(), "a", 32)
        worker.share = 0
        for _ in range(3):
            worker._try_to_tell(5)
        assert worker.share == 1
    assert [line["event"] for line in lines] == ["the call limit stays as it was"]


def test_a_tracker_that_refuses_everything_opens_the_limit_too(redis: Redis) -> None:
    meter = Meter()
    worker = Limiter(CallLimit(redis), meter, "a", 32)
    for _ in range(12):
        one_by_one(meter, ENOUGH, "POST issues refused", 0.01)
        worker.tell(32)
        redis.delete(TURN_KEY)
    assert worker.share >= LEAST


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
