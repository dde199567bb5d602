"""Redis behind Sentinels: the sweep notifies again the tickets whose messages are lost with the master."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.deployment.ha.load import Load
from tests.deployment.ha.sentinel import Watched
from tests.support.fleet import Fleet
from tests.support.waiting import until
from tests.support.workload import generate

pytestmark = [pytest.mark.ha, pytest.mark.timeout(900)]

EVENTS = 800
LOST = 50
"""Events whose messages never reach the replica, which is suspended like the workers."""


@pytest.fixture
def watched(servers_dir: Path, tmp_path: Path) -> Iterator[Watched]:
    """A Redis master with a replica behind three Sentinels."""
    one = Watched(tmp_path)
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, watched: Watched) -> Iterator[Fleet]:
    """A whole installation with REDIS_URL leading to the Sentinels: broker, locks and circuit breaker."""
    with StandIn() as stand_in:
        made = Fleet(tmp_path, postgres_url, "redis://127.0.0.1:1/0", stand_in, REDIS_URL=watched.url)
        try:
            yield made.start(workers=2)
        finally:
            made.stop()


def test_with_the_master_killed_under_load_every_event_is_accepted_and_has_one_effect(
    fleet: Fleet, watched: Watched, report: list[str]
) -> None:
    load = Load(fleet, generate(5, tickets=200, events=EVENTS, copies=1))
    with load:
        load.wait_for(100)
        fleet.wait_until_busy()
        for process in (watched.replica.child, *fleet.workers):
            process.send_signal(signal.SIGSTOP)
        load.wait_for(LOST)
        watched.sentinel_away()
        watched.master.kill()
        killed = time.monotonic()
        watched.replica.child.send_signal(signal.SIGCONT)
        until(lambda: watched.master_port() == watched.replica.port, "nobody was made the master", 60)
        promoted = time.monotonic() - killed
        with watched.client(watched.replica) as redis:
            redis.config_resetstat()
        for worker in fleet.workers:
            worker.send_signal(signal.SIGCONT)
        _wait_until_notified(watched)
        notified = time.monotonic() - killed
    synced = load.check()
    said = "".join(one.read_text() for one in fleet.directory.glob("worker-*.log"))
    assert '"event": "swept"' in said, "no ring was lost: the test shows nothing"
    report.append(
        f"Redis: a replica was the master after {promoted:.1f} s, notified again after {notified:.1f} s; "
        f"longest time without a 202 {load.interruption():.1f} s; all done {synced:.1f} s after the last"
    )
    watched.start_server(watched.master)
    until(lambda: watched.client(watched.master).info("replication")["role"] == "slave", "still a master")
    assert "redis" in fleet.run("doctor").stdout
    assert all(child.alive for child in fleet.processes.members), fleet.logs()


def _wait_until_notified(watched: Watched) -> None:
    """Wait until a message arrives at the new master."""
    with watched.client(watched.replica) as redis:
        until(lambda: "cmdstat_lpush" in redis.info("commandstats"), "nobody came to the new master", 120)
