"""What is done once: the database's tables, keys and secrets."""

from __future__ import annotations

import typer

from producer.commands.desk import settings
from producer.commands.output import examples, say


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel=panel,
        epilog=examples("deskbridge migrate"),
    )(migrate)
    app.command(
        "make-key",
        rich_help_panel=panel,
        epilog=examples("export DESKBRIDGE_SECRET_KEYS=$(deskbridge make-key)"),
    )(make_key)
    app.command(
        "make-secret",
        rich_help_panel=panel,
        epilog=examples("export DESKBRIDGE_WEBHOOK_SECRETS=$(deskbridge make-secret)"),
    )(make_secret)


def migrate() -> None:
    """Create the database's tables, or bring them up to date; safe to run at any time."""
    from shared.store.database import Database
    from shared.store.migrations import upgrade

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


def make_key() -> None:
    """Print a new key for DESKBRIDGE_SECRET_KEYS, which encrypts the tracker's API key."""
    from cryptography.fernet import Fernet

    say(Fernet.generate_key().decode())


def make_secret() -> None:
    """Print a new secret for DESKBRIDGE_WEBHOOK_SECRETS, with which the helpdesk signs its events."""
    import base64
    import secrets

    say(f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}")
