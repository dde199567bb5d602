"""The tracker's API key appears nowhere: everything runs with a recognisable key, and all output is searched for it."""

from __future__ import annotations

import base64
import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from redis import Redis
from sqlalchemy import MetaData, select
from typer.testing import CliRunner

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.processes import Child
from producer.cli.main import app
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.fleet import ROOT, Fleet
from tests.support.queue import LARGE, SYNC, arguments, celery_app, queue_name

pytestmark = pytest.mark.slow

FROM_NOTHING = True
"""For a forked process, /proc would show the command line and environment of its fork server."""

CANARY = "c4n4ry0f7he7r4ck3r5k3y"
TOKEN = "the-token-of-the-tests"
SETTINGS = {"key": CANARY, "CONSOLE_TOKENS": TOKEN}
FORMS = [CANARY, base64.b64encode(CANARY.encode()).decode().rstrip("="), CANARY.encode().hex()]
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("status_before", {"status": 500}),
    ("status_before", {"status": 401}),
    ("status_after", {"status": 302}),
    ("garbage_after", {}),
    ("close_before", {}),
]
COMMANDS = [
    ["config", "show"],
    ["config", "show", "--json"],
    ["config", "set", f"api_key={CANARY}"],
    ["config", "set", "done_state=x"],
    ["metadata", "sync"],
    ["doctor", "--json", "--all"],
    ["doctor"],
    ["event", "list", "--json"],
    ["ticket", "history", "1"],
    ["ticket", "history", "1", "--json"],
    ["hold", "list", "--json"],
    ["user", "list", "--json"],
    ["mapping", "list", "--json"],
    ["config", "rotate-keys"],
]
PATHS = [
    "config",
    "links",
    "events",
    "held",
    "trace/1",
    "metadata",
    "metadata/users",
    "user-map",
    "openapi.json",
]


@pytest.fixture(scope="module")
def running(lasting_fleet: Fleet) -> Fleet:
    """A fleet with a recognisable tracker API key."""
    lasting_fleet.add_worker(4)
    return lasting_fleet


@pytest.fixture
def fleet(running: Fleet, redis_url: str) -> Fleet:
    """The running fleet, with an empty broker."""
    return running


def command(fleet: Fleet, *arguments: str, stdin: str = "") -> str:
    """Run a command; return its output and its exception."""
    ran = CliRunner().invoke(app, list(arguments), input=stdin, env=fleet._env)
    assert "Traceback" not in ran.output
    return f"{ran.output} {ran.exception!r}"


def console(fleet: Fleet) -> list[str]:
    """Request everything from the console, also with wrong keys; return its answers."""
    port = free_port()
    child = fleet.child("console", "console", "--port", str(port))
    address = f"http://{HOST}:{port}"

    def ready() -> bool:
        return requests.get(f"{address}/healthz", timeout=1).ok

    fleet.processes.start(child, ready)
    signed = {"Authorization": f"Bearer {TOKEN}"}
    answers = [requests.get(f"{address}/api/{path}", headers=signed, timeout=10) for path in PATHS]
    answers.append(requests.post(f"{address}/api/metadata/sync", headers=signed, timeout=30))
    for body in (
        {"api_key": CANARY},
        {"api_key": f"{CANARY} two words"},
        {"api_key": [CANARY]},
        {"api_key": CANARY, "done_state": "x"},
        {"api_key": CANARY, "base_url": "nonsense"},
        [CANARY],
    ):
        answers.append(requests.patch(f"{address}/api/config", json=body, headers=signed, timeout=10))
    answers.append(requests.get(f"{address}/api/config", headers={"Authorization": CANARY}, timeout=10))
    return [f"{answer.headers} {answer.text}" for answer in answers]


def stored(fleet: Fleet, redis_url: str) -> list[str]:
    """Return the contents of the database and of Redis."""
    found: list[str] = []
    engine = fleet.bridge.store.database.engine
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        for table in tables.tables.values():
            found += [str(tuple(row)) for row in connection.execute(select(table))]
    assert any("gAAAAA" in row for row in found), "the key is stored, encrypted"
    with Redis.from_url(redis_url) as redis:
        for name in redis.scan_iter("*"):
            found += [repr(name), repr(redis.dump(name))]
    return found


