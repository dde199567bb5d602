"""The migrations create exactly the tables of the models, on both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import producer.admin.migrations as migrations
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.models import TABLES
from shared.store.tables.database import Database
from shared.store.tables.schema import HEAD, require_current


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
    for database in databases:
        database.close()
