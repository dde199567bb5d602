"""The installation's id, which distinguishes its Redis keys and queues from those of other installations."""

from __future__ import annotations

from uuid import uuid4

from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from shared.store.tables.database import IDENTITY, ONLY_READS, Database
from shared.store.tables.journal import InstallationRecord
from shared.store.tables.types import insert_for

THE_ROW = 1
DIGITS = 12


def installation_id(database: Database) -> str:
    """Return the id that the migration stored; if there is none, create one.

    Args:
        database: the installation's database; reading the id does not wait for writers.
    """
    asked = select(InstallationRecord.name)
    with database.engine.connect().execution_options(**{ONLY_READS: True}) as connection:
        if (found := connection.scalar(asked)) is not None:
            return found
    with database.transaction() as session:
        identity = session.connection().info.get(IDENTITY)
        made = {"id": THE_ROW, "name": uuid4().hex[:DIGITS], "database": identity}
        session.execute(insert_for(session)(InstallationRecord).values(made).on_conflict_do_nothing())
        return session.execute(asked).scalar_one()


def note_identity(connection: Connection) -> None:
    """Record which database the installation began in; a recorded identity never changes here."""
    recorded = InstallationRecord.database
    connection.execute(
        update(InstallationRecord).where(recorded.is_(None)).values(database=connection.info.get(IDENTITY))
    )
