"""An installation that runs as real processes, with its own mock Redmine.

A fork server starts the processes in a tenth of the time, unless a module sets `FROM_NOTHING = True`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.support.fleet import Fleet
from tests.support.fork_server import ForkServer


@pytest.fixture(scope="module")
def fork_server(request: pytest.FixtureRequest) -> ForkServer | None:
    """The server that forks the module's processes; None if the module starts them from nothing, or not on Linux."""
    if getattr(request.module, "FROM_NOTHING", False) or sys.platform != "linux":
        return None
    made: ForkServer = request.getfixturevalue("shared_fork_server")
    return made


@contextmanager
def made_fleet(directory: Path, database_url: str, redis_url: str, **settings: Any) -> Iterator[Fleet]:
    """Make a fleet that is not started yet, and stop it at the end of the block."""
    with StandIn(key=settings.pop("key", DEFAULT_KEY)) as stand_in:
        made = Fleet(directory, database_url, redis_url, stand_in, **settings)
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def new_fleet(
    tmp_path: Path, postgres_url: str, redis_url: str, fork_server: ForkServer | None
) -> Iterator[Fleet]:
    """A fleet for this test only, which is not started yet."""
    with made_fleet(tmp_path, postgres_url, redis_url, fork_server=fork_server) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def lasting_fleet(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    redis_server: RedisServer,
    fork_server: ForkServer | None,
) -> Iterator[Fleet]:
    """One fleet for the whole module, without a worker yet, because starting processes takes most of the time.

    Each test of the module uses its own tickets.
    """
    name = request.module.__name__.rpartition(".")[2]
    postgres_server.revive()
    redis_server.revive()
    redis_server.flush()
    settings = getattr(request.module, "SETTINGS", {})
    url = postgres_server.create_database(name)
    with made_fleet(
        tmp_path_factory.mktemp(name), url, redis_server.url, fork_server=fork_server, **settings
    ) as fleet:
        yield fleet.start()
    postgres_server.drop_database(name)
