"""RabbitMQ as the broker: exactly once as with Redis, and metrics and doctor report the queue's true state."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from tests.deployment.ha.load import Load
from tests.deployment.ha.rabbitmq import PACKAGES, RabbitMQ
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.queue import queue_name
from tests.support.replayed import replay_behind_a_backlog
from tests.support.waiting import until
from tests.support.workload import generate

pytestmark = [pytest.mark.ha, pytest.mark.timeout(900)]

Unpack = Callable[..., Path]
THREADS = 4
TICKETS = 300
BROKER_IS_OK = r"^ok +broker"


@pytest.fixture(scope="module")
def rabbitmq(unpack: Unpack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    """A running RabbitMQ."""
    one = RabbitMQ(unpack(*PACKAGES), tmp_path_factory.mktemp("rabbitmq") / "node")
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, redis_url: str, rabbitmq: RabbitMQ) -> Iterator[Fleet]:
    """A whole installation with RabbitMQ as the broker, and Redis for locks and the circuit breaker."""
    with StandIn() as stand_in:
        made = Fleet(tmp_path, postgres_url, redis_url, stand_in, BROKER_URL=rabbitmq.url)
        try:
            yield made
        finally:
            made.stop()


def test_with_workers_killed_redis_emptied_and_the_broker_restarted_every_event_has_exactly_one_effect(
    fleet: Fleet, rabbitmq: RabbitMQ, redis_server: RedisServer, report: list[str]
) -> None:
    fleet.start(workers=2, threads=THREADS)
    fleet.stand_in.settings(latency_ms=100)
    load = Load(fleet, generate(7, tickets=200, events=1200, copies=1), pause_s=0.1)
    with load:
        load.wait_for(100)
        fleet.wait_until_busy()
        stopped, killed = fleet.workers
        stopped.send_signal(signal.SIGSTOP)
        killed.kill()
        redis_server.flush()
        fleet.add_worker(THREADS)
        load.wait_for(50)
        began = time.monotonic()
        rabbitmq.restart()
        away = time.monotonic() - began
        load.wait_for(50)
        stopped.send_signal(signal.SIGCONT)
    fleet.stand_in.settings(latency_ms=0)
    synced = load.check()
    name = queue_name(fleet.bridge.redis.whose())
    assert {rabbitmq.queues()[one] for one in (name, f"{name}.priority")} == {"quorum"}
    assert all(one.alive for one in fleet.workers if one is not killed), fleet.logs()
    report.append(
        f"RabbitMQ: killed and back after {away:.1f} s under load; longest time without a 202 "
        f"{load.interruption():.1f} s; all done {synced:.1f} s after the last"
    )


def test_how_many_rings_wait_is_told_truly_and_the_sweep_goes_by_it(fleet: Fleet, rabbitmq: RabbitMQ) -> None:
    fleet.start()
    monitor = f"{HOST}:{free_port()}"
    worker = fleet.add_worker(2, DESKBRIDGE_MONITOR_LISTEN=monitor)

    def shown() -> dict[str, float]:
        lines = requests.get(f"http://{monitor}/metrics", timeout=20).text.splitlines()
        return {
            name: float(value) for name, _, value in (one.rpartition(" ") for one in lines if one[0] != "#")
        }

    def is_up() -> bool:
        try:
            return shown().get("deskbridge_rings_waiting") is not None
        except requests.ConnectionError:
            return False

    until(is_up, fleet.logs, 90)
    fleet.stand_in.settings(latency_ms=500)
    fleet.send(
        [
            (f"one-{one}", task_event(of_ticket=ticket(one), of_task=task(one)))
            for one in range(1, TICKETS + 1)
        ],
        batch=1,
    )
    until(lambda: shown()["deskbridge_rings_waiting"] > 0, fleet.logs, 60)
    assert re.search(BROKER_IS_OK, fleet.run("doctor").stdout, re.MULTILINE)
    fleet.stand_in.settings(latency_ms=0)
    fleet.wait_until_synced(120)
    until(
        lambda: shown()["deskbridge_rings_waiting"] == 0, fleet.logs, 240
    )  # including the messages that the sweep sent without need
    rabbitmq.tell("stop_app")
    try:
        until(lambda: shown()['deskbridge_reachable{service="broker"}'] == 0, fleet.logs, 60)
        assert "deskbridge_rings_waiting" not in shown(), "it is not known"
        fleet.send([("last", task_event(of_ticket=ticket(999), of_task=task(999)))])
        doctor = fleet.run("doctor")
        assert doctor.returncode == 1
        assert not re.search(BROKER_IS_OK, doctor.stdout, re.MULTILINE), doctor.stdout
    finally:
        rabbitmq.tell("start_app")
    fleet.wait_until_synced(180)
    assert worker.alive, fleet.logs()


def test_a_replay_behind_two_thousand_tickets_starts_within_two_seconds(
    fleet: Fleet, report: list[str]
) -> None:
    took = replay_behind_a_backlog(fleet.start())
    assert took < 2
    report.append(f"RabbitMQ: a replay behind 2,000 tickets starts after {took:.1f} s")
