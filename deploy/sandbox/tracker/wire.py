"""HTTP/1.1 on a socket: reading requests and writing responses, only what the stand-in needs."""

from __future__ import annotations

import os
import socket
import struct
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import BinaryIO

from deploy.sandbox.tracker.access import Request
from deploy.sandbox.tracker.answers import Answer

LONGEST_LINE = 16 * 1024
LARGEST_BODY = 64 * 1024 * 1024
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_dates: dict[int, str] = {}


class BadRequestError(Exception):
    """The input is not HTTP that the stand-in can read."""


class Channel:
    """One client's connection."""

    def __init__(self, connection: socket.socket, stream: BinaryIO) -> None:
        """Wrap an accepted connection and its buffered reader."""
        self._socket = connection
        self._stream = stream
        self.keep = True

    def read(self) -> Request | None:
        """Return the next request, or None if the client has closed the connection.

        Raises:
            BadRequestError: If the input cannot be read; the connection is then unusable.
        """
        line = self._stream.readline(LONGEST_LINE)
        if not line:
            return None
        arrived = time.monotonic()
        parts = line.split()
        if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
            raise BadRequestError("request line")
        headers = self._headers()
        self.keep = parts[2] == b"HTTP/1.1" and headers.get("connection", "").lower() != "close"
        if headers.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        path, _, query = parts[1].decode("latin-1").partition("?")
        return Request(
            parts[0].decode("latin-1"),
            path,
            query,
            headers,
            self._body(headers),
            arrived,
        )

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        while True:
            line = self._stream.readline(LONGEST_LINE)
            if line in (b"\r\n", b"\n"):
                return headers
            name, colon, value = line.partition(b":")
            if not colon or len(headers) > 200:
                raise BadRequestError("header")
            headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        try:
            length = int(headers.get("content-length", 0))
        except ValueError:
            raise BadRequestError("content-length") from None
        if not 0 <= length <= LARGEST_BODY:
            raise BadRequestError("content-length")
        body = self._stream.read(length) if length else b""
        if len(body) < length:
            raise BadRequestError("body breaks off")
        return body

    def _chunks(self) -> bytes:
        body = b""
        while True:
            try:
                length = int(self._stream.readline(LONGEST_LINE).split(b";")[0], 16)
            except ValueError:
                raise BadRequestError("chunk") from None
            if length < 0 or len(body) + length > LARGEST_BODY:
                raise BadRequestError("chunk")
            body += self._stream.read(length)
            self._stream.readline(LONGEST_LINE)
            if length == 0:
                return body

    def send(self, data: bytes) -> None:
        """Write bytes to the client."""
        self._socket.sendall(data)

    def reset(self) -> None:
        """End the connection with a TCP RST: the client gets "connection reset"."""
        self.keep = False
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self._socket.detach())


def rendered(answer: Answer, *, keep: bool, now: float | None = None) -> bytes:
    """Return a response as bytes.

    Args:
        answer: The response.
        keep: Whether the connection stays open.
        now: Seconds since 1970 for the Date header; None leaves it out.
    """
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}"]
    if now is not None:
        lines.append(f"Date: {_http_date(int(now))}")
    if answer.content_type is not None:
        lines.append(f"Content-Type: {answer.content_type}")
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if answer.status != 204:
        lines.append(f"Content-Length: {len(answer.body)}")
    if not keep:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + answer.body


def _http_date(second: int) -> str:
    text = _dates.get(second)
    if text is None:
        _dates.clear()
        text = _dates[second] = formatdate(second, usegmt=True)
    return text
