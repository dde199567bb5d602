"""A foreign value in one of Celery's Redis keys does not stop any worker permanently."""

from __future__ import annotations

import time
from itertools import count

import pytest
from redis import Redis

from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.queue import queue_name

NUMBERS = count(7000)
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def fleet(lasting_fleet: Fleet) -> Fleet:
    lasting_fleet.add_worker(2)
    return lasting_fleet


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize("key", ["{}", "_kombu.binding.{}"], ids=["list", "set"])
def test_a_key_of_another_type_stops_nobody_for_good(fleet: Fleet, key: str) -> None:
    key = f"deskbridge:{key.format(queue_name(fleet.bridge.redis.whose()))}"
    with Redis.from_url(fleet.bridge.settings.redis_url.get_secret_value()) as redis:
        redis.delete(key)
        redis.set(key, "x")
    number = next(NUMBERS)
    fleet.send([(f"beside-{number}", task_event(of_ticket=ticket(number), of_task=task(number)))])
    deadline = time.monotonic() + PATIENCE_S
    while fleet.left():
        assert time.monotonic() < deadline, fleet.logs()
        for worker in fleet.workers:
            if not worker.alive:  # restart it as its supervisor would
                assert worker.returncode != 0
                worker.start()
        time.sleep(0.2)
    assert set(fleet.states()) == {"done"}
