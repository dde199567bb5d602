"""Databases with their tables, quickly: made once and copied, and not safe in a power cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.store import database as module
from shared.store.database import Database
from shared.store.migrations import upgrade


@pytest.fixture(scope="session", autouse=True)
def _sqlite_without_fsync() -> Iterator[None]:
    """Have SQLite wait for no disk, as the tests' PostgreSQL does not."""
    prepare = module._prepare_sqlite

    def prepare_for_tests(connection: Any, record: Any) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_prepare_sqlite", prepare_for_tests)
        yield


def make_tables(database: Database) -> None:
    """Give a new database its tables: into a SQLite file they are copied, elsewhere they are made."""
    url = database.engine.url
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        Path(url.database).write_bytes(_file_with_tables())
    else:
        upgrade(database)


@cache
def _file_with_tables() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "tables.sqlite3"
        database = Database(f"sqlite:///{file}")
        upgrade(database)
        database.close()
        return file.read_bytes()
