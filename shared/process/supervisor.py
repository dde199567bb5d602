"""Reports to systemd, if it started this process, that the process is ready or alive (sd_notify)."""

from __future__ import annotations

import socket
from contextlib import suppress

from shared.process.environment import supervisor_socket

READY, LIVES = "READY=1", "WATCHDOG=1"


def notify(state: str) -> None:
    """Send a state to the supervisor; do nothing if none listens.

    Args:
        state: READY or LIVES.
    """
    address = supervisor_socket()
    if address is None:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(state.encode(), address)
