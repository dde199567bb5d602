"""The migrations create exactly the tables of the models, on both databases."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import producer.admin.migrations as migrations
from producer.admin.migrations.upgrading import check_tables, upgrade
from producer.admin.records.models import TABLES
from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.store.tables.database import Database
from shared.store.tables.schema import HEAD, require_current
from tests.unit.cli.conftest import Shell


def differences(database: Database) -> list[object]:
    """Return the changes that autogenerate would make."""
    with database.engine.connect() as connection:
        found: list[object] = compare_metadata(MigrationContext.configure(connection), TABLES)
        return found


def test_the_newest_revision_is_the_one_that_processes_require() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_migrated_sqlite_has_the_tables_of_the_models(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/new.sqlite3")
    assert upgrade(database) == (None, HEAD)
    assert upgrade(database) == (HEAD, HEAD)
    require_current(database)
    assert differences(database) == []
    database.close()


def change(shell: Shell, *statements: str) -> None:
    with shell.store.database.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("DROP TABLE task_time_link", "task_time_link"),
        ("ALTER TABLE journal DROP COLUMN traceparent", "journal.traceparent"),
        ("DROP INDEX uq_task_time_link_tracker_id", "task_time_link.uq_task_time_link_tracker_id"),
    ],
)
def test_migrate_and_the_doctor_name_what_the_tables_of_this_revision_lack(
    shell: Shell, statement: str, part: str
) -> None:
    change(shell, statement)
    words = f"at revision {HEAD}, but lacks {part}."
    assert words in shell.fail("migrate")
    findings = {one["check"]: one for one in json.loads(shell.type("doctor", "--json").stdout)}
    assert findings["migrations"]["status"] == "failure"
    assert words in findings["migrations"]["what"]
    assert "run `deskbridge migrate`" not in findings["migrations"]["todo"], "it would heal nothing"


def test_what_a_newer_version_has_added_is_not_missed(shell: Shell) -> None:
    change(shell, "CREATE TABLE something_new (id INTEGER)", "ALTER TABLE journal ADD COLUMN added TEXT")
    assert f"up to date (revision {HEAD})" in shell.do("migrate")


def test_the_tables_of_a_newer_version_need_the_newer_version(shell: Shell) -> None:
    change(shell, "UPDATE alembic_version SET version_num = '9999'")
    words = "at revision 9999, and this version only knows"
    assert words in shell.fail("migrate")
    findings = {one["check"]: one for one in json.loads(shell.type("doctor", "--json").stdout)}
    assert words in findings["migrations"]["what"]
    assert "migrate" not in findings["migrations"]["todo"], "it would heal nothing"


@pytest.mark.slow
def test_migrated_postgresql_has_the_tables_of_the_models_also_when_two_migrate_at_once(
    postgres_url: str,
) -> None:
    databases = [Database(postgres_url), Database(postgres_url)]
    with ThreadPoolExecutor(2) as pool:
        before = sorted(str(found) for found, _ in pool.map(upgrade, databases))
    assert before == [HEAD, "None"]
    require_current(databases[0])
    assert differences(databases[0]) == []
    check_tables(databases[0])
    with databases[0].engine.begin() as connection:
        connection.execute(text("DROP INDEX uq_task_time_link_tracker_id"))
        connection.execute(text("DROP TABLE note_link CASCADE"))
    with pytest.raises(SettingsError) as refused:
        check_tables(databases[0])
    missing = ["note_link", "task_time_link.uq_task_time_link_tracker_id"]
    assert refused.value.notice == SystemRefusal.TABLES_INCOMPLETE(revision=HEAD, parts=missing)
    for database in databases:
        database.close()
