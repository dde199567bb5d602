"""Heartbeats of the producers, each with the deliveries that it refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from shared.process.itself import Process
from shared.store.tables.journal import ProducerSign
from shared.store.tables.types import clock, moment, put_row

KEPT_S = 7 * 86400.0
MOST_READ = 20


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer, according to its last heartbeat.

    Attributes:
        seconds: age of the heartbeat.
        refused: deliveries refused since its start, in the form in which it wrote them.
        spools: the senders' last reports on their spools, in the form in which it wrote them.
    """

    process: Process
    seconds: float
    refused: list[Any]
    spools: list[Any]

    @property
    def refused_in_a_row(self) -> int:
        """Number of deliveries refused since the last accepted one."""
        told = (one.get("since") for one in self.refused if isinstance(one, dict))
        return sum(one for one in told if isinstance(one, int) and one > 0)


class Producers:
    """Reads and writes the rows within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def mark(
        self,
        name: str,
        process: Process,
        refused: Sequence[dict[str, Any]],
        spools: Sequence[dict[str, Any]] = (),
    ) -> None:
        """Record that a producer is alive now, by the database's clock.

        Args:
            name: the producer's name, which a restart does not change, so that each has one row.
            process: the producer's process.
            refused: deliveries refused since its start.
            spools: its senders' reports on their spools.
        """
        values = {
            "seen_at": clock(),
            "process": process.told(),
            "refused": list(refused),
            "spools": list(spools),
        }
        put_row(self._session, ProducerSign, {"name": name}, values)

    def seen(self) -> list[Producer]:
        """Return the producers with a heartbeat within the last week, newest first, twenty at most."""
        latest = select(ProducerSign, clock()).where(ProducerSign.seen_at > moment(-KEPT_S))
        rows = self._session.execute(latest.order_by(ProducerSign.seen_at.desc()).limit(MOST_READ)).all()
        return [
            Producer(process, max(0.0, (now - row.seen_at).total_seconds()), row.refused, row.spools)
            for row, now in rows
            if (process := Process.read(row.process))
            and isinstance(row.refused, list)
            and isinstance(row.spools, list)
        ]

    def prune(self) -> int:
        """Delete rows of producers without a heartbeat for a week; return their number."""
        old = delete(ProducerSign).where(ProducerSign.seen_at < moment(-KEPT_S))
        return len(self._session.execute(old.returning(ProducerSign.name)).all())
