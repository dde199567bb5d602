"""Access to the environment before the settings are loaded; the producer needs it first, without heavy imports."""

from __future__ import annotations

import os
from collections.abc import Mapping

PREFIX = "DESKBRIDGE_"
PRODUCER_PORT = 8080
"""The producer's port if no other one is given."""
NOT_THE_PRODUCERS = (
    "SECRET_KEYS",
    "GLPI_API_URL",
    "GLPI_API_CLIENT_ID",
    "GLPI_API_CLIENT_SECRET",
    "GLPI_API_USER",
    "GLPI_API_PASSWORD",
    "PROXY_URL",
    "CA_FILE",
    "CONSOLE_TOKENS",
    "OIDC_CLIENT_SECRET",
)
"""Secrets that would let an attacker in the producer reach the tracker or the help desk, and settings that are only
complete with such a secret."""


def without_others_secrets(environ: Mapping[str, str] | None = None) -> tuple[list[str], dict[str, str]]:
    """Remove the variables that the producer must not have.

    Args:
        environ: the environment, the process's own by default.

    Returns:
        The names of the removed variables, and the environment without them.
    """
    given = dict(environ if environ is not None else os.environ)
    others = {f"{PREFIX}{name}{end}" for name in NOT_THE_PRODUCERS for end in ("", "_FILE")}
    dropped = sorted(name for name in given if name.upper() in others)
    return dropped, {name: value for name, value in given.items() if name not in dropped}


def supervisor_socket() -> str | None:
    """Return the address of systemd's notification socket, or None without systemd."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    # the name of an abstract socket begins with a zero byte, which no environment variable can contain
    return f"\0{address[1:]}" if address.startswith("@") else address or None
