"""Whatever Celery and Redis do to messages and workers, every event is done exactly once."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from celery import Celery
from pydantic import SecretStr
from redis import Redis

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.redis import RedisServer
from shared.process.settings import Settings
from shared.redis.keys import INSTALLATIONS, key_of
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.queue import celery_app, deliver, queue_key, waiting
from tests.support.waiting import until

pytestmark = pytest.mark.slow

SETTINGS = {"CLAIM_LEASE": 8, "LOCK_LEASE": 10, "SETTLING_TIME": 2}
"""The leases outlast `HELD_S`, so a worker that a test holds in a call does not count as dead."""

HELD_S = 4
"""Longest time that a call is held, below a worker's timeout of five seconds and the claim's lease."""

SYNCED_WITHIN_S = 120
STARTED_WITHIN_S = 90
GRACE_S = 40
"""Time from SIGTERM to SIGKILL that every supervisor is configured to allow."""

EXIT_CODE = 75
"""EX_TEMPFAIL: the supervisor should start it again."""

KEYS = "deskbridge:"

_hundreds = count(1)


@pytest.fixture
def fleet(lasting_fleet: Fleet, redis_url: str) -> Iterator[Fleet]:
    """A fleet without workers and with an empty broker."""
    yield lasting_fleet
    lasting_fleet.stand_in.clear_faults()
    lasting_fleet.kill_workers()


@pytest.fixture
def first() -> int:
    """The first of a hundred ticket ids reserved for this test."""
    return next(_hundreds) * 100


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    """A connection to the broker."""
    with closing(Redis.from_url(redis_url, decode_responses=True)) as made:
        yield made


@pytest.fixture
def app(redis_url: str, fleet: Fleet) -> Celery:
    """A Celery application configured like the workers' own."""
    return celery_app(Settings(redis_url=SecretStr(redis_url)), fleet.bridge.redis.whose())


def queue_of(fleet: Fleet) -> str:
    """Return the Redis key of the queue."""
    return queue_key(fleet.bridge.redis.whose())


def send(fleet: Fleet, *ticket_ids: int) -> None:
    events = [
        (f"stuck-{one}", task_event(of_ticket=ticket(one), of_task=task(one * 10))) for one in ticket_ids
    ]
    fleet.send(events)


def each_once(fleet: Fleet, *ticket_ids: int) -> None:
    """Wait until everything is done; assert one issue and one time entry for each ticket."""
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    state = fleet.stand_in.state()
    subjects = [row["subject"] for row in state["issues"]]
    logged = [row["comments"] for row in state["time_entries"]]
    for one in ticket_ids:
        assert subjects.count(ticket(one)["title"]) == 1, fleet.logs()
        assert logged.count(f"Extinguished {one * 10}") == 1, fleet.logs()
    assert set(fleet.states()) == {"done"}


def hold_calls(fleet: Fleet) -> None:
    """Make the tracker delay the creation of issues until its faults are cleared."""
    fleet.stand_in.fault("delay", method="POST", path="/issues.json", seconds=HELD_S)


def in_the_middle_of_a_call(fleet: Fleet, *ticket_ids: int) -> None:
    """Wait until the tracker is processing a request that creates an issue for one of the tickets."""
    titles = {ticket(one)["title"] for one in ticket_ids}

    def is_being_called() -> bool:
        under_way = [
            one for one in fleet.stand_in.requests() if one["status"] is None and one["method"] == "POST"
        ]
        return any(
            one["path"] == "/issues.json" and one["body"]["issue"]["subject"] in titles for one in under_way
        )

    until(is_being_called, fleet.logs, STARTED_WITHIN_S)


def deliver_again(app: Celery, *ticket_ids: int) -> None:
    """Deliver a message with these tickets once more."""
    deliver(app, *ticket_ids)


DEAF = """
import pathlib, threading, time

def turn_deaf():
    while not pathlib.Path(FILE).exists():
        time.sleep(0.05)
    from kombu.transport.redis import Channel
    Channel._brpop_start = lambda *_, **__: None
    pathlib.Path(FILE).unlink()

threading.Thread(target=turn_deaf, daemon=True).start()
"""


