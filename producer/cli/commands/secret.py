"""Keys, secrets and tokens that an administrator puts into the environment."""

from __future__ import annotations

from producer.cli.output import say
from producer.cli.register import SECRET, command


@command(SECRET, "key", "deskbridge secret key", was="make-key")
def key() -> None:
    """Generate a key for DESKBRIDGE_SECRET_KEYS.

    The key encrypts the Redmine API key in the database. Generate it once and keep it safe. Without it you must enter
    the API key again.
    """
    from cryptography.fernet import Fernet

    say(Fernet.generate_key().decode())


@command(SECRET, "webhook", "deskbridge secret webhook", was="make-secret")
def webhook() -> None:
    """Generate a secret for DESKBRIDGE_WEBHOOK_SECRETS.

    GLPI signs its events with it (Standard Webhooks). The producer refuses events without a valid signature.
    """
    import base64
    import secrets

    say(f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}")


@command(SECRET, "token", "deskbridge secret token", was="make-token")
def token() -> None:
    """Generate a token for DESKBRIDGE_CONSOLE_TOKENS.

    A program that presents the token can use the console's API.
    """
    import secrets

    say(secrets.token_urlsafe(32))
