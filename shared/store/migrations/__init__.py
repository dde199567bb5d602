"""The database's schema, brought up to date by Alembic: `deskbridge migrate`.

A new revision is made with Alembic's own command line (see `[tool.alembic]` in pyproject.toml), against a
database that is up to date: `alembic revision --autogenerate -m "what changes" --rev-id 0007`; then `HEAD`
here moves with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import inspect, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from shared.codes.refusals import Refusal
from shared.errors import SettingsError
from shared.process.settings import Settings
from shared.store.database import Database, is_held_by_others

HEAD = "0018"
"""The newest revision. Kept here so that a process can look at its start without loading Alembic."""

LOCK = 0x6465736B6272
"""Key of PostgreSQL's advisory lock: one migration at a time."""

LOCK_TIMEOUT_S = 0.5
"""Below PostgreSQL's `deadlock_timeout`, so that in a deadlock it is the migration that gives way, never a worker."""
TRIES = 20
PAUSE_S = 0.5

T = TypeVar("T")


def upgrade(database: Database, *, tries: int = TRIES) -> tuple[str | None, str]:
    """Bring the schema to the newest revision, all or nothing; safe to run again, and by several at once.

    Args:
        database: the database.
        tries: how often, where somebody holds a table.

    Returns:
        The revision before (None: an empty database) and the one now.

    Raises:
        SettingsError: a table was held for too long; nothing was changed.
    """
    from alembic import command
    from alembic.config import Config

    if (file := database.missing_file) is not None:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))

    def run(connection: Connection) -> tuple[str | None, str]:
        before = _revision(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return before, _revision(connection) or ""

    return beside_others(database, run, tries=tries)


def beside_others(database: Database, change: Callable[[Connection], T], *, tries: int = TRIES) -> T:
    """Change the schema in one transaction while everything else goes on.

    A change of a table waits for whoever reads it, and everybody else waits behind the change. So it waits for half
    a second at most, gives way, and tries again.

    Args:
        database: the database.
        change: does it.
        tries: how often.

    Raises:
        SettingsError: a table was held for too long; nothing was changed.
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
    raise SettingsError(Refusal.TABLE_LOCKED())


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
        missing = Refusal.DATABASE_MISSING if loaded else Refusal.ENVIRONMENT_NOT_LOADED
        raise SettingsError(missing(file=file))
    with database.engine.connect() as connection:
        found = _revision(connection)
    if found is None:
        raise SettingsError(Refusal.DATABASE_WITHOUT_TABLES())
    if found > HEAD:
        raise SettingsError(Refusal.DATABASE_TOO_NEW(found=found, newest=HEAD))
    if found != HEAD:
        raise SettingsError(Refusal.DATABASE_TOO_OLD(found=found, newest=HEAD))


def is_current(settings: Settings) -> bool:
    """Make sure at the start of a process that the schema is the one this version works with.

    Args:
        settings: the process's settings.

    Returns:
        False where the database cannot be reached: it may be down for a while, and that is no reason not to start.

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


def _revision(connection: Connection) -> str | None:
    """Return the revision of the schema, None where it has none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
