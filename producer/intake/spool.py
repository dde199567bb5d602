"""The state of a help desk's own spool, reported with its events: how many wait after this one, how many it parked."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from shared.telemetry import metrics

HEADER = "deskbridge-spool"
MOST_TICKETS = 20
SPOOL = re.compile(
    r"waiting=([0-9]{1,9}), ?parked=([0-9]{1,9})"
    rf"(?:, ?parked-tickets=([0-9]{{1,10}}(?: [0-9]{{1,10}}){{0,{MOST_TICKETS - 1}}}))?"
)


class Spools:
    """Keeps the last report of each sender on its spool, for the metrics and the doctor."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def note(self, secret: int, header: str | None) -> None:
        """Store a request's report on its sender's spool; ignore a missing or malformed one.

        Args:
            secret: index of the secret that signed the request, from 0, so that several help desks are kept apart.
                The header itself is not signed: nothing depends on it except what is displayed.
            header: the value of the header `HEADER`.
        """
        found = SPOOL.fullmatch(header) if header else None
        if found is None:
            return
        waiting, parked, tickets = int(found[1]), int(found[2]), (found[3] or "").split()
        for state, count in (("waiting", waiting), ("parked", parked)):
            metrics.SPOOL.labels(secret=str(secret), state=state).set(count)
        metrics.SPOOL_TOLD.labels(secret=str(secret)).set(time.time())
        said = {
            "secret": secret,
            "waiting": waiting,
            "parked": parked,
            "tickets": [int(one) for one in tickets],
        }
        with self._lock:
            self._last[secret] = (time.monotonic(), said)

    def report(self) -> list[dict[str, Any]]:
        """Return the reports as plain JSON, with their age in seconds."""
        now = time.monotonic()
        with self._lock:
            return [{**said, "seconds": round(now - at, 1)} for at, said in self._last.values()]
