"""A stand-in for the parts of GLPI's API v2 that deskbridge uses, with the oddities of a real GLPI 11.0.6.

* A token by client credentials is issued, but every read with it gets 401.
* A GET with a Content-Type gets 400, and so does a token that GLPI does not know, for example since a restore.
* An incomplete list has status 206.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from shared.helpdesk.glpi import GlpiAccess

CLIENT, CLIENT_SECRET, USER, PASSWORD = "client", "client-secret", "deskbridge", "pass-word"


class CutShort(bytes):
    """The content of a document whose download breaks off."""


class Page(bytes):
    """A web page, which something between deskbridge and GLPI answers in place of GLPI."""


class Packed(bytes):
    """A file that the web server labels as compressed, such as a .tar.gz."""


IN_FRONT: dict[str, Callable[[bytes], tuple[int, bytes]]] = {
    "a sign-in page": lambda _: (200, Page(b"<!DOCTYPE html><html><body>Please sign in</body></html>")),
    "a page with 404": lambda _: (404, Page(b"<html><body><h1>Not Found</h1></body></html>")),
    "half of the file": lambda content: (200, content[: len(content) // 2]),
    "a warning before the file": lambda content: (
        200,
        b"<br />\n<b>Warning</b>: Undefined variable" + content,
    ),
}
"""What something between deskbridge and GLPI can make of a download, by name."""


class GlpiApi:
    """A GLPI in memory.

    Attributes:
        users: e-mail addresses, by id.
        tickets: tickets as the API shows them, by id.
        tasks: ticket tasks as the API shows them, by ticket id.
        notes: follow-ups and solutions as the API shows them, by ticket id and `Followup` or `Solution`.
        rights: its user's rights on follow-ups: 1 to see public ones, 8192 to see all.
        documents: contents, by id; None if the file is missing on GLPI's disk.
        binned: documents in GLPI's bin; GLPI still lists and delivers them.
        unlinked: documents that no longer belong to a ticket.
        forbidden: documents that the API's user may not read.
        statuses: statuses by document with which a proxy in front answers.
        instead: status and body by document with which something in front answers downloads in place of GLPI.
        in_front: what something in front makes of all downloads (a name of `IN_FRONT`), or None.
        has_metadata: whether its user may read what it knows about documents.
        calls: method and path of each call.
        down: whether it answers 503 to everything.
        refuses_tokens: whether it answers 401 to every read.
        lives_s: lifetime of a token.
        ahead_s: seconds that its clock is ahead.
    """

    def __init__(self) -> None:
        self.users: dict[int, str | None] = {}
        self.tickets: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, list[dict[str, Any]]] = {}
        self.notes: dict[tuple[int, str], list[dict[str, Any]]] = {}
        self.rights = 8193
        self.documents: dict[int, bytes | None] = {}
        self.binned: set[int] = set()
        self.unlinked: set[int] = set()
        self.forbidden: set[int] = set()
        self.statuses: dict[int, int] = {}
        self.instead: dict[int, tuple[int, Any]] = {}
        self.in_front: str | None = None
        self.has_metadata = True
        self.calls: list[str] = []
        self.down = False
        self.refuses_tokens = False
        self.lives_s = 3600
        self.ahead_s = 0
        self.tokens: dict[str, str] = {}
        self.url = ""

    @property
    def access(self) -> GlpiAccess:
        """Valid access to it."""
        return GlpiAccess(self.url, CLIENT, SecretStr(CLIENT_SECRET), USER, SecretStr(PASSWORD))

    def ticket(
        self, ticket_id: int, changed: str, *, status: int = 2, entity: int = 3, assigned: int | None = None
    ) -> None:
        """Add or replace a ticket."""
        team = [{"role": "requester", "id": 8}]
        if assigned:
            team.append({"role": "assigned", "id": assigned})
        self.tickets[ticket_id] = {
            "id": ticket_id,
            "name": f"Ticket {ticket_id}",
            "content": "<p>text</p>",
            "status": {"id": status, "name": "…"},
            "entity": {"id": entity, "name": "Acme", "completename": "Root entity > Acme"},
            "date_mod": changed,
            "team": team,
        }

    def task(
        self,
        ticket_id: int,
        task_id: int,
        changed: str,
        *,
        state: int = 2,
        seconds: int = 1800,
        user: int = 7,
        **more: object,
    ) -> None:
        """Add a ticket task."""
        item = {
            "id": task_id,
            "content": f"task {task_id}",
            "state": state,
            "duration": seconds,
            "user": {"id": user, "name": "…"},
            "date": changed,
            "date_mod": changed,
            "is_private": False,
            "source_item_id": 0,
            "tickets_id": ticket_id,
            **more,
        }
        self.tasks.setdefault(ticket_id, []).append(item)

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Answer one call."""
        path = urlsplit(target).path.removeprefix("/api.php")
        self.calls.append(f"{method} {path}")
        if self.down:
            return 503, None
        if (method, path) == ("POST", "/token"):
            return self._token(json.loads(body))
        if headers.get("Content-Type") is not None:
            return 400, {"title": "The request body is not valid JSON"}
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            return 400, {"status": "ERROR_INVALID_PARAMETER", "title": "Invalid OAuth token"}
        if self.refuses_tokens or self.tokens[token] != "password":
            return 401, {"status": "ERROR_UNAUTHENTICATED"}
        return self._read(
            path, {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        )

    def _token(self, asked: dict[str, Any]) -> tuple[int, Any]:
        if (asked.get("client_id"), asked.get("client_secret")) != (CLIENT, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        grant = asked["grant_type"]
        if grant == "password" and (asked.get("username"), asked.get("password")) != (USER, PASSWORD):
            return 400, {"error": "invalid_grant"}
        token = f"token-{len(self.tokens)}"
        self.tokens[token] = grant
        return 200, {"token_type": "Bearer", "expires_in": self.lives_s, "access_token": token}

    def _read(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        if user := re.fullmatch(r"/v2/Administration/User/(\d+)", path):
            if int(user[1]) not in self.users:
                return 404, {"status": "ERROR_ITEM_NOT_FOUND"}
            email = self.users[int(user[1])]
            old = {"id": 1, "email": "old@example.org", "is_default": 0}
            return 200, {
                "id": int(user[1]),
                "emails": [old, {"id": 2, "email": email, "is_default": 1}] if email else [],
            }
        if tasks := re.fullmatch(r"/v2/Assistance/Ticket/(\d+)/Timeline/Task", path):
            return 200, [{"type": "Task", "item": one} for one in self.tasks.get(int(tasks[1]), [])]
        if re.fullmatch(r"/v2/Assistance/Ticket/\d+/Timeline/Document", path):
            linked = sorted(self.documents.keys() - self.unlinked)
            return 200, [{"type": "Document", "item": {"id": 1, "documents_id": one}} for one in linked]
        if notes := re.fullmatch(r"/v2/Assistance/Ticket/(\d+)/Timeline/(Followup|Solution)", path):
            return 200, [{"type": notes[2], "item": one} for one in self._shown(int(notes[1]), notes[2])]
        if note := re.fullmatch(r"/v2/Assistance/Ticket/(\d+)/Timeline/(Followup|Solution)/(\d+)", path):
            shown = {one["id"]: one for one in self._shown(int(note[1]), note[2])}
            found = shown.get(int(note[3]))
            return (200, found) if found else (404, {"status": "ERROR_ITEM_NOT_FOUND"})
        if ticket := re.fullmatch(r"/v2/Assistance/Ticket/(\d+)", path):
            found = self.tickets.get(int(ticket[1]))
            return (200, found) if found else (404, {"status": "ERROR_ITEM_NOT_FOUND"})
        if document := re.fullmatch(r"/v2/Management/Document/(\d+)/Download", path):
            return self._download(int(document[1]))
        if document := re.fullmatch(r"/v2/Management/Document/(\d+)", path):
            return self._metadata(int(document[1]))
        if path == "/v2/Session":
            now = datetime.now(UTC) + timedelta(seconds=self.ahead_s)
            profile = {"rights": {"followup": self.rights}}
            return 200, {"current_time": now.isoformat(timespec="seconds"), "active_profile": profile}
        if path == "/v2/Assistance/Ticket":
            return self._list(query)
        return 404, None

    def _shown(self, ticket_id: int, kind: str) -> list[dict[str, Any]]:
        """Return a ticket's follow-ups or solutions as far as the user may see them: GLPI hides the others."""
        notes = self.notes.get((ticket_id, kind), [])
        if kind == "Solution" or self.rights & 8192:
            return notes
        return [one for one in notes if not one.get("is_private")] if self.rights else []

    def _metadata(self, document_id: int) -> tuple[int, Any]:
        content = self.documents.get(document_id)
        if content is None:
            return 404, {"status": "ERROR_ITEM_NOT_FOUND"}
        if not self.has_metadata:
            return 403, {"status": "ERROR_RIGHT_MISSING"}
        digest = sha1(content, usedforsecurity=False).hexdigest()
        return 200, {"id": document_id, "sha1sum": digest, "is_deleted": document_id in self.binned}

    def _download(self, document_id: int) -> tuple[int, Any]:
        if self.in_front:
            return IN_FRONT[self.in_front](self.documents.get(document_id) or b"")
        if document_id in self.instead:
            return self.instead[document_id]
        if document_id not in self.documents:
            return 404, {"status": "ERROR_ITEM_NOT_FOUND"}
        if document_id in self.forbidden:
            return 403, {"status": "ERROR_RIGHT_MISSING"}
        if document_id in self.statuses:
            return self.statuses[document_id], None
        content = self.documents[document_id]
        return (500, None) if content is None else (200, content)

    def _list(self, query: dict[str, str]) -> tuple[int, Any]:
        since, last = re.fullmatch(r"date_mod=ge=(.+);id=gt=(\d+)", query["filter"]).groups()  # type: ignore[union-attr]
        assert query["sort"] == "id:asc"
        found = [
            one
            for ticket_id, one in sorted(self.tickets.items())
            if ticket_id > int(last)
            and datetime.fromisoformat(one["date_mod"]) >= datetime.fromisoformat(f"{since}+00:00")
        ]
        page = found[: int(query["limit"])]
        return (200 if len(page) == len(found) else 206), page


def _media_type(content: Any) -> str:
    if isinstance(content, Page):
        return "text/html; charset=UTF-8"
    return "application/octet-stream" if isinstance(content, bytes) else "application/json"


@contextmanager
def glpi_api() -> Iterator[GlpiApi]:
    """Serve a `GlpiApi` on a free port."""
    api = GlpiApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content = api.answer(self.command, self.path, self.headers, body)
            sent = content if isinstance(content, bytes) else b""
            if content is not None and not isinstance(content, bytes):
                sent = json.dumps(content).encode()
            self.send_response(status)
            self.close_connection = isinstance(content, CutShort)
            self.send_header("Content-Length", str(len(sent) + int(self.close_connection)))
            self.send_header("Content-Type", _media_type(content))
            if isinstance(content, Packed):
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = _serve  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
