"""The rate limit shared by several workers, on a real Redis."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from redis import Redis
from structlog.testing import capture_logs

from deploy.sandbox.tracker.control import StandIn
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.process.alive import SIGN_EVERY_S, Sign, wait_alive, watched
from shared.redis.rate_limit import RateLimiter, rate_limit_in_use
from shared.store.ledger import send_window
from tests.support.bridge import Bridge
from tests.support.events import task_event

pytestmark = pytest.mark.promise("OPS-12")


def test_calls_of_several_workers_are_spaced_evenly(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        workers = [RateLimiter(redis, 0.1) for _ in range(3)]
        first, *others = [worker.next_turn() for worker in workers * 3]
    assert first == 0, "the first one does not wait"
    for number, seconds in enumerate(others, start=1):
        assert number * 10 - 5 < seconds <= number * 10


def test_the_limit_that_workers_keep_is_seen_with_how_long_a_turn_takes(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis:
        assert rate_limit_in_use(redis) is None
        RateLimiter(redis, 0.1).next_turn()
        found = rate_limit_in_use(redis)
        assert found is not None
        assert found.rate == pytest.approx(0.1)
        assert 9 < found.wait_s <= 10
        RateLimiter(redis, 1000).next_turn()
        for nobodys in ("x", "1 2", "9" * 100, "1.000000 0.000000"):
            redis.set("deskbridge:throttle", nobodys)
            assert rate_limit_in_use(redis) is None, nobodys
        redis.delete("deskbridge:throttle")
        redis.lpush("deskbridge:throttle", "a list")
        assert rate_limit_in_use(redis) is None


def test_a_long_wait_is_logged_once_a_minute(redis_url: str) -> None:
    with Redis.from_url(redis_url) as redis, capture_logs() as lines:
        rate_limiter = RateLimiter(redis, 0.01)
        for _ in range(3):
            rate_limiter.next_turn()
    assert [(one["event"], one["rate"], one["seconds"]) for one in lines] == [
        ("a call waits for its turn at RATE_LIMIT", 0.01, 100)
    ]


def test_without_a_limit_nobody_waits_and_redis_is_not_asked() -> None:
    with Redis(port=1) as redis:
        assert RateLimiter(redis, 0).next_turn() == 0


def test_whoever_waits_for_long_gives_a_heartbeat_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a process whose turn comes late would seem to hang."""
    now, waited = 1000.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        waited.append(seconds)
        assert sign.at >= now - SIGN_EVERY_S * 2

    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr("shared.redis.rate_limit.time", clock)
    monkeypatch.setattr("shared.process.alive.time", clock)
    sign = Sign()
    with watched(sign):
        wait_alive(3000.0)
    assert sum(waited) == 3000.0
    assert sign.at == now


def test_without_redis_nobody_waits() -> None:
    with Redis(port=1) as redis:
        assert RateLimiter(redis, 1).next_turn() == 0


def test_a_long_line_for_the_rate_limit_ends_no_claim(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn is taken before the claim: otherwise many threads at a low limit would never send anything."""
    waited = 0.0

    def wait() -> float:
        nonlocal waited
        waited += 2 * bridge.settings.claim_lease
        return 0.0

    monkeypatch.setattr(send_window, "_now", lambda: time.monotonic() + waited)
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys), wait)
    bridge.service = replace(bridge.service, connect=connector.connect)
    assert bridge.forward(task_event()) == ["done"]
    assert len(stand_in.state()["time_entries"]) == 1
    assert waited
