"""What a process says of itself in its sign of life."""

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
    """Return which deskbridge this is, looked up once: that reads the whole package's description."""
    return version("deskbridge")


@dataclass(frozen=True, slots=True)
class Process:
    """A process.

    Attributes:
        host: its machine's name.
        pid: its id there.
        version: of deskbridge.
        since: when it was started, `YYYY-MM-DD HH:MM UTC`.
    """

    host: str
    pid: int
    version: str
    since: str

    @classmethod
    def here(cls) -> Process:
        """Return this process, as started now."""
        return cls(
            socket.gethostname(),
            os.getpid(),
            release(),
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )

    @classmethod
    def read(cls, found: Any) -> Process | None:
        """Return a process as `asdict` made it; None if something else wrote it."""
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
        """Return it as plain JSON."""
        return asdict(self)
