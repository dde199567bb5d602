"""The pause over a fake Redis; tests/integration/test_locks.py has the same over a real one."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from tests.support.coordination import PauseContract


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


class TestPauseOverAFakeRedis(PauseContract):
    pass
