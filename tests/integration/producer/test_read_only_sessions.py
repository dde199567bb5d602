"""Sessions that began while PostgreSQL took no writes are replaced: nothing has to be restarted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg2
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from deploy.embedded.postgres import PostgresServer
from shared.store.tables.database import Database
from tests.integration.producer.conftest import Run
from tests.support.events import task_event

pytestmark = pytest.mark.promise("OPS-24")

END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


def administer(server: PostgresServer, statement: str, *values: str) -> None:
    with closing(psycopg2.connect(server.url.replace("+psycopg2", ""))) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement, values)


@contextmanager
def read_only(server: PostgresServer, url: str) -> Iterator[None]:
    """Let every new session be read-only during the block; sessions that begin in it stay so."""
    name = str(make_url(url).database)
    administer(server, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    administer(server, END_SESSIONS, name)
    try:
        yield
    finally:
        administer(server, f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_the_producer_takes_events_again_without_a_restart(
    run: Run, postgres_server: PostgresServer, postgres_url: str
) -> None:
    producer = run(database_url=postgres_url)
    assert producer.send(task_event()).status_code == 202
    with read_only(postgres_server, postgres_url):
        statuses = [producer.send(task_event(number)).status_code for number in (1, 2, 3)]
        assert set(statuses) == {503}, "the help desk sends them again"
    assert producer.send(task_event(4)).status_code == 202


@pytest.mark.parametrize("prepares", [False, True], ids=["console", "worker"])
def test_console_and_worker_write_again_without_a_restart(
    postgres_server: PostgresServer, postgres_url: str, prepares: bool
) -> None:
    database = Database(postgres_url, prepares=prepares)
    with database.transaction() as session:
        session.execute(text("CREATE TABLE held (value integer)"))
        session.execute(text("CREATE TABLE journal (delivery_id text)"))  # is written to, to find a hindrance
    with read_only(postgres_server, postgres_url):
        for _ in range(3):
            with pytest.raises(DBAPIError), database.transaction() as session:
                session.execute(text("INSERT INTO held VALUES (1)"))
        hindrance = database.hindrance()
        assert hindrance is not None
        assert hindrance.kind == "read only"
    assert database.hindrance() is None, "an old session does not speak for the server"
    with database.transaction() as session:
        session.execute(text("INSERT INTO held VALUES (2)"))
    database.close()


def test_a_session_that_another_person_set_to_read_only_is_not_used_again(postgres_url: str) -> None:
    """A pooler hands on what somebody set in a session."""
    database = Database(postgres_url, pool_size=1)
    with database.engine.connect() as connection:
        connection.execute(text("CREATE TABLE held (value integer)"))
        connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
        connection.commit()
    with pytest.raises(DBAPIError), database.transaction() as session:
        session.execute(text("INSERT INTO held VALUES (1)"))
    with database.transaction() as session:
        session.execute(text("INSERT INTO held VALUES (2)"))
    database.close()
