"""Fixtures with a real Redis and a real PostgreSQL, started on free ports on 127.0.0.1.

They come from Python packages, so no test that needs them is ever skipped: on a machine that cannot start
them, the tests fail with the reason.
"""

import secrets
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
from tests.support.fork_server import CommandShim, ForkServer

_numbers = count(1)


@pytest.fixture(scope="session")
def servers_dir() -> Iterator[Path]:
    """A directory for the servers' data that every account can enter (unlike pytest's own)."""
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
    server = PostgresServer(servers_dir / "postgres", fsync=False, password=secrets.token_hex(16))
    try:
        yield server.start()
    finally:
        server.destroy()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a new database for the test, for SQLAlchemy."""
    postgres_server.revive()
    name = f"test_{next(_numbers)}"
    yield postgres_server.create_database(name)
    postgres_server.revive()
    postgres_server.drop_database(name)


@pytest.fixture
def migrated_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The same for a database with tables: a copy, which is four times as fast as creating them."""
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
    """The same for an emptied database that other tests used: a copy takes a hundred times as long.

    Tests may leave only rows in it. It is not for tests of query plans, because PostgreSQL remembers table sizes.
    """
    postgres_server.revive()
    _database_of_many.engine.dispose()
    postgres_server.terminate_backends("of_many")
    empty(_database_of_many)
    return _database_of_many.engine.url.render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def shared_fork_server() -> Iterator[ForkServer]:
    """The fork server that forks the processes of the whole session."""
    made = ForkServer()
    yield made
    made.close()


@pytest.fixture(scope="session")
def shim(shared_fork_server: ForkServer) -> Iterator[CommandShim]:
    """A `deskbridge` program for shells, forked instead of started from scratch."""
    with TemporaryDirectory(prefix="door-") as directory:
        made = CommandShim(shared_fork_server, Path(directory))
        yield made
        made.close()
