"""PostgreSQL is restarted, and its replica is promoted: no event that was answered 202 is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from tests.deployment.ha.load import Load
from tests.deployment.ha.postgres import Replicated
from tests.support.fleet import Fleet
from tests.support.workload import generate

pytestmark = [pytest.mark.ha, pytest.mark.timeout(900)]


def test_a_postgresql_that_is_restarted_at_once_under_load_loses_no_202_and_has_nothing_done_twice(
    tmp_path: Path,
    postgres_server: PostgresServer,
    postgres_url: str,
    redis_url: str,
    report: list[str],
) -> None:
    with StandIn() as stand_in:
        fleet = Fleet(tmp_path, postgres_url, redis_url, stand_in)
        try:
            fleet.start(workers=2)
            fleet.stand_in.settings(latency_ms=50)
            # slow, so that events are left when the workers become busy, even on a machine with other work
            load = Load(fleet, generate(8, tickets=200, events=1000, copies=1), pause_s=0.1)
            away = []
            with load:
                fleet.wait_until_busy()
                for _ in range(2):
                    load.wait_for(150)
                    began = time.monotonic()
                    postgres_server.crash()
                    postgres_server.start()
                    away.append(time.monotonic() - began)
            synced = load.check()
            assert load.refused, "nobody noticed: the test shows nothing"
            assert all(child.alive for child in fleet.processes.members), fleet.logs()
        finally:
            fleet.stop()
    report.append(
        f"PostgreSQL: ended at once and back after {away[0]:.1f} and {away[1]:.1f} s under load; longest time "
        f"without a 202 {load.interruption():.1f} s; all done {synced:.1f} s after the last"
    )


@pytest.fixture
def replicated(servers_dir: Path) -> Iterator[Replicated]:
    """A primary with its synchronous replica."""
    directory = servers_dir / "replicated"
    directory.mkdir()
    directory.chmod(0o755)
    both = Replicated(directory)
    try:
        both.start()
        yield both
    finally:
        both.stop()


def test_a_synchronous_replica_that_is_promoted_under_load_has_every_event_that_was_answered_202(
    tmp_path: Path, replicated: Replicated, redis_url: str, report: list[str]
) -> None:
    replicated.primary.create_database("deskbridge")
    with StandIn() as stand_in:
        fleet = Fleet(tmp_path, replicated.url("deskbridge"), redis_url, stand_in)
        try:
            fleet.start(workers=2)
            fleet.stand_in.settings(latency_ms=50)
            load = Load(fleet, generate(9, tickets=200, events=1000, copies=1))
            with load:
                load.wait_for(200)
                fleet.wait_until_busy()
                began = time.monotonic()
                replicated.primary.crash()
                replicated.promote()
                promoted = time.monotonic() - began
                accepted = load.wait_for(1) - began
            synced = load.check()
            assert load.refused, "nobody noticed: the test shows nothing"
            assert all(child.alive for child in fleet.processes.members), fleet.logs()
            assert "database" in fleet.run("doctor").stdout
        finally:
            fleet.stop()
    report.append(
        f"PostgreSQL: the replica took writes {promoted:.1f} s after its primary's end, the next 202 came after "
        f"{accepted:.1f} s; longest time without a 202 {load.interruption():.1f} s; all done {synced:.1f} s after "
        "the last"
    )