@pytest.mark.promise("OPS-17")
def test_a_worker_that_consumes_nothing_ends_itself_and_the_next_one_does_its_work(
    fleet: Fleet, redis: Redis, first: int, tmp_path: Path
) -> None:
    signal_to_it = tmp_path / "turn-deaf"
    (tmp_path / "sitecustomize.py").write_text(DEAF.replace("FILE", repr(str(signal_to_it))))
    stuck = fleet.add_worker(2, PYTHONPATH=str(tmp_path))
    send(fleet, first)
    each_once(fleet, first)
    signal_to_it.touch()  # alive and connected, but no longer requests messages
    until(lambda: not signal_to_it.exists())
    time.sleep(1.5)  # until its last request has timed out
    until(lambda: not redis.info("clients")["blocked_clients"])
    send(fleet, first + 1)
    until(lambda: not stuck.alive, seconds=120)
    assert stuck.returncode == EXIT_CODE, fleet.logs()
    fleet.add_worker(2)
    each_once(fleet, first, first + 1)


@pytest.mark.promise("OPS-19")
def test_what_a_killed_worker_had_taken_is_done_by_others_and_does_no_harm_when_it_comes_again(
    fleet: Fleet, redis: Redis, app: Celery, first: int
) -> None:
    """The message dies with the worker, and the sweep notifies the tickets again."""
    hold_calls(fleet)
    killed = fleet.add_worker(2)
    send(fleet, first, first + 1)
    in_the_middle_of_a_call(fleet, first, first + 1)
    killed.kill()
    fleet.stand_in.clear_faults()
    fleet.add_worker(2)
    each_once(fleet, first, first + 1)
    deliver_again(app, first, first + 1)
    until(lambda: not waiting(redis, fleet.bridge.redis.whose()))
    each_once(fleet, first, first + 1)


@pytest.mark.promise("OPS-19")
def test_each_of_forty_tickets_that_a_killed_worker_was_syncing_is_done_once(
    fleet: Fleet, redis: Redis, first: int
) -> None:
    tickets = range(first, first + 40)
    hold_calls(fleet)
    killed = fleet.add_worker(8)
    send(fleet, *tickets)
    locks = key_of(fleet.bridge.redis, f"{KEYS}lock:ticket:*")
    until(lambda: len(redis.keys(locks)) == len(tickets), fleet.logs, STARTED_WITHIN_S)
    in_the_middle_of_a_call(fleet, *tickets)
    killed.kill()
    fleet.stand_in.clear_faults()
    fleet.add_worker(8)
    each_once(fleet, *tickets)
    assert fleet.settled(), "the worker was in the middle of calls"


def test_a_worker_that_is_told_to_end_in_the_middle_of_a_call_keeps_what_comes_of_it_and_leaves_the_rest(
    fleet: Fleet, first: int
) -> None:
    hold_calls(fleet)
    ending = fleet.add_worker(2)
    send(fleet, first)
    in_the_middle_of_a_call(fleet, first)
    ending.send_signal(signal.SIGTERM)
    until(lambda: "Warm shutdown" in ending.log.read_text(), fleet.logs)
    time.sleep(0.2)  # it logs the shutdown before it starts it
    fleet.stand_in.clear_faults()
    assert ending.wait(GRACE_S), fleet.logs()
    assert ending.returncode == 0, fleet.logs()
    state = fleet.stand_in.state()
    assert f"Extinguished {first * 10}" not in {row["comments"] for row in state["time_entries"]}
    settled = fleet.settled()
    fleet.add_worker(2)
    each_once(fleet, first)
    assert fleet.settled() == settled, "nothing was in doubt: it kept the number of the issue"


@pytest.mark.promise("OPS-20")
def test_a_message_that_comes_again_while_it_is_worked_on_does_no_harm(
    fleet: Fleet, redis: Redis, app: Celery, first: int
) -> None:
    hold_calls(fleet)
    fleet.add_worker(2)
    fleet.add_worker(2)
    send(fleet, first)
    in_the_middle_of_a_call(fleet, first)
    for _ in range(3):
        deliver_again(app, first)
        redis.delete(
            key_of(fleet.bridge.redis, f"{KEYS}lock:ticket:{first}")
        )  # so that even the lock does not protect the ticket
        time.sleep(0.3)
    fleet.stand_in.clear_faults()
    each_once(fleet, first)


@pytest.mark.promise("OPS-21")
def test_a_message_lost_on_its_way_to_a_worker_is_notified_again_by_the_sweep(
    fleet: Fleet, redis: Redis, first: int
) -> None:
    """Redis delivers the message to a stopped worker, which is killed before it reads the message."""
    lost = fleet.add_worker(2)
    send(fleet, first)
    each_once(fleet, first)
    lost.send_signal(signal.SIGSTOP)
    send(fleet, first + 1)
    time.sleep(0.5)
    lost.kill()
    redis.delete(queue_of(fleet))  # also messages that Redis has not delivered yet
    fleet.add_worker(2)
    each_once(fleet, first, first + 1)


