"""The database: its tables, and the rights of the producer's role."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.output import say
from producer.cli.register import Panel, command
from producer.cli.services import settings


@command(Panel.SET_UP, "migrate", "deskbridge migrate")
def migrate() -> None:
    """Create the database tables, or upgrade them.

    Safe to run at any time. Each run is a single transaction and does nothing if the tables are current.
    """
    from producer.admin.migrations.upgrading import check_tables, upgrade
    from shared.store.tables.database import Database

    database = Database(settings().database_url.get_secret_value())
    try:
        before, now = upgrade(database)
        check_tables(database)
    finally:
        database.close()
    if before == now:
        say(f"The database is up to date (revision {now}).")
    elif before is None:
        say(f"The tables were created (revision {now}).")
    else:
        say(f"The database was upgraded from revision {before} to {now}.")


@command(
    Panel.SET_UP,
    "grants",
    "deskbridge grants --producer-role deskbridge_producer",
    "deskbridge grants --producer-role deskbridge_producer | psql deskbridge",
)
def grants(
    producer_role: Annotated[str, typer.Option(metavar="ROLE", help="Database role of the producer.")],
) -> None:
    """Print the SQL for a role that can only append events.

    Create the role first. Run the SQL as the owner of the tables, after each `deskbridge migrate`. A producer with this
    role can neither read events nor change anything else.
    """
    from producer.admin.records.grants import producer_grants

    if not producer_role.strip() or "\x00" in producer_role:
        raise typer.BadParameter("enter the name of a database role")
    say("BEGIN;", *(f"{statement};" for statement in producer_grants(producer_role)), "COMMIT;")
