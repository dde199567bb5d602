"""How connections are served: uvicorn, with a limit on how long a request may take to arrive.

uvicorn itself waits for ever: for a connection's first byte, for the end of a request's headers, and for the rest of
a body that nobody reads because the request was answered early. None of that ever reaches the application.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

ARRIVAL_S = 20.0
"""Longer than the time for a body, so that a slow body is answered before its connection is cut."""

MOST_CONNECTIONS = 500
"""Well below the 1024 open files that a process usually may have: the database needs some, too."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which cuts a connection whose request has not arrived in time.

    Where there are too many connections, one that waits makes room for the new one.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take what came; what is still missing must come in time."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def cut(self) -> None:
        """End the connection at once."""
        self._stop_waiting()
        self.transport.abort()

    def _make_room(self) -> None:
        """Cut the connection whose wait would end next: one that is slow to arrive, or idle between two requests."""
        waits = [
            (timer.when(), one)
            for one in self.connections
            if isinstance(one, PatientProtocol) and one is not self
            if (timer := one._deadline or one.timeout_keep_alive_task)
        ]
        slowest = min(waits, key=lambda wait: wait[0])[1] if waits else self
        slowest.cut()

    def _look(self) -> None:
        """Wait for the rest of a request that is arriving; between two requests uvicorn's own limit holds."""
        state = str(self.conn.their_state)
        if state == "SEND_BODY" or (state == "IDLE" and self.timeout_keep_alive_task is None):
            self._wait()
        else:
            self._stop_waiting()

    def _wait(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(ARRIVAL_S, self.cut)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server_options() -> dict[str, Any]:
    """Return uvicorn's options that producer and console have in common."""
    return {
        "http": PatientProtocol,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
    }
