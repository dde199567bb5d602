"""A client that occupies connections: each sends many requests at once and never reads a response.

`python -m tests.support.siege HOST PORT` does this until it is stopped. It reopens connections that the server closes.
"""

from __future__ import annotations

import argparse
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress

CONNECTIONS = 505
REQUESTS = 900
SMALL_BUFFER = 4096
LOOK_S = 1.0
"""Interval of reconnections: about five hundred connections and half a million requests a second."""
GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL


class Siege:
    """Connections that send requests and never read responses.

    Args:
        host: the server's address.
        port: its port.
        connections: number of connections to hold.
        requests: number of GETs that each of them sends at once.
        path: path of the GETs.
        source: source address; by default the system chooses it.

    Attributes:
        cut: number of connections that the server has ended.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        connections: int = CONNECTIONS,
        requests: int = REQUESTS,
        path: str = "/healthz",
        source: str | None = None,
    ) -> None:
        self.cut = 0
        self._address, self._most = (host, port), connections
        self._source = (source, 0) if source else None
        self._asks = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * requests
        self._held: dict[int, tuple[socket.socket, memoryview]] = {}
        self._poll = select.poll()

    def lay(self, until: Callable[[], bool]) -> None:
        """Hold the connections until `until` returns True, then close them."""
        try:
            while not until():
                self.press()
                time.sleep(LOOK_S)
        finally:
            self.lift()

    def press(self) -> None:
        """Open the missing connections, and send as much on each as it accepts."""
        for number, event in self._poll.poll(0):
            if event & GONE:
                self._drop(number)
                self.cut += 1
        with suppress(OSError):
            while len(self._held) < self._most:
                self._take()
        for number, (held, rest) in list(self._held.items()):
            with suppress(OSError):
                while rest:
                    rest = rest[held.send(rest) :]
            self._held[number] = held, rest

    def lift(self) -> None:
        """Close every connection."""
        for number in list(self._held):
            self._drop(number)

    def _take(self) -> None:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        one.settimeout(1)
        try:
            if self._source:
                one.bind(self._source)
            one.connect(self._address)
        except OSError:
            one.close()
            raise
        one.setblocking(False)
        self._held[one.fileno()] = one, memoryview(self._asks)
        self._poll.register(one, GONE)

    def _drop(self, number: int) -> None:
        self._poll.unregister(number)
        self._held.pop(number)[0].close()


def main() -> None:
    """Keep up the siege until this process is ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.siege", description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--path", default="/healthz")
    parser.add_argument("--source")
    arguments = parser.parse_args()
    siege = Siege(
        arguments.host,
        arguments.port,
        connections=arguments.connections,
        requests=arguments.requests,
        path=arguments.path,
        source=arguments.source,
    )
    siege.lay(lambda: False)


if __name__ == "__main__":
    main()
