"""Alembic's entry point: runs within the transaction of `upgrade`, or from Alembic's command line."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import BigInteger
from sqlalchemy.engine import Connection

from producer.admin.records.models import TABLES
from shared.process.settings import load_settings
from shared.store.tables.database import Database
from shared.store.tables.types import Json, UtcDateTime


def render_item(kind: str, item: Any, _context: AutogenContext) -> str | Literal[False]:
    """Render our own column types as the plain ones they stand for: a revision must not change with the code."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, Json):
        return "sa.Text()"
    if kind == "type" and isinstance(item, BigInteger):
        return "KEY"
    return False


def migrate(connection: Connection) -> None:
    """Run the revisions in the connection's transaction (SQLite's schema changes are transactional, too)."""
    context.configure(
        connection=connection,
        target_metadata=TABLES,
        render_item=render_item,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    database = Database(load_settings().database_url.get_secret_value())
    with database.engine.begin() as opened:
        migrate(opened)
    database.close()
