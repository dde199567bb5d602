"""Fixtures with a real Redis and a real PostgreSQL, started on free ports of 127.0.0.1.

They come out of Python packages, so no test that needs them is ever skipped: a machine that cannot start
them fails, and the error says why.
"""

import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from shared.store.tables.database import Database
from tests.support.databases import empty, tables_on
from tests.support.nursery import Door, Nursery

_numbers = count(1)


@pytest.fixture(scope="session")
def servers_dir() -> Iterator[Path]:
    """A directory for the servers' data that every account can enter (pytest's own cannot be entered)."""
    directory = Path(tempfile.mkdtemp(prefix="deskbridge-tests-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server(servers_dir: Path) -> Iterator[RedisServer]:
    """A running Redis with its data on disk; tests may stop, kill or freeze it."""
    server = RedisServer(servers_dir / "redis")
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The address of an empty Redis."""
    redis_server.revive()
    redis_server.flush()
    return redis_server.url


@pytest.fixture(scope="session")
def postgres_server(servers_dir: Path) -> Iterator[PostgresServer]:
    """A running PostgreSQL, fast rather than safe in a power cut; tests may stop, crash or freeze it."""
    server = PostgresServer(servers_dir / "postgres", fsync=False)
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database of the test's own, for SQLAlchemy."""
    postgres_server.revive()
    name = f"test_{next(_numbers)}"
    yield postgres_server.create_database(name)
    postgres_server.revive()
    postgres_server.drop_database(name)


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The same, of one that has its tables: a copy, four times as quick as to make them."""
    postgres_server.revive()
    name = f"test_{next(_numbers)}"
    yield postgres_server.create_database(name, template=tables_on(postgres_server))
    postgres_server.revive()
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def _database_of_many(postgres_server: PostgresServer) -> Iterator[Database]:
    postgres_server.revive()
    made = Database(postgres_server.create_database("of_many", template=tables_on(postgres_server)))
    yield made
    made.close()


@pytest.fixture
def emptied_postgres_url(postgres_server: PostgresServer, _database_of_many: Database) -> str:
    """The same, of one that others had before, emptied: to copy one takes a hundred times as long.

    Nothing else than rows may be left in it, and it is not for tests of plans: PostgreSQL remembers its sizes.
    """
    postgres_server.revive()
    _database_of_many.engine.dispose()
    postgres_server.terminate_backends("of_many")
    empty(_database_of_many)
    return _database_of_many.engine.url.render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def one_nursery() -> Iterator[Nursery]:
    """What begins the processes of the whole session."""
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="session")
def door(one_nursery: Nursery) -> Iterator[Door]:
    """A `deskbridge` to be typed that begins ready made."""
    with TemporaryDirectory(prefix="door-") as directory:
        made = Door(one_nursery, Path(directory))
        yield made
        made.close()
