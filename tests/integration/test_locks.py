"""Locks and the circuit breaker over a real Redis: the same tests as over the fake one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from tests.support.redis import CircuitBreakerContract, LockContract

pytestmark = pytest.mark.promise("OPS-11")


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as connection:
        yield connection


class TestLocksOverARealRedis(LockContract):
    pass


class TestPauseOverARealRedis(CircuitBreakerContract):
    pass