def shown_by_the_system(child: Child) -> str:
    """Return the command line and the environment that /proc shows for a process."""
    directory = Path(f"/proc/{child.pid}")
    return "".join(
        (directory / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")
    )


def core_limits(child: Child) -> set[str]:
    """Return the soft and hard limits for a process's core dump, in bytes."""
    limits = Path(f"/proc/{child.pid}/limits").read_text()
    (core,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    return set(core.split()[4:6])


@pytest.mark.promise("SEC-33", "SEC-34", "SEC-35")
def test_the_producer_holds_no_secret_of_others_and_no_process_leaves_a_core_dump(fleet: Fleet) -> None:
    key = fleet.bridge.settings.secret_keys[0].get_secret_value()
    by_name = {one.name: one for one in fleet.processes.members if isinstance(one, Child)}
    shown = shown_by_the_system(by_name["producer"])
    assert "DESKBRIDGE_WEBHOOK_SECRETS" in shown
    assert key not in shown
    assert TOKEN not in shown
    assert "SECRET_KEYS" not in shown
    assert key in shown_by_the_system(by_name["worker-1"]), "so that this test could see it"
    assert key not in fleet.logs()
    for child in by_name.values():  # a process that crashes must leave no core dump
        child.wait_ready(lambda child=child: core_limits(child) <= {"0", "1"}, timeout=90)  # type: ignore[misc]


class Bomb:
    """Creates a directory when unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


@pytest.mark.promise("SEC-47")
def test_a_message_that_is_none_of_ours_is_refused_without_being_loaded(fleet: Fleet, tmp_path: Path) -> None:
    bomb, queue = tmp_path / "went-off", queue_name(fleet.bridge.redis.whose())
    app = celery_app(fleet.bridge.settings, fleet.bridge.redis.whose())
    pickled = pickle.dumps(((), {"ticket_id": Bomb(bomb)}, {}))
    yaml = f"!!python/object/apply:os.mkdir ['{bomb}']".encode()
    headers = {"task": SYNC, "id": "bomb", "argsrepr": "", "kwargsrepr": "", "lang": "py"}
    with app.connection_for_write() as connection, connection.Producer() as producer:
        for body, kind in ((pickled, "x-python-serialize"), (yaml, "x-yaml"), (pickled, "nonsense")):
            producer.publish(
                body,
                routing_key=queue,
                content_type=f"application/{kind}",
                content_encoding="binary",
                headers=headers,
            )
        notify = {"routing_key": queue, "headers": headers}
        producer.publish([[], arguments(1), {}], compression="zlib", **notify)
        producer.publish([[], {**arguments(1), "more": "x" * LARGE}, {}], **notify)
    with Redis.from_url(fleet.bridge.settings.redis_url.get_secret_value()) as redis:
        for poison in (
            "{",
            "7",
            "[]",
            "{}",
            '{"headers": {"task": [], "id": {}}, "body": 7, "properties": {}}',
        ):
            redis.lpush(f"deskbridge:{queue}", poison)
    fleet.send([("after", task_event())])
    fleet.wait_until_synced(90)
    assert set(fleet.states()) == {"done"}
    deadline = time.monotonic() + 60
    with Redis.from_url(fleet.bridge.settings.redis_url.get_secret_value()) as redis:
        while redis.llen(f"deskbridge:{queue}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert redis.llen(f"deskbridge:{queue}") == 0
    assert all(worker.alive for worker in fleet.workers)
    assert not bomb.exists()
    pickle.loads(pickled)  # noqa: S301 (our own)
    assert bomb.exists(), "so that this test could see it"


@pytest.mark.promise("SEC-48")
def test_nobody_ends_or_steers_a_worker_over_the_broker(fleet: Fleet) -> None:
    app = celery_app(fleet.bridge.settings, fleet.bridge.redis.whose())
    fleet.send([("steered", task_event())])
    fleet.wait_until_synced(90)
    app.control.broadcast("pool_shrink", arguments={"n": 4})
    app.control.broadcast("shutdown")
    assert app.control.ping(timeout=2) == []
    fleet.send([("unsteered", task_event(of_ticket=ticket(900), of_task=task(900)))])
    fleet.wait_until_synced(90)
    assert set(fleet.states()) == {"done"}
    assert all(worker.alive for worker in fleet.workers)


@pytest.mark.promise("SEC-31")
def test_the_api_key_shows_nowhere(fleet: Fleet, redis_url: str) -> None:
    """This test comes last because it crashes every process at its end."""
    said = [command(fleet, "config", "set-api-key", stdin=CANARY)]
    said.append(command(fleet, "config", "set-api-key", stdin=f"{CANARY} {CANARY}"))
    fleet.send([("first", task_event(of_ticket=ticket(1), of_task=task(1)))])
    fleet.wait_until_synced(90)
    assert set(fleet.states()) == {"done"}, "the key was used"
    for number, (kind, options) in enumerate(FAULTS, 2):
        fleet.stand_in.fault(kind, count=3, **options)
        fleet.send([(f"f-{number}", task_event(of_ticket=ticket(number), of_task=task(number)))])
        said.append(command(fleet, "metadata", "sync"))
        fleet.stand_in.clear_faults()
    fleet.send([("last", ticket_event(of_ticket=ticket(1, status=5)))])
    said += [command(fleet, *arguments) for arguments in COMMANDS]
    said += console(fleet)
    children = [one for one in fleet.processes.members if isinstance(one, Child)]
    assert {"producer", "console", "beat", "worker-1"} <= {child.name for child in children}
    said += [shown_by_the_system(child) for child in children]
    said += stored(fleet, redis_url)
    for child in children:
        child.send_signal(signal.SIGABRT)
        child.wait(60)
    said += [log.read_text() for log in fleet.directory.glob("*.log")]
    for form in FORMS:
        assert not [text[max(0, text.index(form) - 200) :][:400] for text in said if form in text], form
    assert not list(fleet.directory.rglob("core*"))
    assert not list(ROOT.glob("core*"))
