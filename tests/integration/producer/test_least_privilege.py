"""A producer whose PostgreSQL role may only append to the journal: it needs no more rights, and has none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

import pytest
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError, ProgrammingError
from typer.testing import CliRunner

from deploy.embedded.postgres import PostgresServer
from producer.admin.records.grants import COUNTS
from producer.admin.records.models import TABLES
from producer.admin.records.transaction import Store
from producer.cli.main import app
from producer.intake.app import create_app
from producer.intake.private_text import PrivateText
from shared.errors import SettingsError
from shared.events.config import PluginConfig
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.store.journal.installations import installation_id
from shared.store.opening import Store as ProducersStore
from shared.store.tables.database import Database
from shared.store.tables.schema import require_current
from tests.integration.producer.conftest import SECRET, RunningProducer
from tests.support.databases import tables_on
from tests.support.events import task_event, ticket_event
from tests.support.refusals import says

ROLE = 'producer "of" ours'
FEW_RIGHTS = (
    "SELECT * FROM {0}",
    "UPDATE {0} SET {1} = {1}",
    "DELETE FROM {0}",
    "TRUNCATE {0}",
    "DROP TABLE {0}",
)
SIGNS = "producer_sign"
MAY = {
    COUNTS: ("SELECT * FROM {0}",),
    "installation": ("SELECT * FROM {0}",),
    SIGNS: ("UPDATE {0} SET {1} = {1}",),
}


@pytest.fixture(scope="module")
def database_url(postgres_server: PostgresServer) -> Iterator[str]:
    """One database for all these tests: only the first of them keeps what it writes."""
    postgres_server.revive()
    name = "least_privilege"
    yield postgres_server.create_database(name, template=tables_on(postgres_server))
    postgres_server.revive()
    postgres_server.drop_database(name)


@pytest.fixture(scope="module")
def owner(database_url: str) -> Iterator[Store]:
    """The tables' owner, after running the output of `deskbridge grants` twice."""
    store = Store(Database(database_url))
    printed = CliRunner().invoke(app, ["grants", "--producer-role", ROLE])
    assert printed.exit_code == 0, printed.output
    quoted = '"' + ROLE.replace('"', '""') + '"'
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE ROLE {quoted} LOGIN")
        for _ in range(2):
            connection.exec_driver_sql(printed.stdout)
    yield store
    with store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"DROP OWNED BY {quoted}")
        connection.exec_driver_sql(f"DROP ROLE {quoted}")
    store.database.close()


@pytest.fixture(scope="module")
def producer_url(owner: Store, database_url: str) -> str:
    """The database URL for the producer's role."""
    return make_url(database_url).set(username=ROLE).render_as_string(hide_password=False)


@contextmanager
def as_producer(url: str) -> Iterator[Connection]:
    engine = create_engine(url)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.promise("SEC-46")
def test_the_producer_does_all_its_work_with_that_role(
    owner: Store, producer_url: str, redis_url: str
) -> None:
    database = Database(producer_url)
    require_current(database)
    database.close()
    settings = Settings(
        database_url=SecretStr(producer_url),
        redis_url=SecretStr(redis_url),
        webhook_secrets=(SecretStr(SECRET),),
    )
    installation_id(owner.database)
    running = RunningProducer(create_app(settings), owner)
    with owner.transaction() as tx:
        tx.reconciliation.ran(tx.now(), 3)
    running.start()
    try:
        first = running.send([task_event(), ticket_event()], "one")
        again = running.send([task_event(), ticket_event()], "one")
        conflicting = running.send([ticket_event(), task_event()], "one")
        ready = running.get("/readyz")
        metrics = running.get("/metrics").text
    finally:
        running.stop()
    assert [one["duplicate"] for one in first.json()["accepted"]] == [False, False]
    assert [one["duplicate"] for one in again.json()["accepted"]] == [True, True]
    assert [one["duplicate"] for one in conflicting.json()["accepted"]] == [False, False]
    assert (ready.status_code, ready.json()["database"]) == (200, "ok")
    assert "deskbridge_events_missed 3.0" in metrics
    assert len(running.journal()) == 4
    with Redis.from_url(redis_url) as redis:
        assert redis.exists(f"deskbridge:deskbridge.{installation_id(owner.database)}"), (
            "it rings its own workers"
        )
    with owner.transaction() as tx:
        (sign,) = tx.producers.seen()
    assert (sign.process.host, sign.process.version) == (socket.gethostname(), version("deskbridge"))


