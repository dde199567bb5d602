"""The database's schema, brought up to date by Alembic: `deskbridge migrate`.

A new revision is made with Alembic's own command line (see `[tool.alembic]` in pyproject.toml), against a
database that is up to date: `alembic revision --autogenerate -m "what changes" --rev-id 0005`; then `HEAD`
here moves with it.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection

from shared.errors import SettingsError
from shared.store.database import Database

HEAD = "0004"
"""The newest revision. Kept here so that a process can look at its start without loading Alembic."""

LOCK = 0x6465736B6272
"""Key of PostgreSQL's advisory lock: one migration at a time."""


def upgrade(database: Database) -> tuple[str | None, str]:
    """Bring the schema to the newest revision, all or nothing; safe to run again, and by several at once.

    Args:
        database: the database.

    Returns:
        The revision before (None: an empty database) and the one now.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with database.engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        before = _revision(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return before, _revision(connection) or ""


def require_current(database: Database) -> None:
    """Make sure that the schema is the one this version works with.

    Raises:
        SettingsError: `deskbridge migrate` is due, or the database belongs to a newer version.
        OperationalError: the database cannot be reached.
    """
    with database.engine.connect() as connection:
        found = _revision(connection)
    if found is None:
        raise SettingsError("the database has no tables yet: run `deskbridge migrate`")
    if found > HEAD:
        raise SettingsError(
            f"the database is at revision {found}, newer than this version of deskbridge ({HEAD}): update deskbridge"
        )
    if found != HEAD:
        raise SettingsError(f"the database is at revision {found}, not at {HEAD}: run `deskbridge migrate`")


def _revision(connection: Connection) -> str | None:
    """Return the revision of the schema, None where it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
