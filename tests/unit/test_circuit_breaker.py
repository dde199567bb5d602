"""The circuit breaker with a fake Redis; tests/integration/test_locks.py tests it with a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fakeredis
import pytest
from redis import Redis
from redis.exceptions import ResponseError

from shared.notices.limits import CallLimit
from shared.notices.notice import written
from shared.process.itself import Process
from shared.redis.call_limits import KEY as LIMITS
from shared.redis.call_limits import publish, published
from shared.redis.circuit_breaker import KEY, CircuitBreaker
from shared.redis.heartbeat import KEY as HEARTBEATS
from shared.redis.heartbeat import WORKER, Heartbeats
from tests.support.redis import CircuitBreakerContract


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


HERE = Process.here()
REFUSED = ResponseError("BUSY Redis is busy running a script.")


def refuses(monkeypatch: pytest.MonkeyPatch, redis: Redis, command: str) -> None:
    """Make Redis refuse one command once and answer all others."""

    def refuse(*_: object, **__: object) -> None:
        monkeypatch.undo()
        raise REFUSED

    monkeypatch.setattr(redis, command, refuse)


@pytest.mark.parametrize(
    ("command", "ask", "key"),
    [
        ("getrange", lambda redis: CircuitBreaker(redis).current(), KEY),
        ("zrevrangebyscore", lambda redis: Heartbeats(redis).seen(WORKER), f"{HEARTBEATS}{WORKER}"),
        ("getrange", published, f"{LIMITS}{HERE.host}:{HERE.pid}"),
    ],
    ids=["pause", "heartbeat", "limit"],
)
def test_what_redis_refuses_to_tell_is_not_taken_for_somebody_else_s_and_dropped(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, command: str, ask: Callable[[Redis], object], key: str
) -> None:
    CircuitBreaker(redis).begin(written("the tracker is down"))
    Heartbeats(redis).mark(WORKER)
    publish(redis, HERE, CallLimit(8))
    refuses(monkeypatch, redis, command)
    with pytest.raises(ResponseError, match="BUSY"):
        ask(redis)
    assert redis.exists(key)


class TestPauseOverAFakeRedis(CircuitBreakerContract):
    pass


def test_an_outage_begins_with_its_first_pause_and_a_later_outage_with_its_own(redis: Redis) -> None:
    breaker = CircuitBreaker(redis)
    assert breaker.since() is None
    breaker.begin(written("away"))
    begun = breaker.since()
    redis.set(f"{KEY}:since", int(redis.get(f"{KEY}:since")) - 180)  # type: ignore[arg-type]
    breaker.begin(written("still away"))
    longer = breaker.since()
    assert begun is not None
    assert longer is not None
    assert (begun - longer).total_seconds() == 180
    assert breaker.end()
    assert breaker.since() is None
    redis.set(f"{KEY}:since", "1")
    breaker.begin(written("away again"))
    assert breaker.since() is not None
    assert breaker.since() >= begun  # type: ignore[operator]


@pytest.mark.parametrize("foreign", ["x", "9" * 40, ""])
def test_a_time_that_no_worker_wrote_is_unknown(redis: Redis, foreign: str) -> None:
    redis.set(f"{KEY}:since", foreign)
    assert CircuitBreaker(redis).since() is None
