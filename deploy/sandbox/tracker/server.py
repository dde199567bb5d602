"""The HTTP server: one thread per connection, connections kept alive."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from typing import Any

from deploy.sandbox.tracker import answers, controlplane, delivery
from deploy.sandbox.tracker.sandbox import Sandbox
from deploy.sandbox.tracker.wire import BadRequestError, Channel, rendered


class Server(socketserver.ThreadingTCPServer):
    """Serves one sandbox on one address."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, sandbox: Sandbox, host: str = "127.0.0.1", port: int = 0) -> None:
        """Bind the address; port 0 takes a free one."""
        self.sandbox = sandbox
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__((host, port), Handler)

    @property
    def base_url(self) -> str:
        """The address that clients use."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, and remember it."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        """Stop serving and close every connection, even if a fault holds it."""
        self.shutdown()
        self.sandbox.faults.clear()
        with self._open_lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """Answer requests until the client or a fault ends the connection."""
        channel = Channel(self.connection, self.rfile)  # type: ignore[arg-type]
        sandbox = self.server.sandbox
        with contextlib.suppress(ConnectionError, TimeoutError):
            while channel.keep:
                try:
                    request = channel.read()
                except BadRequestError:
                    channel.send(rendered(answers.page(400, "Bad request"), keep=False))
                    return
                if request is None:
                    return
                if request.path.startswith(controlplane.PREFIX):
                    found = controlplane.answer(sandbox, request, client=str(self.client_address[0]))
                    channel.send(rendered(found, keep=channel.keep))
                else:
                    delivery.respond(sandbox, request, channel)
