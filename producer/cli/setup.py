"""What is done once: the database's tables, keys and secrets."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.output import say
from producer.cli.register import add
from producer.cli.services import settings


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, migrate, panel, "deskbridge migrate")
    add(
        app,
        grants,
        panel,
        "deskbridge grants --producer-role deskbridge_producer",
        "deskbridge grants --producer-role deskbridge_producer | psql DATABASE",
    )
    add(app, make_key, panel, "deskbridge make-key > secrets/keys")
    add(app, make_secret, panel, "deskbridge make-secret > secrets/webhook")
    add(app, make_token, panel, "deskbridge make-token > secrets/console-token")


def migrate() -> None:
    """Create the database's tables, or bring them up to date.

    Safe to run at any time: all or nothing, and nothing where they are up to date.
    """
    from producer.admin.migrations.upgrading import upgrade
    from shared.store.tables.database import Database

    database = Database(settings().database_url.get_secret_value())
    try:
        before, now = upgrade(database)
    finally:
        database.close()
    if before == now:
        say(f"The database is up to date (revision {now}).")
    elif before is None:
        say(f"The tables were created (revision {now}).")
    else:
        say(f"The database was brought from revision {before} to {now}.")


def grants(
    producer_role: Annotated[str, typer.Option(metavar="ROLE", help="Role that the producer signs in with.")],
) -> None:
    """Print the SQL for a role that can only append events.

    For the owner of the tables to run, after each `deskbridge migrate`; the role must exist. A producer that signs in
    with it can neither read events nor change anything, whoever takes it over.
    """
    from producer.admin.records.grants import producer_grants

    if not producer_role.strip() or "\x00" in producer_role:
        raise typer.BadParameter("name a role")
    say("BEGIN;", *(f"{statement};" for statement in producer_grants(producer_role)), "COMMIT;")


def make_key() -> None:
    """Print a new key for DESKBRIDGE_SECRET_KEYS.

    Make it once and keep it in a file. deskbridge encrypts the API key with it, and cannot open the API key without it.
    """
    from cryptography.fernet import Fernet

    say(Fernet.generate_key().decode())


def make_secret() -> None:
    """Print a new secret for DESKBRIDGE_WEBHOOK_SECRETS.

    With it the helpdesk signs its events, so that nobody else can send any (Standard Webhooks).
    """
    import base64
    import secrets

    say(f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}")


def make_token() -> None:
    """Print a new token for DESKBRIDGE_CONSOLE_TOKENS.

    Whoever has it may use the console's API.
    """
    import secrets

    say(secrets.token_urlsafe(32))
