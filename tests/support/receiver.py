"""A service that receives notifications over HTTP on loopback, as a webhook does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest


class Receiver:
    """Receives messages by POST.

    Attributes:
        taken: received messages, as Apprise's `json://` sends them.
        status: status of its responses.
        megabytes: the size of its responses.
        url: its address in Apprise's notation; it contains a secret.
    """

    SECRET = "hook-5ecret"

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.status = 200
        self.megabytes = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Store the message."""
                receiver.taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(receiver.status)
                self.end_headers()
                with suppress(OSError):
                    for _ in range(receiver.megabytes):
                        self.wfile.write(bytes(1024 * 1024))

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"json://127.0.0.1:{self._server.server_port}/{self.SECRET}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A service that receives notifications."""
    made = Receiver()
    yield made
    made.close()
