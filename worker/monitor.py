"""The monitoring port of a worker or a beat: /livez, /readyz and /metrics."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.telemetry.logs import get_logger

log = get_logger("monitor")
CLIENT_S = 5.0
"""How long a client may take for its request."""

Looks = Mapping[str, Callable[[], bool]]


def monitored(settings: Settings, registry: CollectorRegistry, needed: Looks) -> None:
    """Serve the monitoring port in a thread of its own, if the settings require it.

    Args:
        settings: MONITOR_LISTEN.
        registry: the metrics of this process.
        needed: by name, a check whether a required service answers.

    Raises:
        SettingsError: if the address cannot be bound.
    """
    if not settings.monitor_listen:
        return
    host, _, port = settings.monitor_listen.rpartition(":")
    try:
        server = Monitor((host.strip("[]"), int(port)), registry, needed)
    except OSError as error:
        raise SettingsError(
            SystemRefusal.MONITOR_NOT_BOUND(address=settings.monitor_listen, error=error.strerror)
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True, name="monitor").start()
    log.info("monitored", at=settings.monitor_listen)


class Monitor(ThreadingHTTPServer):
    """The HTTP server of the monitoring port.

    Args:
        address: the host and port to listen on.
        registry: the metrics that /metrics shows.
        needed: the checks of /readyz, by name.
    """

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry, needed: Looks) -> None:
        self.registry, self.needed = registry, needed
        super().__init__(address, _Answer)


class _Answer(BaseHTTPRequestHandler):
    timeout = CLIENT_S
    server: Monitor

    def do_GET(self) -> None:
        """Answer /livez, /readyz and /metrics; a GET changes nothing and needs no cookie."""
        if self.path == "/metrics":
            self._send(200, generate_latest(self.server.registry), CONTENT_TYPE_LATEST)
        elif self.path == "/livez":
            self._send(200, b'{"status": "ok"}')
        elif self.path == "/readyz":
            seen = {name: look() for name, look in self.server.needed.items()}
            states = {name: "ok" if answers else "unreachable" for name, answers in seen.items()}
            self._send(200 if all(seen.values()) else 503, json.dumps(states).encode())
        else:
            self._send(404, b'{"status": "there is /livez, /readyz and /metrics"}')

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Return only the product's name, so that the server header shows no versions."""
        return "deskbridge"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a request every few seconds is not worth a line."""
