"""A web server on 127.0.0.1 in front of the tracker, like a proxy: it forwards, redirects or answers calls."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOST = "127.0.0.1"
PAGE = b"<html><title>Sign in</title><form>Your name</form></html>"
NOT_PASSED_ON = ("connection", "transfer-encoding", "content-length", "keep-alive")

Given = tuple[int, dict[str, str], bytes]
"""Status, headers and body of an answer."""

Rule = Callable[[str, str], Given | None]
"""Returns the server's own answer to a call by method and path, or None to forward the call."""


def passes(_method: str, _path: str) -> Given | None:
    """Forward every call."""
    return None


def redirects_to(address: str) -> Rule:
    """Redirect every call to the same path at another address."""
    return lambda _method, path: (301, {"Location": address + path, "Content-Type": "text/html"}, b"")


def page(status: int = 200, *, method: str = "", path: str = "") -> Rule:
    """Answer calls with an HTML page; if a method or path is given, only matching ones."""

    def answer(called: str, at: str) -> Given | None:
        is_meant = method in ("", called) and urlsplit(at).path.startswith(path)
        return (status, {"Content-Type": "text/html"}, PAGE) if is_meant else None

    return answer


class Front(ThreadingHTTPServer):
    """The server, on a free port.

    Args:
        tracker: the address to which calls are forwarded.

    Attributes:
        rule: decides which calls it answers itself.
    """

    daemon_threads = True

    def __init__(self, tracker: str) -> None:
        super().__init__((HOST, 0), _Handler)
        self.tracker = urlsplit(tracker)
        self.rule: Rule = passes

    @property
    def address(self) -> str:
        """The server's own address."""
        return f"http://{HOST}:{self.server_port}"

    @contextmanager
    def running(self) -> Iterator[Front]:
        """Serve during the block."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # send each answer in one piece: two pieces take 40 ms longer

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, content = self.server.rule(self.command, self.path) or self._passed_on(body)
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _passed_on(self, body: bytes) -> Given:
        there = http.client.HTTPConnection(
            self.server.tracker.hostname or "", self.server.tracker.port, timeout=30
        )
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        try:
            there.request(self.command, self.path, body or None, headers)
            answer = there.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            there.close()

    def log_message(self, format: str, *args: Any) -> None:
        pass
