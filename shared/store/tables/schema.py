"""Which schema this version works with; `producer.admin.migrations` brings a database there."""

from __future__ import annotations

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.store.tables.database import Database

HEAD = "0002"
"""The newest revision. A process looks at its start, without Alembic."""


def require_current(database: Database, *, loaded: bool = True) -> None:
    """Make sure that the schema is the one this version works with; no SQLite file is made by looking.

    Args:
        database: the database.
        loaded: whether the environment has any setting.

    Raises:
        SettingsError: `deskbridge migrate` is due, or the database belongs to a newer version.
        OperationalError: the database cannot be reached.
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
    """Make sure at the start of a process that the schema is the one this version works with.

    Args:
        settings: the process's settings.

    Returns:
        False if the database cannot be reached: it may be down for a while, and that is no reason not to start.

    Raises:
        SettingsError: `deskbridge migrate` is due, or the database belongs to a newer version.
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
    """Return the revision of the schema, None if it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
