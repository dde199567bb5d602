"""Databases with their tables, made fast: created once and copied, and not safe in a power cut."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine, delete, make_url
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from deploy.embedded.postgres import PostgresServer
from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.models import TABLES
from producer.admin.records.transaction import Store
from shared.errors import SettingsError
from shared.store.tables import database as module
from shared.store.tables.database import Database
from shared.store.tables.journal import InstallationRecord
from shared.store.tables.schema import require_current

NUMBER_ANEW = "SELECT setval(schemaname || '.' || sequencename, start_value, false) FROM pg_sequences"


@pytest.fixture(scope="session", autouse=True)
def _quick_databases() -> Iterator[None]:
    """Make SQLite, like the tests' PostgreSQL, not wait for the disk; compile each statement once for all tests."""
    prepare, engine = module._prepare_sqlite, module._engine
    compiled: dict[Any, Any] = {}

    def prepare_for_tests(connection: Any, record: Any) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    def engine_for_tests(url: str, pool_size: int) -> Engine:
        made = engine(url, pool_size)
        made.update_execution_options(compiled_cache=compiled)
        return made

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_prepare_sqlite", prepare_for_tests)
        patched.setattr(module, "_engine", engine_for_tests)
        for dialect in (
            PGDialect_psycopg2,
            SQLiteDialect_pysqlite,
        ):  # each engine has its own instance; instances of one kind are alike
            patched.setattr(dialect, "__eq__", lambda one, other: type(one) is type(other))
            patched.setattr(dialect, "__hash__", lambda one: hash(type(one)))
        yield


def make_tables(database: Database) -> None:
    """Create a database's tables if it has none; a new SQLite file is a copy of one with tables."""
    if make_file(database.engine.url, _file_with_tables):
        return
    try:
        require_current(database)
    except SettingsError:
        upgrade(database)


def make_file(url: str | URL, content: Callable[[], bytes]) -> bool:
    """Write the file of a new SQLite database; return False if it exists, or is not SQLite's."""
    url = make_url(url)
    if url.get_backend_name() != "sqlite" or not url.database or Path(url.database).exists():
        return False
    Path(url.database).write_bytes(content())
    return True


def made_file(fill: Callable[[Store], None]) -> bytes:
    """Return the content of a SQLite file with tables and the rows that a function adds."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "made.sqlite3"
        database = Database(f"sqlite:///{file}")
        make_tables(database)
        fill(Store(database))
        database.close()
        return file.read_bytes()


@cache
def tables_on(server: PostgresServer) -> str:
    """Create a database with empty tables as a template; return its name."""
    name = "tables"
    database = Database(server.create_database(name))
    upgrade(database)
    with database.transaction() as session:
        session.execute(delete(InstallationRecord))
    database.close()
    return name


def empty(database: Database) -> None:
    """Delete every row of a database; in PostgreSQL, also reset the sequences."""
    deletions = [str(delete(table)) for table in reversed(TABLES.sorted_tables)]
    with database.engine.begin() as connection:
        if database.engine.dialect.name == "postgresql":
            connection.exec_driver_sql("; ".join([*deletions, NUMBER_ANEW]))
        else:
            for one in deletions:
                connection.exec_driver_sql(one)


@cache
def _file_with_tables() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "tables.sqlite3"
        database = Database(f"sqlite:///{file}")
        upgrade(database)
        with database.transaction() as session:  # each copy is a separate installation
            session.execute(delete(InstallationRecord))
        database.close()
        return file.read_bytes()
