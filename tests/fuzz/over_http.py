"""Raw requests and events to producer and console never cause a server error, and both still answer afterwards."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import requests
from pydantic import SecretStr

from deploy.embedded.ports import HOST
from producer.console.app import create_console
from producer.intake.app import create_app
from tests.fuzz.chance import Chance
from tests.support.bridge import Bridge
from tests.support.events import task_event, ticket_event
from tests.support.serving import Served

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
GLPI_SECRET = "a secret of the helpdesk's"
TOKEN = "the-token-of-the-fuzz-run"
OURS = (b" 500 ", b" 501 ", b" 502 ", b" 504 ")
PATHS = (
    *(
        "/api/config",
        "/api/links",
        "/api/links/projects/1",
        "/api/links/entities/3",
        "/api/events",
        "/api/held",
    ),
    *(
        "/api/trace/1",
        "/api/metadata",
        "/api/metadata/users",
        "/api/templates",
        "/api/templates/1",
        "/api/user-map",
    ),
    *("/api/user-map/7", "/ajax/template_test.php?action=preview", "/api/openapi.json", "/healthz", "/"),
)
BODIES = (
    {"done_state": 2, "status_map": {"1": 1}},
    {"tracker_project_id": 1, "default_category_id": None},
    {"tracker_user_id": 5},
    {"operation": "issue.create", "body": '{"issue": {"subject": "{{ticket.title}}", "project_id": 1}}'},
    {"operation": "issue.create", "body": '{"issue": {}}', "context": {"ticket": {"id": 1}}},
)
GLPI = {"event": "new", "item": {"id": 1, "name": "t", "content": "c", "status": 1, "entity": {"id": 3}}}


class OverHttp:
    """Producer and console, served as in production.

    Args:
        bridge: bridge whose settings and store they use.
        directory: not used.
    """

    def __init__(self, bridge: Bridge, directory: Path) -> None:
        del directory
        settings = bridge.settings.model_copy(
            update={
                "webhook_secrets": (SecretStr(SECRET),),
                "glpi_webhook_secrets": (SecretStr(GLPI_SECRET),),
                "console_tokens": (SecretStr(TOKEN),),
            }
        )
        self._stack = ExitStack()
        self._servers = [Served(create_app(settings)), Served(create_console(settings))]
        for server in self._servers:
            server.start()
            self._stack.callback(server.stop)

    def close(self) -> None:
        """Stop both servers."""
        self._stack.close()

    def attempt(self, chance: Chance) -> None:
        """Send one request, which must not cause a server error."""
        number = chance.randrange(2)
        request = chance.choice((self._events, self._glpi))(chance) if number == 0 else self._api(chance)
        if chance.often(0.3):
            request = chance.torn(request)
        if chance.often(0.05):
            request *= 3
        server = self._servers[number]
        said = _say(server, request)
        assert not any(fault in said[:14] for fault in OURS), f"{said[:300]!r} to {request[:2000]!r}"
        if chance.often(0.1):
            answer = requests.get(f"{server.base_url}/healthz", timeout=10)
            assert answer.status_code == 200

    def _events(self, chance: Chance) -> bytes:
        body = chance.text(chance.bend(chance.choice((task_event(), ticket_event(), [task_event()] * 3))))
        stamp = str(int(time.time()))
        digest = hmac.new(
            base64.b64decode(SECRET[6:]), f"fuzz.{stamp}.".encode() + body, hashlib.sha256
        ).digest()
        headers = {
            "webhook-id": "fuzz",
            "webhook-timestamp": stamp,
            "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
        }
        return _request("POST", "/events", headers, body)

    def _glpi(self, chance: Chance) -> bytes:
        body, stamp = chance.text(chance.bend(GLPI)), str(int(time.time()))
        digest = hmac.new(GLPI_SECRET.encode(), body + stamp.encode(), hashlib.sha256).hexdigest()
        headers = {"X-GLPI-signature": digest, "X-GLPI-timestamp": stamp}
        return _request(
            "POST", f"/webhooks/glpi/{chance.choice(('ticket', 'ticket-task', 'x'))}", headers, body
        )

    def _api(self, chance: Chance) -> bytes:
        method = chance.choice(("GET", "PUT", "POST", "PATCH", "DELETE"))
        path = chance.choice(PATHS)
        if chance.often(0.3):
            path += chance.choice(("?limit=", "/", "?state=", "&project=", "?moved=")) + chance.choice(
                ("0", "-1", "9" * 30, "%00", "%ff", "a" * 300, "..%2f", "1e9")
            )
        bent = chance.bend(chance.choice(BODIES))
        if isinstance(bent, dict):
            bent.pop("base_url", None)  # no foreign host must be called
        return _request(method, path, {"Authorization": f"Bearer {TOKEN}"}, chance.text(bent))


def _request(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = {"Host": "x", "Connection": "close", "Content-Type": "application/json", **headers}
    lines["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _say(server: Served, request: bytes) -> bytes:
    port = int(server.base_url.rpartition(":")[2])
    said = b""
    with suppress(OSError), socket.create_connection((HOST, port), timeout=2) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65536):
            said += piece
    return said
