"""Rows about a database that stores no events."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool

from producer.console.app import create_console
from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.store.tables.schema import is_current
from tests.failures.rows.row import Nothing, Row
from tests.failures.stage import Stage
from tests.support.events import task, task_event
from tests.support.next_version import as_next_version

NOT_COMMITTED = Nothing("no event was committed")
ACCOUNT = "deskbridge_of_the_test"
"""Not a superuser, because connection limits do not apply to superusers."""

NO_SPACE = 'could not extend file "base/16384/16397": No space left on device'
"""The error as PostgreSQL words it."""


def not_taken_in(stage: Stage) -> None:
    """Send events whose commit fails, so that the producer would answer 503 and the help desk send them again."""
    with pytest.raises(DBAPIError):
        stage.bridge.receive(
            *(task_event(one, of_task=task(one, content="x" * 20_000)) for one in range(1, 30))
        )


def with_account(url: str) -> str:
    """Return a PostgreSQL database's URL for deskbridge's account; create the account if it is missing."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if not connection.exec_driver_sql("SELECT 1 FROM pg_roles WHERE rolname = %s", (ACCOUNT,)).scalar():
            connection.exec_driver_sql(f"CREATE ROLE {ACCOUNT} LOGIN IN ROLE postgres")
    engine.dispose()
    return make_url(url).set(username=ACCOUNT).render_as_string(hide_password=False)