@pytest.mark.promise("SEC-46")
def test_the_producer_reads_with_that_role_whether_private_texts_are_kept(
    owner: Store, producer_url: str
) -> None:
    database = Database(producer_url)
    for private_tasks, is_kept in (("send", True), ("hours_only", False)):
        with owner.transaction() as tx:
            tx.configs.put(PluginConfig.model_validate({"private_tasks": private_tasks}))
        assert bool(PrivateText(ProducersStore(database)).may_be_kept()) == is_kept
    database.close()


@pytest.mark.promise("SEC-46")
@pytest.mark.parametrize("table", sorted(TABLES.tables))
def test_that_role_neither_reads_nor_changes_a_table(producer_url: str, table: str) -> None:
    column = next(iter(TABLES.tables[table].columns)).name
    with as_producer(producer_url) as connection:
        for statement in FEW_RIGHTS:
            if statement in MAY.get(table, ()):
                continue
            with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
                connection.execute(text(statement.format(table, f'"{column}"')))
            connection.rollback()
        if table not in ("journal", SIGNS):
            with pytest.raises(ProgrammingError, match="permission denied"):
                connection.execute(text(f"INSERT INTO {table} DEFAULT VALUES"))
            connection.rollback()


@pytest.mark.promise("SEC-46")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT payload FROM journal",
        "INSERT INTO journal (completion) VALUES ('{}')",
        "SELECT state FROM journal",
        "SELECT refused FROM producer_sign",
        "SELECT api_key_encrypted FROM plugin_config",
        "INSERT INTO journal DEFAULT VALUES RETURNING payload",
        "SELECT setval('journal_id_seq', 1)",
        "SELECT currval('trace_step_id_seq')",
        "UPDATE alembic_version SET version_num = '0000'",
        "DELETE FROM alembic_version",
        "CREATE TABLE mine (id int)",
        "GRANT SELECT ON plugin_config TO CURRENT_USER",
        "SET ROLE postgres",
        "COPY plugin_config TO STDOUT",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
def test_that_role_has_no_way_around(producer_url: str, statement: str) -> None:
    with as_producer(producer_url) as connection, pytest.raises(ProgrammingError):
        connection.execute(text(statement))


HONEST = {
    "delivery_id": "'d'",
    "digest": "'x'",
    "event": "'ticket.updated'",
    "key": "'ticket:7'",
    "ticket_id": "7",
    "task_id": "NULL",
    "occurred_at": "now()",
    "clamped": "false",
    "sequence": "0",
    "received_at": "now()",
    "payload": "'{}'",
    "state": "'pending'",
    "attempts": "0",
}


@pytest.mark.promise("SEC-57")
@pytest.mark.parametrize(
    "forged",
    [
        {"occurred_at": "'infinity'"},
        {"occurred_at": "'-infinity'"},
        {"occurred_at": "'9000-01-01'"},
        {"received_at": "'infinity'"},
        {"key": "'ticket:8'"},
        {"key": "'ticket-task:7'"},
        {"key": "'followup:7'"},
        {"event": "'followup.added'"},
        {"event": "'followup.added'", "key": "'solution:7'"},
        {"event": "'solution.added'", "key": "'solution:07'"},
        {"event": "'solution.added'", "key": "'solution:7'", "task_id": "9"},
        {"event": "'document.added'"},
        {"event": "'document.added'", "key": "'solution:7'"},
        {"task_id": "9"},
        {"ticket_id": "8"},
        {"attempts": "-2000000000"},
        {"payload": "repeat('x', 5000000)"},
    ],
    ids=str,
)
def test_a_row_that_makes_no_sense_is_not_taken(producer_url: str, forged: dict[str, str]) -> None:
    insert = "INSERT INTO journal ({}) VALUES ({})"
    with as_producer(producer_url) as connection:
        connection.execute(text(insert.format(", ".join(HONEST), ", ".join(HONEST.values()))))
        row = {**HONEST, **forged, "delivery_id": "'e'"}
        with pytest.raises(IntegrityError, match="ck_journal_"):
            connection.execute(text(insert.format(", ".join(row), ", ".join(row.values()))))


def test_a_database_that_is_not_migrated_is_still_told(producer_url: str, owner: Store) -> None:
    database, change = Database(producer_url), text("UPDATE alembic_version SET version_num = :version")
    with owner.database.transaction() as session:
        version = session.scalar(text("SELECT version_num FROM alembic_version"))
        session.execute(change, {"version": "0000"})
    try:
        with pytest.raises(SettingsError, check=says(SystemRefusal.DATABASE_TOO_OLD, found="0000")):
            require_current(database)
    finally:
        with owner.database.transaction() as session:
            session.execute(change, {"version": version})
        database.close()


def test_a_role_without_a_name_is_wrong_usage() -> None:
    assert CliRunner().invoke(app, ["grants", "--producer-role", " "]).exit_code == 2
