"""What Celery and Redis do to messages and workers (docs/operations.md): everything is done once all the same."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from celery import Celery
from pydantic import SecretStr
from redis import Redis

from deploy.embedded.redis import RedisServer
from shared.coordination.doorbell import QUEUE, make_celery
from shared.settings import Settings
from tests.support.bridge import STATUS_MAP
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.workload import generate
from worker.watchdog import EXIT_CODE

pytestmark = pytest.mark.slow

DRAINED_WITHIN_S = 60
KEYS = "deskbridge:"


@pytest.fixture
def fleet(new_fleet: Fleet) -> Fleet:
    """A fleet without a worker yet, over a stand-in tracker of its own."""
    return new_fleet.start(workers=0, threads=0)


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """The broker, to look into."""
    with closing(Redis.from_url(redis_url, decode_responses=True)) as made:
        yield made


@pytest.fixture
def app(redis_url: str) -> Celery:
    """The same Celery application that the workers have."""
    return make_celery(Settings(redis_url=SecretStr(redis_url)))


def send(fleet: Fleet, *ticket_ids: int) -> None:
    events = [
        (f"stuck-{one}", task_event(of_ticket=ticket(one), of_task=task(one * 10))) for one in ticket_ids
    ]
    fleet.send(events)


def wait_for(what: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
    return found


def each_once(fleet: Fleet, *ticket_ids: int) -> None:
    """Wait until everything is done, and compare."""
    fleet.wait_until_drained(DRAINED_WITHIN_S)
    state = fleet.stand_in.state()
    subjects = [row["subject"] for row in state["issues"] if row["id"] > 5]
    assert sorted(subjects) == sorted(ticket(one)["title"] for one in ticket_ids), fleet.logs()
    assert len(state["time_entries"]) == len(ticket_ids), fleet.logs()
    assert set(fleet.states()) == {"done"}


def in_the_middle_of_a_call(fleet: Fleet, redis: Redis) -> None:
    """Wait until a message is out with a worker, and the tracker is being called for it."""
    wait_for(lambda: any("sync_ticket" in one for one in redis.hvals(KEYS + "unacked")))
    wait_for(lambda: len(fleet.stand_in.state()["issues"]) > 5)


def deliver_again(app: Celery) -> None:
    """Have every message that is out with a worker delivered again, as after its visibility time-out."""
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, "visibility_timeout": 0}
    with app.connection_for_write() as connection, connection.channel() as channel:
        channel.qos.restore_visible(num=100, interval=1)


def test_a_worker_that_consumes_nothing_ends_itself_and_the_next_one_does_its_work(
    fleet: Fleet, app: Celery
) -> None:
    stuck = fleet.add_worker(2)
    send(fleet, 1)
    each_once(fleet, 1)
    app.control.cancel_consumer(QUEUE)  # alive and connected, and asks for nothing any more
    time.sleep(1)
    send(fleet, 2)
    wait_for(lambda: not stuck.alive, 60)
    assert stuck.returncode == EXIT_CODE, fleet.logs()
    fleet.add_worker(2)
    each_once(fleet, 1, 2)


def test_what_a_killed_worker_had_not_acknowledged_does_no_harm_now_or_when_it_comes_again(
    fleet: Fleet, redis: Redis, app: Celery
) -> None:
    fleet.stand_in.settings(latency_ms=1500)
    killed = fleet.add_worker(2)
    send(fleet, 1, 2)
    in_the_middle_of_a_call(fleet, redis)
    killed.kill()
    assert redis.hlen(KEYS + "unacked") >= 1
    fleet.stand_in.settings(latency_ms=0)
    fleet.add_worker(2)
    each_once(fleet, 1, 2)
    deliver_again(app)
    wait_for(lambda: not redis.llen(KEYS + QUEUE) and not redis.hlen(KEYS + "unacked"))
    each_once(fleet, 1, 2)


def test_a_message_that_comes_again_while_it_is_worked_on_does_no_harm(
    fleet: Fleet, redis: Redis, app: Celery
) -> None:
    fleet.stand_in.settings(latency_ms=1500)
    fleet.add_worker(2)
    fleet.add_worker(2)
    send(fleet, 1)
    in_the_middle_of_a_call(fleet, redis)
    for _ in range(3):
        deliver_again(app)
        redis.delete(KEYS + "lock:ticket:1")  # and not even the lock is in the way
        time.sleep(0.3)
    each_once(fleet, 1)


def test_a_message_lost_on_its_way_to_a_worker_is_rung_again_by_the_sweep(fleet: Fleet, redis: Redis) -> None:
    """Redis gives a message to a stopped worker's connection, where nobody has it yet; then the worker is killed."""
    lost = fleet.add_worker(2)
    send(fleet, 1)
    each_once(fleet, 1)
    lost.send_signal(signal.SIGSTOP)
    send(fleet, 2)
    time.sleep(0.5)
    lost.kill()
    redis.delete(KEYS + QUEUE)  # also what it had not been given yet
    fleet.add_worker(2)
    each_once(fleet, 1, 2)


def test_two_beats_at_once_are_harmless(fleet: Fleet, redis: Redis) -> None:
    second = fleet.add_beat("beat-2")
    for _ in range(2):
        fleet.add_worker(4)
    workload = generate(5, tickets=10, events=40, copies=2)
    fleet.send(workload.deliveries)
    fleet.wait_until_drained(DRAINED_WITHIN_S)
    state = fleet.stand_in.state()
    assert not workload.differences(state["issues"], state["time_entries"], STATUS_MAP)
    assert second.alive


def test_a_full_broker_stops_no_event_and_no_worker(fleet: Fleet, redis: Redis) -> None:
    worker = fleet.add_worker(2)
    send(fleet, 1)
    each_once(fleet, 1)
    redis.config_set("maxmemory", "1")
    try:
        started = time.monotonic()
        send(fleet, 2, 3)
        assert time.monotonic() - started < 1
        time.sleep(5)
        assert worker.alive, fleet.logs()
    finally:
        redis.config_set("maxmemory", "0")
    each_once(fleet, 1, 2, 3)
    assert worker.alive, fleet.logs()


def test_workers_whose_connections_are_cut_consume_again(fleet: Fleet, redis: Redis) -> None:
    workers = [fleet.add_worker(2) for _ in range(2)]
    send(fleet, 1)
    each_once(fleet, 1)
    for ticket_id in (2, 3, 4):
        redis.client_kill_filter(_type="normal", skipme=True)
        send(fleet, ticket_id)
        time.sleep(0.5)
    each_once(fleet, 1, 2, 3, 4)
    assert all(worker.alive for worker in workers), fleet.logs()


def test_a_redis_that_freezes_delays_no_event_and_what_came_meanwhile_is_done_afterwards(
    fleet: Fleet, redis_server: RedisServer
) -> None:
    worker = fleet.add_worker(2)
    send(fleet, 1)
    each_once(fleet, 1)
    redis_server.child.send_signal(signal.SIGSTOP)
    try:
        for ticket_id in (2, 3, 4):
            started = time.monotonic()
            send(fleet, ticket_id)
            assert time.monotonic() - started < 1
        time.sleep(6)
    finally:
        redis_server.child.send_signal(signal.SIGCONT)
    each_once(fleet, 1, 2, 3, 4)
    assert worker.alive, fleet.logs()
