"""The locks with a fake Redis; tests/integration/test_locks.py tests them with a real one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest
import redis as redis_module
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout

from shared.redis.locks import Locks
from tests.support.redis import LockContract


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


class TestLocksOverAFakeRedis(LockContract):
    pass


def test_a_redis_that_is_down_when_the_lock_is_taken_is_its_own_error() -> None:
    server = fakeredis.FakeServer()
    server.connected = False
    with (
        fakeredis.FakeRedis(server=server) as down,
        pytest.raises(RedisConnectionError),
        Locks(down, 60).hold("x"),
    ):
        pass


def test_locks_that_a_redis_took_and_did_not_say_so_are_given_back(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no worker could sync their tickets until the locks expire."""
    locks = Locks(redis, 60)
    taking = locks._taking

    def too_late(**asked: Any) -> list[int]:
        taking(**asked)
        raise RedisTimeout

    monkeypatch.setattr(locks, "_taking", too_late)
    with pytest.raises(RedisTimeout):
        locks.take_all(["ticket:1", "ticket:2"])
    assert list(redis.scan_iter()) == []


def test_a_redis_that_goes_down_meanwhile_does_not_spoil_the_work() -> None:
    server = fakeredis.FakeServer()
    done = []
    with fakeredis.FakeRedis(server=server) as connection, Locks(connection, 60).hold("x"):
        done.append("the work")
        server.connected = False
    assert done
    assert issubclass(RedisConnectionError, redis_module.RedisError)
