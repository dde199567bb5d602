"""An hour without the tracker while events arrive (scaled down from that of `make bench-long`), and the recovery."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest

from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.tracker.control import StandIn
from shared.notices.notice import written
from shared.redis.circuit_breaker import FIRST_PAUSE_S, CircuitBreaker
from tests.bench.backpressure import measure
from tests.support.bridge import Bridge
from tests.support.events import task_event

pytestmark = pytest.mark.promise("OPS-10", "OPS-11")


@pytest.fixture
def over_postgres(stand_in: StandIn, redis_url: str, migrated_postgres_url: str) -> Iterator[Bridge]:
    made = Bridge(migrated_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.mark.slow
def test_an_hour_without_a_tracker_costs_nothing_but_the_hour(
    over_postgres: Bridge, stand_in: StandIn
) -> None:
    """Bounded memory, one probe at a time, no attempts used; then the rate limit, in order, the newest status.

    `make bench-long` checks how long the producer takes meanwhile.
    """
    figures = measure(over_postgres, stand_in, 1_500)
    assert figures.missed(slowest_ratio=math.inf) == []


def test_nobody_else_probes_before_the_next_pause_has_begun(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.configure(base_url=f"http://{HOST}:{free_port()}")
    bridge.receive(task_event())
    bridge.service.sync(4711)
    bridge.hurry()
    later = time.time() + 2 * FIRST_PAUSE_S
    monkeypatch.setattr("shared.redis.circuit_breaker.now", lambda _: later)
    begin, was_probed = CircuitBreaker.begin, []

    def note(breaker: CircuitBreaker, reason: str, seconds: float | None = None) -> object:
        was_probed.append(bridge.redis.exists(f"{breaker.key}:probe"))
        return begin(breaker, written(reason), seconds)

    monkeypatch.setattr(CircuitBreaker, "begin", note)
    bridge.service.sync(4711)
    assert was_probed == [1]
    assert not bridge.redis.exists(f"{bridge.breaker.key}:probe")
