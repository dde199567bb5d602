"""The schema revisions on tables with rows, upwards and downwards, on both databases."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Integer,
    MetaData,
    Table,
    delete,
    insert,
    inspect,
    select,
    text,
)

from producer.admin.migrations import upgrading
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.transaction import Store
from shared.errors import SettingsError
from shared.store.tables.database import Database
from tests.support.next_version import NEXT, TODAY, as_next_version

pytestmark = pytest.mark.promise("OPS-01", "OPS-02")
Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]
"""For each table by name: its rows by primary key."""

ROWS = 3


@pytest.fixture(autouse=True)
def _next_version(tmp_path: Path) -> Iterator[None]:
    """Add one revision after the newest, so that rows are migrated even while only the first schema exists."""
    with as_next_version(tmp_path):
        yield


def script() -> Config:
    config = Config()
    config.set_main_option("script_location", str(upgrading.SCRIPTS))
    return config


def revisions() -> list[str]:
    """Return all revisions, oldest first."""
    return [one.revision for one in reversed(list(ScriptDirectory.from_config(script()).walk_revisions()))]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    url = f"sqlite:///{tmp_path}/data.sqlite3"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    made = Database(url)
    yield made
    made.close()


def go(database: Database, revision: str, *, back: bool = False) -> None:
    """Migrate the schema to a revision, as Alembic's own command line does."""
    config = script()
    with database.engine.begin() as connection:
        config.attributes["connection"] = connection
        (command.downgrade if back else command.upgrade)(config, revision)


def tables(database: Database) -> dict[str, Table]:
    found = MetaData()
    found.reflect(database.engine)
    return {name: table for name, table in found.tables.items() if name != "alembic_version"}


def fill(database: Database, first: int = 1) -> None:
    """Insert rows into every table, numbered from `first`, with a value in each column."""
    found = tables(database)
    with database.engine.begin() as connection:
        for table in found.values():
            rows = [
                {column.name: value(column, number) for column in table.c}
                for number in range(first, first + ROWS)
            ]
            if table.name == "journal":  # the journal accepts only consistent rows
                rows = [{**row, "event": "unreadable", "key": "unreadable"} for row in rows]
            if table.name == "installation" and first == 1:  # the migration has already inserted its only row
                connection.execute(delete(table))
            connection.execute(insert(table), rows)


def value(column: Column[Any], number: int) -> Any:
    kind = column.type
    if column.name == "key" and not isinstance(kind, Integer):
        return f"ticket-task:{number}"  # the key of an event of the ticket task with this number
    if isinstance(kind, Boolean):
        return number % 2 == 0
    if isinstance(kind, DateTime):
        return datetime(2026, 11, 20, 3, tzinfo=UTC) + timedelta(minutes=number)
    if isinstance(kind, Integer):
        return number
    if length := getattr(kind, "length", None):
        return f"v{number}"[:length]
    return f'{{"n": {number}, "text": "é€"}}'


def read(database: Database) -> Rows:
    """Return all rows of the existing tables, as the driver returns them."""
    with database.engine.connect() as connection:
        keys = inspect(connection).get_multi_pk_constraint()
        return {
            name: _rows(connection, name, key["constrained_columns"])
            for (_, name), key in keys.items()
            if name != "alembic_version"
        }


def _rows(connection: Connection, table: str, key: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = [dict(row) for row in connection.exec_driver_sql(f'SELECT * FROM "{table}"').mappings()]  # noqa: S608
    return {tuple(row[column] for column in key): row for row in rows}


def assert_survived(before: Rows, after: Rows) -> None:
    """Assert that every row of a remaining table is still there, with all remaining columns."""
    for name in before.keys() & after.keys():
        assert before[name].keys() <= after[name].keys(), name
        for key, was in before[name].items():
            now = after[name][key]
            common = was.keys() & now.keys()
            assert {column: now[column] for column in common} == {column: was[column] for column in common}, (
                name
            )


def test_rows_of_every_revision_survive_the_way_to_the_newest_and_back(database: Database) -> None:
    """Each revision's rows are inserted on the way up, beside all earlier ones, and checked from then on."""
    filled: list[Rows] = []
    for number, revision in enumerate(revisions()):
        go(database, revision)
        before = read(database)
        for rows in filled:
            assert rows.keys() <= before.keys()
            assert_survived(rows, before)
        fill(database, 1 + number * ROWS)
        filled.append(added(before if filled else {}, read(database)))
        assert all(len(rows) == ROWS for rows in filled[-1].values())
        assert filled[-1], "a revision without tables shows nothing"
    for revision, its_rows in zip(reversed(revisions()[:-1]), reversed(filled[:-1]), strict=True):
        go(database, revision, back=True)
        after = read(database)
        assert after.keys() == its_rows.keys()
        for rows in filled:
            assert_survived(rows, after)


def added(before: Rows, after: Rows) -> Rows:
    """Return the rows that are new."""
    return {
        name: {key: row for key, row in rows.items() if key not in before.get(name, {})}
        for name, rows in after.items()
    }


def test_rows_of_the_newest_revision_survive_each_step_back_and_the_way_forward_again(
    database: Database,
) -> None:
    go(database, "head")
    fill(database)
    before = read(database)
    for older in reversed(revisions()[:-1]):
        go(database, older, back=True)
        assert_survived(before, read(database))
    oldest = read(database)
    go(database, "head")
    assert_survived(oldest, read(database))
    go(database, "base", back=True)
    assert read(database) == {}


def test_a_revision_that_fails_half_way_leaves_everything_as_it_was(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(database, TODAY)
    fill(database)
    before = read(database)

    def half(*_: object, **__: object) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr("alembic.op.create_index", half)
    with pytest.raises(RuntimeError):
        upgrade(database)
    assert read(database) == before
    monkeypatch.undo()
    assert upgrade(database) == (TODAY, NEXT)


def test_a_migration_does_not_make_everybody_wait_behind_a_backup(postgres_url: str) -> None:
    """A schema change waits for readers, and writers queue behind it: it has to give up soon."""
    database, backup = Database(postgres_url), Database(postgres_url)
    go(database, TODAY)
    with backup.engine.begin() as reader:
        reader.execute(text("LOCK TABLE journal IN ACCESS SHARE MODE"))
        reader.execute(text("LOCK TABLE ticket_issue_link IN ACCESS SHARE MODE"))
        refused: list[SettingsError] = []

        def migrate() -> None:
            try:
                upgrade(database, tries=2)
            except SettingsError as error:
                refused.append(error)

        thread = threading.Thread(target=migrate)
        thread.start()
        thread.join(timeout=60)
        assert not thread.is_alive(), "it waits for as long as the backup takes"
    assert "nothing was changed" in str(refused[0])
    assert upgrade(database)[0] == TODAY
    for one in (database, backup):
        one.close()


def test_a_config_of_a_newer_version_is_read_and_kept(store: Store) -> None:
    """During an upgrade both versions run; a key that only one of them has must not stop the other."""
    from sqlalchemy import update

    from shared.store.tables.configuration import PluginConfigRecord

    with store.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(config)
    newer = {**config.model_dump(mode="json"), "of_a_newer_version": [1]}
    with store.database.transaction() as session:
        session.execute(update(PluginConfigRecord).values(values=newer))
    with store.transaction() as tx:
        config, _ = tx.configs.get()
        tx.configs.put(config.model_copy(update={"done_state": 3}))
    with store.database.transaction() as session:
        stored = session.scalar(select(PluginConfigRecord.values))
    assert stored == {**newer, "done_state": 3}
