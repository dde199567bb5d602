"""The log of requests, for tests that check what was sent. It never shows a key."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Any

from deploy.sandbox.tracker.access import Request

LONGEST_LOG = 100_000
LARGEST_BODY = 32 * 1024
_KEY_IN_QUERY = re.compile(r"(?i)(^|&)(key)=[^&]*")


@dataclass(slots=True)
class Entry:
    """One request, with the status of its response (None if none was sent).

    Attributes:
        at: time of its arrival, in seconds of this machine's monotonic clock.
    """

    n: int
    at: float
    method: str
    path: str
    query: str
    switch_user: str
    key_ok: bool
    body: bytes
    status: int | None = None
    fault: str | None = None

    def shown(self) -> dict[str, Any]:
        """Return the entry as JSON; its body as a document if it is JSON, else as text."""
        body: Any = self.body.decode("utf-8", "replace")
        with contextlib.suppress(ValueError):
            body = json.loads(body) if body else None
        return {
            "n": self.n,
            "at": self.at,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "as": self.switch_user or None,
            "key_ok": self.key_ok,
            "body": body,
            "status": self.status,
            "fault": self.fault,
        }


class RequestLog:
    """The latest requests in the order of their arrival."""

    def __init__(self) -> None:
        """Make an empty log."""
        self._lock = threading.Lock()
        self._entries: deque[Entry] = deque(maxlen=LONGEST_LOG)
        self._last = 0

    def add(self, request: Request, *, key_ok: bool) -> Entry:
        """Note a request that arrived; its status is filled in later."""
        query = request.query_text
        if "key=" in query.lower():
            query = _KEY_IN_QUERY.sub(r"\1\2=***", query)
        with self._lock:
            self._last += 1
            entry = Entry(
                n=self._last,
                at=time.monotonic(),
                method=request.method,
                path=request.path,
                query=query,
                switch_user=request.switch_user,
                key_ok=key_ok,
                body=request.body[:LARGEST_BODY],
            )
            self._entries.append(entry)
        return entry

    def since(self, number: int) -> list[dict[str, Any]]:
        """Return the entries after a number, oldest first."""
        with self._lock:
            entries = list(self._entries)
        skipped = max(0, number - entries[0].n + 1) if entries else 0
        return [entry.shown() for entry in islice(entries, skipped, None)]

    def clear(self) -> None:
        """Forget every request; numbers start again."""
        with self._lock:
            self._entries.clear()
            self._last = 0