@pytest.mark.promise("OPS-25")
def test_workers_whose_connections_are_cut_consume_again(fleet: Fleet, redis: Redis, first: int) -> None:
    workers = [fleet.add_worker(2) for _ in range(2)]
    send(fleet, first)
    each_once(fleet, first)
    for ticket_id in (first + 1, first + 2, first + 3):
        redis.client_kill_filter(_type="normal", skipme=True)
        send(fleet, ticket_id)
        time.sleep(0.5)
    each_once(fleet, first, first + 1, first + 2, first + 3)
    assert all(worker.alive for worker in workers), fleet.logs()


@pytest.mark.promise("OPS-24")
def test_a_redis_that_freezes_delays_no_event_and_what_came_meanwhile_is_done_afterwards(
    fleet: Fleet, redis_server: RedisServer, first: int
) -> None:
    worker = fleet.add_worker(2)
    send(fleet, first)
    each_once(fleet, first)
    redis_server.child.send_signal(signal.SIGSTOP)
    try:
        took = list[float]()
        for ticket_id in (first + 1, first + 2, first + 3):
            started = time.monotonic()
            send(fleet, ticket_id)
            took.append(time.monotonic() - started)
        assert sorted(took)[1] < 1, "whoever waited for it would wait for two seconds each time"
        time.sleep(6)
    finally:
        redis_server.child.send_signal(signal.SIGCONT)
    each_once(fleet, first, first + 1, first + 2, first + 3)
    assert worker.alive, fleet.logs()


def test_every_line_that_the_processes_wrote_through_all_of_this_is_one_json_event(
    fleet: Fleet, first: int
) -> None:
    """This test comes last: it stops every process in an orderly way and reads all their output."""
    port = free_port()
    console = fleet.child("console", "console", "--port", str(port), DESKBRIDGE_CONSOLE_TOKENS="t" * 20)
    fleet.processes.start(console)
    fleet.add_worker(2)
    fleet.stand_in.fault("status_before", method="POST", path="/time_entries.json", status=422)
    send(fleet, first)
    until(lambda: fleet.states().get("failed"), seconds=STARTED_WITHIN_S)
    fleet.stand_in.clear_faults()
    for its_port in (fleet.port, port):
        console.wait_ready(lambda its_port=its_port: not_http(its_port), STARTED_WITHIN_S)  # type: ignore[misc]
    fleet.stop_processes()
    logs = {file.name: file.read_text().splitlines() for file in fleet.directory.glob("*.log")}
    assert all(logs.values()), "each process said something"
    for name, lines in logs.items():
        for line in lines:
            assert line.startswith("{"), f"{name}: {line}"
            assert {"event", "level", "timestamp", "process"} <= set(json.loads(line)), f"{name}: {line}"
    assert {"producer.log", "beat.log", "console.log", "worker-1.log"} <= set(logs)


def not_http(port: int) -> bool:
    """Send bytes that are not HTTP, which servers like to log; return whether the server answers."""
    with socket.create_connection((HOST, port), timeout=20) as connection:
        connection.sendall(b"HELO\r\n\r\n")
        return bool(connection.recv(100))


def test_beat_ends_when_it_is_told_to_while_the_broker_does_not_answer(
    redis_server: RedisServer, redis_url: str, redis: Redis, tmp_path: Path
) -> None:
    """Beat is about to send a message and must not mistake the signal for a failure to send it."""
    redis.flushall()
    redis.zadd(INSTALLATIONS, {"5ac1": time.time()})  # the heartbeat of a live worker
    environment = {
        **os.environ,
        "DESKBRIDGE_REDIS_URL": redis_url,
        "DESKBRIDGE_DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3",
        "DESKBRIDGE_SWEEP_INTERVAL": "0.1",
    }
    with subprocess.Popen([sys.executable, "-m", "worker", "beat"], env=environment) as beat:
        try:
            until(lambda: waiting(redis, "5ac1"), seconds=STARTED_WITHIN_S)
            redis_server.child.send_signal(signal.SIGSTOP)
            time.sleep(1)  # enough time for ten messages
            beat.send_signal(signal.SIGTERM)
            assert beat.wait(GRACE_S) == 0
        finally:
            redis_server.child.send_signal(signal.SIGCONT)
            beat.kill()
            redis.flushall()
