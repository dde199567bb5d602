"""Runs the GLPI plugin's PHP on small stand-ins for GLPI, and servers that it can send to."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.producer.conftest import SECRET, RunningProducer, running

PLAY = Path(__file__).parent / "php" / "play.php"
TICKET = {
    "id": 4711,
    "name": "Printer on fire",
    "content": "<p>It burns / ü</p>",
    "status": 2,
    "entities_id": 3,
    "is_deleted": 0,
    "urgency": 3,
    "impact": 2,
    "priority": 4,
    "type": 1,
    "itilcategories_id": 0,
    "locations_id": 0,
    "time_to_resolve": None,
    "externalid": None,
    "date_creation": "2026-11-20 08:15:30",
}
ENTITY = {"id": 3, "name": "Acme", "completename": "Root entity > Customers > Acme"}
TASK = {
    "id": 512,
    "tickets_id": 4711,
    "content": "<p>Extinguished</p>",
    "state": 2,
    "actiontime": 5400,
    "users_id": 7,
    "users_id_tech": 8,
    "date": "2026-11-20 23:30:00",
    "begin": None,
    "is_private": 0,
    "sourceitems_id": 0,
    "date_creation": "2026-11-20 23:30:00",
    "date_mod": "2026-11-20 23:30:00",
}
PEOPLE = [
    {"id": 7, "name": "alice", "realname": "Smith", "firstname": "Alice"},
    {"id": 8, "name": "bob", "realname": "Jones", "firstname": "Bob"},
]
EMAILS = [
    {"id": 1, "users_id": 7, "email": "private@example.org", "is_default": 0},
    {"id": 2, "users_id": 7, "email": "alice@example.org", "is_default": 1},
    {"id": 3, "users_id": 8, "email": "bob@example.org", "is_default": 0},
]
ALICE = {
    "id": 7,
    "email": "alice@example.org",
    "emails": ["alice@example.org", "private@example.org"],
    "name": "Smith Alice",
}
BOB = {"id": 8, "email": "bob@example.org", "name": "Jones Bob"}
Step = dict[str, Any]
Play = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def php() -> str:
    """The path of PHP's command line; without PHP a test is skipped, but fails in CI."""
    found = shutil.which("php")
    if found and not _lacks_what_glpi_has(found):
        return found
    needed = "php-cli 8.2 or newer with curl and mbstring (apt-get install php-cli php-curl php-mbstring)"
    reason = f"the plugin's tests need {needed}"
    if os.environ.get("CI"):
        pytest.fail(reason + ", and CI is set: there nothing is skipped")
    pytest.skip(reason)


def _lacks_what_glpi_has(php: str) -> bool:
    has = "extension_loaded('curl') && extension_loaded('mbstring')"
    check = f"exit(PHP_VERSION_ID >= 80200 && {has} ? 0 : 1);"
    return subprocess.run([php, "-r", check], check=False).returncode != 0


@pytest.fixture
def play(php: str) -> Play:
    """Returns a function that plays steps in one PHP process, in a GLPI with ticket 4711, and returns their results."""

    def played(*steps: Step) -> list[Any]:
        before = [
            store(
                Ticket=[{**TICKET, "_users": {"2": []}}],
                TicketTask=[],
                Entity=[ENTITY],
                User=PEOPLE,
                glpi_useremails=EMAILS,
            )
        ]
        run = subprocess.run(
            [php, str(PLAY)],
            input=json.dumps([*before, *steps]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        results: list[Any] = json.loads(run.stdout)
        return results[len(before) :]

    return played


def store(**tables: list[Step]) -> Step:
    """Put rows into GLPI's tables."""
    return {"do": "store", "tables": tables}


def settings(**values: str) -> Step:
    """Save settings of the plugin."""
    return {"do": "set", "values": values}


def add_task(task_id: int = 512, **fields: Any) -> Step:
    """Save a new task."""
    return {"do": "add", "type": "TicketTask", "id": task_id, "fields": {**TASK, "id": task_id, **fields}}


def update_task(*updates: str, **fields: Any) -> Step:
    """Save a task in which these columns have changed."""
    return {
        "do": "update", "type": "TicketTask", "id": 512, "fields": {**TASK, **fields}, "updates": list(updates)
    }  # fmt: skip


def update_ticket(*updates: str, **more: Any) -> Step:
    """Save the ticket, in which these columns have changed."""
    return {"do": "update", "type": "Ticket", "id": 4711, "updates": list(updates), **more}


def add(kind: str, **fields: Any) -> Step:
    """Save a new item of a type, such as a link of the ticket."""
    return {"do": "add", "type": kind, "id": fields["id"], "fields": fields}


def act(what: str, kind: str = "Ticket", item_id: int = 4711, **more: Any) -> Step:
    """Have GLPI do something to an item: purge, bin, restore, merge."""
    return {"do": what, "type": kind, "id": item_id, **more}


def named(rows: list[Step]) -> list[tuple[str, int, int | None]]:
    """Return the name, ticket and task of each event in the spool."""
    return [(one["event"], one["ticket"]["id"], one.get("task", {}).get("id")) for one in events(rows)]


def events(rows: list[Step]) -> list[Step]:
    """Return the events of the spool's rows."""
    return [json.loads(row["event"]) for row in rows]


ROWS: Step = {"do": "rows"}
SEND: Step = {"do": "send"}
LOGGED: Step = {"do": "logged"}
WAIT: Step = {"do": "wait"}
TROUBLE: Step = {"do": "trouble"}
REFUSED = '{"title": "Not a valid event", "status": 422, "errors": [{"path": "ticket.id"}]}'
PLUGIN = Path(__file__).parents[3] / "deploy" / "glpi-plugin" / "deskbridge"


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[RunningProducer]:
    """The real producer, with an empty journal."""
    with running(tmp_path) as producer:
        yield producer


class Scripted:
    """A server that gives the answers of a test, and keeps the requests.

    Attributes:
        answers: status and body of the next answers; the last one is repeated.
        received: body, or path, and lower-case headers of each request.
        read: the number of answers that were read to their end.
    """

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = [(202, "{}")]
        self.received: list[tuple[Any, dict[str, str]]] = []
        self.read = 0
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                scripted.received.append((json.loads(body), headers))
                self._answer()

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                scripted.received.append((self.path, headers))
                self._answer()

            def _answer(self) -> None:
                more = len(scripted.answers) > 1
                status, text = scripted.answers.pop(0) if more else scripted.answers[0]
                self.send_response(status)
                self.end_headers()
                with suppress(ConnectionError):
                    self.wfile.write(text.encode())
                    scripted.read += 1

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    """A server that gives the answers of a test."""
    scripted = Scripted()
    thread = threading.Thread(target=scripted.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield scripted
    scripted.server.shutdown()
    thread.join()
    scripted.server.server_close()


def address_of(server: Scripted | RunningProducer) -> dict[str, Any]:
    """Return the step that connects the plugin to a server."""
    address = server.address if isinstance(server, Scripted) else server.base_url
    return settings(address=address + "/", secret=SECRET)


@contextmanager
def silence() -> Iterator[str]:
    """Run a server that accepts connections and never answers; yield its address."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
