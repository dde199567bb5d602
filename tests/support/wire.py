"""A server that sends exactly the bytes that a test wants, and records the requests that it received."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Script = Callable[["WireServer", socket.socket, int], None]


def answer(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """Return an HTTP answer with its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class WireServer:
    """Serves each connection with a script on a free port on 127.0.0.1; used as a context manager.

    Args:
        script: called with the server, the connection and its number, from 0, in a separate thread.
        tls: wraps each connection.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script, self._tls = script, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()  # held until a started thread is in the list
        self.requests: list[bytes] = []
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.ended = threading.Event()

    @property
    def connections(self) -> int:
        """The number of accepted connections."""
        with self._lock:
            return len(self._threads)

    def wait_for_the_end_of_the_newest(self) -> None:
        """Wait until the newest connection has been served and closed."""
        with self._lock:
            newest = self._threads[-1]
        newest.join(timeout=30)

    def read_request(self, connection: socket.socket) -> bytes:
        """Read one whole request; return empty bytes if the other side has closed."""
        received = b""
        while b"\r\n\r\n" not in received:
            if not (piece := connection.recv(65536)):
                return b""
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while lengths and len(body) < int(lengths[0].split(b":")[1]):
            body += connection.recv(65536)
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    def __enter__(self) -> Self:
        """Start to accept connections."""
        self._accepting.start()
        return self

    def __exit__(
        self, _kind: type | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End every connection and thread."""
        self.ended.set()
        for one in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in [self._accepting, *self._threads]:
            thread.join(timeout=5)

    def _accept(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            number = len(self._open) - 1
            thread = threading.Thread(target=self._serve, args=(connection, number), daemon=True)
            with self._lock:
                thread.start()
                self._threads.append(thread)

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            with connection:
                self._script(self, connection, number)


def saying(*answers: bytes) -> Script:
    """Return a script that sends these responses on each connection, one per request, and keeps it open."""

    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        for one in answers:
            if not server.read_request(connection):
                return
            connection.sendall(one)
        server.ended.wait(60)

    return script


def trickle(
    connection: socket.socket, start: bytes, piece: bytes, every: float, ended: threading.Event
) -> None:
    """Send the start at once, and then a piece at a time until the server ends or the other side closes."""
    connection.sendall(start)
    while not ended.wait(every):
        connection.sendall(piece)


def reset(connection: socket.socket) -> None:
    """Close the connection with a reset instead of a proper end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    connection.close()
