"""Every process survives a Redis that refuses commands, and recovers by itself when Redis accepts them again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from tests.acceptance.conftest import made_fleet
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.fork_server import ForkServer
from tests.support.refusing import NEIGHBOURS, OPTIONS, REFUSALS, Refusing

pytestmark = pytest.mark.slow

WORKS_AGAIN_S = 15
STARTED_WITHIN_S = 90
MET_S = 6
"""Long enough for a process to do everything that it does with Redis at least once."""

_hundreds = count(1)


@pytest.fixture(scope="module")
def refusing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server for this module only."""
    server = RedisServer(tmp_path_factory.mktemp("redis"), options=OPTIONS)
    server.start()
    yield server
    server.destroy()


@pytest.fixture(scope="module")
def whole_fleet(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    refusing_server: RedisServer,
    fork_server: ForkServer | None,
) -> Iterator[Fleet]:
    """A fleet with a producer and a beat, but without workers."""
    postgres_server.revive()
    url = postgres_server.create_database("refusing")
    directory: Path = tmp_path_factory.mktemp("refusing")
    with made_fleet(directory, url, refusing_server.url, fork_server=fork_server) as fleet:
        yield fleet.start()
    postgres_server.drop_database("refusing")


@pytest.fixture
def fleet(whole_fleet: Fleet) -> Iterator[Fleet]:
    """The fleet without workers, which are killed after each test."""
    yield whole_fleet
    whole_fleet.kill_workers()


@pytest.fixture
def first() -> int:
    """The first of a hundred ticket ids reserved for this test."""
    return next(_hundreds) * 100


@pytest.fixture(params=[*REFUSALS, *NEIGHBOURS], ids=lambda kind: kind.word)
def refusing(request: pytest.FixtureRequest, refusing_server: RedisServer) -> Refusing:
    """One way in which Redis refuses commands; each test runs with all of them."""
    kind: type[Refusing] = request.param
    return kind(refusing_server)


def send(fleet: Fleet, *ticket_ids: int) -> None:
    """Send one event for each ticket and assert that the producer accepts them within 5 s."""
    started = time.monotonic()
    fleet.send(
        [(f"refused-{one}", task_event(of_ticket=ticket(one), of_task=task(one * 10))) for one in ticket_ids]
    )
    assert time.monotonic() - started < 5


def each_once(fleet: Fleet, within: float, *ticket_ids: int) -> None:
    try:
        fleet.wait_until_synced(within)
    except AssertionError:
        raise AssertionError(fleet.logs()) from None
    logged = [row["comments"] for row in fleet.stand_in.state()["time_entries"]]
    for one in ticket_ids:
        assert logged.count(f"Extinguished {one * 10}") == 1, fleet.logs()


@pytest.mark.promise("OPS-23")
def test_every_process_lives_through_it_and_works_again_by_itself(
    fleet: Fleet, refusing: Refusing, first: int
) -> None:
    fleet.add_worker(2)
    everyone = [one for one in fleet.processes.members if one.alive]
    send(fleet, first)
    each_once(fleet, STARTED_WITHIN_S, first)
    with refusing.in_force():
        send(fleet, first + 1, first + 2)
        time.sleep(MET_S)
        send(fleet, first + 3)
    each_once(fleet, WORKS_AGAIN_S, first + 1, first + 2, first + 3)
    send(fleet, first + 4)
    each_once(fleet, WORKS_AGAIN_S, first + 4)
    for one in everyone:
        assert one.alive, (one.name, fleet.logs())


@pytest.mark.promise("OPS-23")
def test_a_process_that_is_started_meanwhile_works_as_soon_as_redis_does(
    fleet: Fleet, refusing: Refusing, first: int
) -> None:
    with refusing.in_force():
        send(fleet, first)
        worker, beat = fleet.add_worker(2), fleet.add_beat(f"beat-{first}")
        time.sleep(MET_S)
    each_once(fleet, STARTED_WITHIN_S, first)
    assert worker.alive, fleet.logs()
    assert beat.alive, fleet.logs()
    beat.kill()
