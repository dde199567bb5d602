"""What a helpdesk says of its own spool beside its events: how many wait behind this request, what it gave up."""

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
    """Keeps what the senders said last of their spools, for the metrics and the doctor."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def note(self, secret: int, header: str | None) -> None:
        """Keep what a request says of its sender's spool; one that says nothing, or nonsense, changes nothing.

        Args:
            secret: by which of the secrets the request was signed, from 0: so several helpdesks are kept apart. The
                header itself is not signed: nothing but what is shown rests on it.
            header: the request's header `HEADER`.
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
        """Return it as plain JSON, with the seconds since."""
        now = time.monotonic()
        with self._lock:
            return [{**said, "seconds": round(now - at, 1)} for at, said in self._last.values()]
