"""Brings the database's schema up to date with Alembic: `deskbridge migrate`.

A new revision is made with Alembic's own command line (see `[tool.alembic]` in pyproject.toml), against a
database that is up to date: `alembic revision --autogenerate -m "what changes" --rev-id 0002`; then `HEAD`
of `shared.store.tables.schema` moves with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from producer.admin.records.models import TABLES
from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.store.journal.installations import note_identity
from shared.store.tables import schema
from shared.store.tables.database import Database, is_held_by_others

SCRIPTS = Path(__file__).parent
"""Where the revisions are."""

LOCK = 0x6465736B6272
"""Key of PostgreSQL's advisory lock: one migration at a time."""

LOCK_TIMEOUT_S = 0.5
"""Below PostgreSQL's `deadlock_timeout`, so that in a deadlock the migration gives way, never a worker."""
MOST_NAMED = 10
"""How many missing parts of the schema are named."""
COLUMNS_AND_INDEXES = {
    "sqlite": """
        SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'
        UNION ALL SELECT tbl_name, name FROM sqlite_master WHERE type = 'index'
    """,
    "postgresql": """
        SELECT t.relname, a.attname FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
        WHERE t.relkind = 'r' AND NOT a.attisdropped AND pg_table_is_visible(t.oid)
        UNION ALL
        SELECT t.relname, i.relname FROM pg_index x
        JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
        WHERE pg_table_is_visible(t.oid)
    """,
}
"""SQL for (table, column) and (table, index): one statement, while Alembic's comparison needs hundreds on SQLite."""
TRIES = 20
PAUSE_S = 0.5

T = TypeVar("T")


def upgrade(database: Database, *, tries: int = TRIES) -> tuple[str | None, str]:
    """Upgrade the schema to the newest revision, all or nothing; safe to repeat, and for several processes at once.

    Args:
        database: the database.
        tries: maximum number of attempts if a table is locked.

    Returns:
        The revision before (None for an empty database) and the one now.

    Raises:
        SettingsError: if a table was locked for too long, or the database belongs to a newer version; nothing was
            changed.
    """
    from alembic import command
    from alembic.config import Config

    if (file := database.missing_file) is not None:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))

    def run(connection: Connection) -> tuple[str | None, str]:
        before = schema.revision_of(connection)
        if before is not None and before > schema.HEAD:
            raise SettingsError(SystemRefusal.DATABASE_TOO_NEW(found=before, newest=schema.HEAD))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        note_identity(connection)
        return before, schema.revision_of(connection) or ""

    return run_with_lock_timeout(database, run, tries=tries)


def check_tables(database: Database) -> None:
    """Check that an upgraded database has every table, column and index of this version; it may have others, too.

    Raises:
        SettingsError: if something is missing.
    """
    with database.engine.connect() as connection:
        rows = connection.execute(text(COLUMNS_AND_INDEXES[connection.dialect.name]))
        there = {(table, part) for table, part in rows}
    wanted = {
        (table.name, str(part.name))
        for table in TABLES.tables.values()
        for part in (*table.columns, *table.indexes)
    }
    tables = {table for table, _ in there}
    missing = {f"{table}.{part}" if table in tables else table for table, part in wanted - there}
    if missing:
        parts = sorted(missing)[:MOST_NAMED]
        raise SettingsError(SystemRefusal.TABLES_INCOMPLETE(revision=schema.HEAD, parts=parts))


def run_with_lock_timeout(database: Database, change: Callable[[Connection], T], *, tries: int = TRIES) -> T:
    """Change the schema in one transaction while other processes keep working.

    A change of a table waits for everyone who reads it, and everyone else waits behind the change. So it waits for half
    a second at most, gives way, and tries again.

    Args:
        database: the database.
        change: changes the schema.
        tries: maximum number of attempts.

    Raises:
        SettingsError: if a table was locked for too long; nothing was changed.
    """
    for left in reversed(range(tries)):
        try:
            with database.engine.begin() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
                    connection.execute(text(f"SET LOCAL lock_timeout = {round(LOCK_TIMEOUT_S * 1000)}"))
                return change(connection)
        except OperationalError as error:
            if not is_held_by_others(error):
                raise
            if left:
                time.sleep(PAUSE_S)
    raise SettingsError(SystemRefusal.TABLE_LOCKED())
