"""The data about a process that its heartbeat contains."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

LONGEST = 255


@cache
def release() -> str:
    """Return the version of deskbridge, cached because the lookup reads the package's whole metadata."""
    return version("deskbridge")


@dataclass(frozen=True, slots=True)
class Process:
    """A process.

    Attributes:
        host: name of its machine.
        pid: its process id on that machine.
        version: its version of deskbridge.
        since: time of its start, `YYYY-MM-DD HH:MM UTC`.
    """

    host: str
    pid: int
    version: str
    since: str

    @classmethod
    def here(cls) -> Process:
        """Return this process, with the current time as its start."""
        return cls(
            socket.gethostname(),
            os.getpid(),
            release(),
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )

    @classmethod
    def read(cls, found: Any) -> Process | None:
        """Return the process from data of `told`, or None if the data is not valid."""
        try:
            one = cls(**found)
        except TypeError:
            return None
        texts = (one.host, one.version, one.since)
        fits = isinstance(one.pid, int) and all(
            isinstance(text, str) and len(text) <= LONGEST for text in texts
        )
        return one if fits else None

    def told(self) -> dict[str, Any]:
        """Return the process as plain JSON data."""
        return asdict(self)
