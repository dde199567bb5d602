"""The help desk: several keep-alive connections that post signed requests as fast as they are answered.

It uses one thread and little work per request, since it shares the machine with the measured processes. With threads,
the time that they wait for one another would count as response time.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.embedded.ports import HOST
from tests.bench.errors import BrokenRun
from tests.bench.workload import Delivery

CONNECTIONS = 32
SILENT_S = 30.0
"""Longest wait for a byte of any answer."""

PIECE = 65536
END = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"


@dataclass(frozen=True)
class Posted:
    """The result of posting.

    Attributes:
        events: number of accepted events (202).
        seconds: from the first request to the last answer.
        waited: seconds that each request took, from its first byte to the last byte of its answer.
    """

    events: int
    seconds: float
    waited: list[float]

    @property
    def rate(self) -> float:
        """Events accepted per second."""
        return self.events / self.seconds

    @property
    def p99_ms(self) -> float:
        """Milliseconds within which 99 of 100 requests were answered."""
        return sorted(self.waited)[len(self.waited) * 99 // 100] * 1000


def post(port: int, deliveries: Sequence[Delivery], *, seconds: float = 60) -> Posted:
    """Post deliveries over 32 connections until all are accepted or the time is over.

    Args:
        port: port of the producer.
        deliveries: prepared deliveries, so that signing costs nothing here.
        seconds: time after which no request is started.

    Raises:
        BrokenRun: if an answer was not 202, or did not come.
    """
    signed = [(request(port, "/events", one.headers, one.body), one.events) for one in deliveries]
    return send(port, signed, seconds=seconds)


def send(
    port: int,
    requests: Sequence[tuple[bytes, int]],
    *,
    connections: int = CONNECTIONS,
    status: int = 202,
    seconds: float = 60,
) -> Posted:
    """Send requests until all are answered or the time is over.

    Args:
        port: port of the server.
        requests: requests, each with the number of its events.
        connections: number of connections, each of which carries one request after the other.
        status: status that each answer must have.
        seconds: time after which no request is started.

    Raises:
        BrokenRun: if an answer had another status, or did not come.
    """
    waiting = deque(requests)
    with selectors.DefaultSelector() as selector:
        open_ones = [_Connection(port, selector, status) for _ in range(min(connections, len(waiting)))]
        try:
            return _send(selector, open_ones, waiting, seconds)
        except OSError as error:
            raise BrokenRun(f"not accepted: {type(error).__name__}: {error}") from None
        finally:
            for one in open_ones:
                one.close()


def _send(
    selector: selectors.BaseSelector,
    connections: Sequence[_Connection],
    waiting: deque[tuple[bytes, int]],
    seconds: float,
) -> Posted:
    accepted = 0
    waited: list[float] = []
    started = time.monotonic()
    for connection in connections:
        connection.begin(*waiting.popleft())
    under_way = len(connections)
    while under_way:
        ready = selector.select(SILENT_S)
        if not ready:
            raise BrokenRun(f"not accepted: no answer within {SILENT_S:g} s")
        for key, _ in ready:
            connection = key.data
            if not connection.go_on():
                continue
            now = time.monotonic()
            waited.append(now - connection.began)
            accepted += connection.events
            if waiting and now - started < seconds:
                connection.begin(*waiting.popleft())
            else:
                under_way -= 1
    return Posted(accepted, time.monotonic() - started, waited)


class _Connection:
    """A connection that carries one request after the other.

    Args:
        port: port of the server.
        selector: reports when the connection can continue.
        status: status that each answer must have.

    Attributes:
        began: start of the current request.
        events: number of events in that request.
    """

    def __init__(self, port: int, selector: selectors.BaseSelector, status: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=SILENT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._selector, self._status = selector, status
        self._unsent = memoryview(b"")
        self._answer = b""
        self.began, self.events = 0.0, 0
        selector.register(self._socket, selectors.EVENT_READ, self)

    def begin(self, request: bytes, events: int) -> None:
        """Send a request, or the part of it that the socket accepts at once."""
        self._unsent, self._answer, self.events = memoryview(request), b"", events
        self.began = time.monotonic()
        if not self._send():
            self._selector.modify(self._socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)

    def go_on(self) -> bool:
        """Send the rest, read what has arrived, and return whether the answer is complete.

        Raises:
            BrokenRun: if the answer has another status, or the connection was closed before its end.
        """
        if self._unsent and self._send():
            self._selector.modify(self._socket, selectors.EVENT_READ, self)
        try:
            piece = self._socket.recv(PIECE)
        except BlockingIOError:
            return False
        if not piece:
            raise BrokenRun(f"not accepted: closed after {self._answer[:300]!r}")
        self._answer += piece
        return _is_whole(self._answer, self._status)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self) -> bool:
        """Send; return whether everything is sent."""
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            return False
        return not self._unsent


def _is_whole(answer: bytes, status: int) -> bool:
    """Return whether an answer is complete.

    Raises:
        BrokenRun: if it has another status.
    """
    head = answer.find(END)
    if head < 0:
        return False
    _, found, after = answer[:head].lower().partition(LENGTH)
    if not found:
        raise BrokenRun(f"not accepted: an answer that does not say its length: {answer[:300]!r}")
    content = answer[head + len(END) :]
    length = int(after.partition(b"\r\n")[0])
    if len(content) < length:
        return False
    if answer[9:12] != b"%d" % status or len(content) > length:
        raise BrokenRun(f"not accepted: status {answer[9:12].decode()}: {content[:300]!r}")
    return True


def request(port: int, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return a POST request as bytes.

    Args:
        port: port of the server.
        path: requested path.
        headers: headers besides those of every request.
        body: content of the request.
    """
    told = {
        "Host": f"{HOST}:{port}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(body)),
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
