"""The installation's id, by which its keys in Redis and its queue are told from another installation's."""

from __future__ import annotations

from uuid import uuid4

from sqlalchemy import select

from shared.store.tables.database import ONLY_READS, Database
from shared.store.tables.journal import InstallationRecord
from shared.store.tables.types import insert_for

THE_ROW = 1
DIGITS = 12


def installation_id(database: Database) -> str:
    """Return the id that the migration has given; a database that has none is given one.

    Args:
        database: the installation's; to read the id waits for no one who writes.
    """
    asked = select(InstallationRecord.name)
    with database.engine.connect().execution_options(**{ONLY_READS: True}) as connection:
        if (found := connection.scalar(asked)) is not None:
            return found
    made = {"id": THE_ROW, "name": uuid4().hex[:DIGITS]}
    with database.transaction() as session:
        session.execute(insert_for(session)(InstallationRecord).values(made).on_conflict_do_nothing())
        return session.execute(asked).scalar_one()
