"""A tracker with mutated answers: ticket sync, synchronisation and doctor still end without an unexpected error."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from deploy.embedded.ports import HOST
from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.examination import examine
from producer.admin.doctor.installation import Installation
from producer.admin.services import Services
from shared.metadata.synchronisation import synchronise
from tests.fuzz.chance import Chance
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event

STATUSES = (200, 201, 204, 206, 301, 400, 401, 403, 404, 409, 412, 422, 429, 500, 502, 503, 299, 600, 999)
HEADERS = {
    "Retry-After": ("0", "-1", "1e9", "nan", "Fri, 31 Dec 9999 23:59:59 GMT", "x" * 5000),
    "Date": ("", "yesterday", "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"),
    "Content-Type": (
        "",
        "text/html",
        "application/json; charset=utf-16",
        "application/json; charset=nothing",
    ),
    "Content-Encoding": ("gzip", "deflate", "br", "x"),
    "Location": ("/", "http://169.254.169.254/", "x" * 3000),
    "Set-Cookie": ("a=b; Domain=.", "\x7f"),
}
SHARE = 0.25


class Bending(BaseHTTPRequestHandler):
    """Forwards a request, and mutates the answer on its way back."""

    server: BendingServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _hand_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        behind = http.client.HTTPConnection(self.server.behind, timeout=10)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        behind.request(self.command, self.path, body, headers)
        answer = behind.getresponse()
        said = answer.read()
        behind.close()
        with self.server.lock:
            wire = self._bent(answer.status, said)
        self.wfile.write(wire)
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = _hand_on  # noqa: N815 (the library's names)

    def _bent(self, status: int, said: bytes) -> bytes:
        chance = self.server.chance
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if chance.often(SHARE):
            kind = chance.randrange(4)
            if kind == 0:
                status = chance.choice(STATUSES)
            elif kind == 1:
                name = chance.choice(list(HEADERS))
                headers[name] = chance.choice(HEADERS[name])
            elif kind == 2 and said:
                try:
                    said = chance.text(chance.bend(json.loads(said)))
                except ValueError:
                    said = chance.torn(said)
            else:
                said = chance.torn(said)
        headers["Content-Length"] = str(len(said))
        head = f"HTTP/1.1 {status} x\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        wire = head.encode("latin-1") + b"\r\n" + said
        return chance.torn(wire, 2) if chance.often(SHARE / 5) else wire


class BendingServer(ThreadingHTTPServer):
    """A proxy between deskbridge and a tracker.

    Args:
        behind: host and port of the tracker.
    """

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__((HOST, 0), Bending)
        self.behind, self.chance, self.lock = behind, Chance(0), threading.Lock()

    def handle_error(self, *_: object) -> None:
        """Ignore a client that disconnects."""


class OfTheTracker:
    """One installation with a tracker that gives mutated answers.

    Args:
        bridge: the installation.
        directory: not used.
    """

    def __init__(self, bridge: Bridge, directory: Path) -> None:
        del directory
        self._bridge = bridge
        self._tracker = StandIn(arguments=["--max-hours-per-day", "0"])
        self._tracker.start()
        self._server = BendingServer(self._tracker.base_url.removeprefix("http://"))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        bridge.configure(base_url=f"http://{HOST}:{self._server.server_port}")
        self._ticket = 0

    def close(self) -> None:
        """Stop the proxy and the tracker."""
        self._server.shutdown()
        self._server.server_close()
        self._tracker.stop()

    def attempt(self, chance: Chance) -> None:
        """Run one piece of work against mutated answers; whatever its result, it must not raise."""
        with self._server.lock:
            self._server.chance = chance
        self._bridge.redis.flushdb()
        self._work(chance)()

    def _work(self, chance: Chance) -> Callable[[], object]:
        kind = chance.random()
        if kind < 0.15:
            return self._synchronise
        return self._examine if kind < 0.2 else self._forward

    def _forward(self) -> None:
        self._ticket += 1
        number = 1 + self._ticket % 500
        one = ticket(number, status=(1, 2, 5, 6)[self._ticket % 4])
        events = [task_event(of_ticket=one, of_task=task(self._ticket)), ticket_event(of_ticket=one)]
        self._bridge.receive(*events)
        self._bridge.sync(number)
        self._bridge.redis.flushdb()
        self._bridge.hurry()
        self._bridge.sync(number)

    def _synchronise(self) -> None:
        services = Services(self._bridge.settings, self._bridge.store)
        synchronise(services.store, services.locks, services.connector.connect)
        services.redis.close()

    def _examine(self) -> None:
        services = Services(self._bridge.settings, self._bridge.store)
        installation = Installation(
            services.settings,
            services.store,
            services.redis,
            services.vault,
            services.connector.connect,
            lambda: True,
        )
        for finding in examine(installation):
            str(finding)
        services.redis.close()
