"""What somebody else puts where Celery keeps its own in Redis stops no worker for good."""

from __future__ import annotations

import time
from itertools import count

import pytest
from redis import Redis

from shared.queue.publisher import queue_of, types_of
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet

NUMBERS = count(7000)
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def fleet(lasting_fleet: Fleet) -> Fleet:
    lasting_fleet.add_worker(2)
    return lasting_fleet


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize("kind", ["list", "set"])
def test_a_key_of_another_type_stops_nobody_for_good(fleet: Fleet, kind: str) -> None:
    types = types_of(queue_of(fleet.bridge.settings, fleet.bridge.redis.whose()))
    key = next(key for key in types if types[key] == kind)
    with Redis.from_url(fleet.bridge.settings.redis_url.get_secret_value()) as redis:
        redis.delete(key)
        redis.set(key, "x")
    number = next(NUMBERS)
    fleet.send([(f"beside-{number}", task_event(of_ticket=ticket(number), of_task=task(number)))])
    deadline = time.monotonic() + PATIENCE_S
    while fleet.left():
        assert time.monotonic() < deadline, fleet.logs()
        for worker in fleet.workers:
            if not worker.alive:  # as its supervisor does
                assert worker.returncode != 0
                worker.start()
        time.sleep(0.2)
    assert set(fleet.states()) == {"done"}
