"""A proxy that loses a tracker's answers, although the tracker has carried out the requests."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.support.wire import WireServer, reset

CONNECTION = re.compile(rb"\r\nConnection:[^\r]*", re.IGNORECASE)


class LossyProxy(WireServer):
    """A proxy that forwards everything except the answers that it should lose; a context manager.

    Args:
        base_url: address of the tracker.
        headers: additional header lines for every request, such as `Accept-Language: de`.

    Attributes:
        loses: decides whether the answer to a request such as `DELETE /issues/6.json` is lost.
        lost: requests whose answers were lost.
    """

    def __init__(self, base_url: str, *headers: str) -> None:
        super().__init__(self._pass_on)
        address = urlsplit(base_url)
        self._target = (address.hostname or "", address.port or 80)
        self._headers = "".join(f"\r\n{one}" for one in ("Connection: close", *headers)).encode()
        self.loses: Callable[[str], bool] = lambda _request: False
        self.lost: list[str] = []

    def _pass_on(self, _server: WireServer, connection: socket.socket, _number: int) -> None:
        request = self.read_request(connection)
        if not request:
            return
        answer = self._ask(request)
        line = " ".join(request.split(b"\r\n")[0].decode().split()[:2])
        if self.loses(line):
            self.lost.append(line)
            reset(connection)
        else:
            connection.sendall(answer)

    def _ask(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        with socket.create_connection(self._target, timeout=30) as upstream:
            upstream.sendall(CONNECTION.sub(b"", head) + self._headers + b"\r\n\r\n" + body)
            answer = b""
            while piece := upstream.recv(65536):
                answer += piece
        return answer
