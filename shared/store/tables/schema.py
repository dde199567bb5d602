"""The schema revision that this version requires; `producer.admin.migrations` upgrades a database to it."""

from __future__ import annotations

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.store.tables.database import Database

HEAD = "0003"
"""The newest revision. Each process compares it with the database at its start, without Alembic."""


def require_current(database: Database, *, loaded: bool = True) -> None:
    """Check that the schema is the one that this version requires, without creating a missing SQLite file.

    Args:
        database: the database.
        loaded: whether the environment contains any setting.

    Raises:
        SettingsError: if the database is missing, must be migrated, or belongs to a newer version.
        OperationalError: if the database cannot be reached.
    """
    if (file := database.missing_file) is not None:
        missing = SystemRefusal.DATABASE_MISSING if loaded else SystemRefusal.ENVIRONMENT_NOT_LOADED
        raise SettingsError(missing(file=file))
    with database.engine.connect() as connection:
        found = revision_of(connection)
    if found is None:
        raise SettingsError(SystemRefusal.DATABASE_WITHOUT_TABLES())
    if found > HEAD:
        raise SettingsError(SystemRefusal.DATABASE_TOO_NEW(found=found, newest=HEAD))
    if found != HEAD:
        raise SettingsError(SystemRefusal.DATABASE_TOO_OLD(found=found, newest=HEAD))


def is_current(settings: Settings) -> bool:
    """Check at the start of a process that the schema is the one that this version requires.

    Args:
        settings: the process's environment settings.

    Returns:
        False if the database cannot be reached, which may be temporary and does not prevent the start.

    Raises:
        SettingsError: if the database is missing, must be migrated, or belongs to a newer version.
    """
    database = Database(settings.database_url.get_secret_value())
    try:
        require_current(database, loaded=settings.is_loaded)
    except OperationalError:
        return False
    finally:
        database.close()
    return True


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the schema, or None if it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
