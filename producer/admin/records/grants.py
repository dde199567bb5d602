"""The privileges of the producer's role on PostgreSQL.

It may append to the journal, write its heartbeat, and read the data of its metrics and the setting for private texts.
"""

from __future__ import annotations

from shared.store.tables.configuration import PluginConfigRecord
from shared.store.tables.journal import (
    InstallationRecord,
    JournalEvent,
    ProducerSign,
    ReconciliationMark,
)

REVISION_TABLE = "alembic_version"
COUNTS = ReconciliationMark.__tablename__
"""The table with the number of missed events and the time of that comparison."""
NOT_WRITTEN = ("completion",)
"""Columns of the journal that only the worker writes."""
READ = ("id", "delivery_id", "digest")
"""Columns by which the journal recognises a redelivery; none of them contains data of an event."""


def producer_grants(role: str) -> list[str]:
    """Return the statements that restrict a role to what the producer needs; they can be repeated at any time.

    Args:
        role: name of an existing role.
    """
    name = '"' + role.replace('"', '""') + '"'
    journal, signs = JournalEvent.__tablename__, ProducerSign.__tablename__
    config = PluginConfigRecord.__tablename__
    installation = InstallationRecord.__tablename__
    written = [one.name for one in JournalEvent.__table__.columns if one.name not in NOT_WRITTEN]
    return [
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {name}",
        f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, {name}",
        f"GRANT USAGE ON SCHEMA public TO {name}",
        f"GRANT INSERT ({', '.join(written)}), SELECT ({', '.join(READ)}) ON {journal} TO {name}",
        f"GRANT USAGE ON SEQUENCE {journal}_id_seq TO {name}",
        f"GRANT INSERT, UPDATE, SELECT (name) ON {signs} TO {name}",
        f'GRANT SELECT ("values") ON {config} TO {name}',  # private_tasks is one of them, the API key is not
        f"GRANT SELECT ON {installation} TO {name}",
        f"GRANT SELECT ON {REVISION_TABLE}, {COUNTS} TO {name}",
    ]