def administer(stage: Stage, *statements: str, database: str = "") -> None:
    """Execute statements as the server's administrator, whatever the database is set to."""
    url = make_url(stage.bridge.settings.database_url.get_secret_value()).set(username="postgres")
    engine = create_engine(url.set(database=database or url.database), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("SET transaction_read_only = off; SET default_transaction_read_only = off")
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def name(stage: Stage) -> str:
    """Return the database's name."""
    return str(make_url(stage.bridge.settings.database_url.get_secret_value()).database)


def reconnect(stage: Stage) -> None:
    """Make every process reconnect to the database, as after a restart."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND pid <> pg_backend_pid()"
    stage.bridge.store.database.engine.dispose()
    stage.console.app.state.services.store.database.engine.dispose()
    administer(stage, others.format(name(stage)))


def read_only(stage: Stage) -> None:
    """Set the database to read-only, as an administrator does."""
    stage.during.callback(writable, stage)
    administer(stage, f"ALTER DATABASE {name(stage)} SET default_transaction_read_only = on")
    reconnect(stage)


def writable(stage: Stage) -> None:
    """Make the database writable again, and restart every process."""
    administer(stage, f"ALTER DATABASE {name(stage)} RESET default_transaction_read_only")
    reconnect(stage)


def crowded(stage: Stage) -> None:
    """Make the server refuse further connections of deskbridge's account."""
    stage.during.callback(spare, stage)
    administer(stage, f"ALTER ROLE {ACCOUNT} CONNECTION LIMIT 0")
    reconnect(stage)


def spare(stage: Stage) -> None:
    """Remove the connection limit of deskbridge's account."""
    administer(stage, f"ALTER ROLE {ACCOUNT} CONNECTION LIMIT -1")


DISK_FULL = f"""
CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = '{NO_SPACE}'; END $$;
CREATE FUNCTION disk_full_too() RETURNS event_trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = '{NO_SPACE}'; END $$;
CREATE TRIGGER disk_full BEFORE INSERT ON journal FOR EACH STATEMENT EXECUTE FUNCTION disk_full();
CREATE EVENT TRIGGER disk_full ON ddl_command_start EXECUTE FUNCTION disk_full_too();
"""
ROOM = """
DROP EVENT TRIGGER IF EXISTS disk_full; DROP FUNCTION IF EXISTS disk_full, disk_full_too CASCADE;
"""


def disk_full(stage: Stage) -> None:
    """Make journal inserts and schema changes in PostgreSQL fail as on a full disk.

    Triggers raise the server's own error, because only a machine's superuser can mount a full disk.
    """
    stage.during.callback(administer, stage, ROOM)
    administer(stage, DISK_FULL)


def room(stage: Stage) -> None:
    """Free space on the disk."""
    administer(stage, ROOM)


def full_file(stage: Stage) -> None:
    """Make each connection to the SQLite file find its disk full."""
    with stage.bridge.store.database.engine.connect() as connection:
        stage.kept["pages"] = connection.exec_driver_sql("PRAGMA page_count").scalar()

    def limit(connection: object, _record: object, _proxy: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {stage.kept['pages']}")  # type: ignore[attr-defined]

    event.listen(Pool, "checkout", limit)
    stage.during.callback(event.remove, Pool, "checkout", limit)


def room_for_file(stage: Stage) -> None:
    """Free space on the disk of the file."""
    stage.kept["pages"] = 1_000_000


def old_schema(stage: Stage) -> None:
    """Install a version whose migrations were not applied, so that no process of it starts."""
    stage.console.stop()
    directory = stage.during.enter_context(TemporaryDirectory())
    stage.during.enter_context(as_next_version(Path(directory)))


def not_started(stage: Stage) -> None:
    """Check that no process starts, so that the help desk keeps its events."""
    with pytest.raises(SettingsError) as refused:
        is_current(stage.bridge.settings)
    assert refused.value.notice.code == SystemRefusal.DATABASE_TOO_OLD


def migrate(stage: Stage) -> None:
    """Apply the migrations, and start the console."""
    stage.shell.do("migrate")
    assert is_current(stage.bridge.settings)
    stage.console = type(stage.console)(create_console(stage.bridge.settings))
    stage.console.start()
    stage.during.callback(stage.console.stop)
    stage.pages.base_url = stage.console.base_url


ROWS = [
    Row(
        14,
        "PostgreSQL was set to read only",
        read_only,
        None,
        doctor="is set to read-only, so no event can be stored",
        step="set default_transaction_read_only to off",
        heal=writable,
        everywhere=NOT_COMMITTED,
        overview="is set to read-only, so no event can be stored",
        arrives=not_taken_in,
        readyz=503,
        unreachable=("database",),
        on_postgresql=True,
        told_before=True,
    ),
    Row(
        15,
        "PostgreSQL gives no further connection",
        crowded,
        None,
        doctor="too many connections",
        step="check that the database is running and accepts more connections, and check DESKBRIDGE_DATABASE_URL",
        heal=spare,
        events="too many connections",
        history="too many connections",
        ticket="the producer rejects events, and GLPI sends them again",
        overview="the producer rejects events, and GLPI sends them again",
        arrives=not_taken_in,
        readyz=503,
        unreachable=("database",),
        on_postgresql=True,
        told_before=True,
    ),
    Row(
        17,
        "the migrations are behind",
        old_schema,
        None,
        doctor="the database is at revision",
        step="run `deskbridge migrate`",
        heal=migrate,
        events="run `deskbridge migrate`",
        history="run `deskbridge migrate`",
        ticket=Nothing("no console starts before the migration"),
        overview=Nothing("no console starts before the migration"),
        arrives=not_started,
        readyz=None,
    ),
    Row(
        21,
        "PostgreSQL's disk is full",
        disk_full,
        None,
        doctor=f"has no space left: {NO_SPACE}",
        step="free disk space on the database server",
        heal=room,
        everywhere=NOT_COMMITTED,
        overview=f"has no space left: {NO_SPACE}",
        arrives=not_taken_in,
        readyz=503,
        unreachable=("database",),
        on_postgresql=True,
        told_before=True,
    ),
    Row(
        21,
        "the disk of the SQLite file is full",
        full_file,
        None,
        doctor="has no space left: database or disk is full",
        step="free disk space on the database server",
        heal=room_for_file,
        everywhere=NOT_COMMITTED,
        overview="has no space left: database or disk is full",
        arrives=not_taken_in,
        readyz=503,
        unreachable=("database",),
        told_before=True,
    ),
]
