"""The environment before it is read as settings: the producer looks at it first, and loads nothing for it."""

from __future__ import annotations

import os
from collections.abc import Mapping

PREFIX = "DESKBRIDGE_"
PRODUCER_PORT = 8080
"""Where the producer listens if no other port is given."""
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
"""Secrets with which anyone who takes over the producer could get at the tracker or the helpdesk, and what is only
complete with them."""


def without_others_secrets(environ: Mapping[str, str] | None = None) -> tuple[list[str], dict[str, str]]:
    """Take out what the producer must not hold.

    Args:
        environ: the environment, the process's own by default.

    Returns:
        The variables that were taken out, and the environment without them.
    """
    given = dict(environ if environ is not None else os.environ)
    others = {f"{PREFIX}{name}{end}" for name in NOT_THE_PRODUCERS for end in ("", "_FILE")}
    dropped = sorted(name for name in given if name.upper() in others)
    return dropped, {name: value for name, value in given.items() if name not in dropped}


def supervisor_socket() -> str | None:
    """Return the address to which systemd wants to be told how this process is; None without systemd."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    # an abstract one begins with a zero byte, which no environment can hold
    return f"\0{address[1:]}" if address.startswith("@") else address or None
