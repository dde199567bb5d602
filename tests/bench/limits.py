"""What limits a figure: whose processor time filled the round, or that it was spent waiting."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from sqlalchemy import Engine, text

from tests.bench.costs import children, processor_ms
from tests.bench.servers import Servers
from tests.bench.side import Side

COMMITS = 40
BUSY = 0.85
"""Of all cores, or of one: more is not had while anything else runs."""


class Limits:
    """Watches rounds of one side; afterwards it says what limited them.

    Args:
        servers: what both sides share.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._used: dict[str, float] = {}
        self._lasted = 0.0

    @contextmanager
    def watch(self, side: Side) -> Iterator[None]:
        """Watch a round."""
        began, before = time.monotonic(), self._read(side)
        yield
        self._lasted += (time.monotonic() - began) * 1000
        for who, used in self._read(side).items():
            self._used[who] = self._used.get(who, 0.0) + used - before[who]

    def told(self) -> str:
        """Say what limited the rounds."""
        cores = (os.cpu_count() or 1) * self._lasted
        busy = sum(self._used.values()) / cores
        who, most = max(self._used.items(), key=lambda one: one[1])
        told = f"{who} {most / self._lasted:.2f} cores, all {busy:.0%} of {os.cpu_count()}"
        if busy >= BUSY or most >= BUSY * self._lasted:
            return f"processor: {told}"
        return f"waiting, or processes beside this run ({told})"

    def _read(self, side: Side) -> dict[str, float]:
        return {
            "producer": sum(processor_ms(one.pid) for one in side.producers),
            "workers": sum(processor_ms(one.pid) for one in side.workers),
            "PostgreSQL": sum(map(processor_ms, children(self._servers.postgres.child.pid))),
            "Redis": processor_ms(self._servers.redis.child.pid),
            "tracker": processor_ms(self._servers.stand_in.pid or 0),
            "sender": processor_ms(os.getpid()),
        }


def flush_ms(engine: Engine) -> float:
    """Return how many milliseconds a commit waits for the disk now: how much longer it takes than one that does not.

    Args:
        engine: of PostgreSQL.
    """
    took: dict[str, list[float]] = {"on": [], "off": []}
    with engine.connect() as connection:
        for _ in range(COMMITS):
            for waits, found in took.items():
                began = time.monotonic()
                connection.execute(text(f"SET LOCAL synchronous_commit = {waits}"))
                connection.execute(text("SELECT pg_logical_emit_message(true, 'bench', 'written')"))
                connection.commit()
                found.append((time.monotonic() - began) * 1000)
    return max(0.0, median(took["on"]) - median(took["off"]))
