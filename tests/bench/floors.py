"""`python -m tests.bench.floors`: the lower limits that other libraries set.

Measured are the modules of other authors that a worker loads, and the HTTP server with an application that only reads
a request and answers 202. Lower figures would need other libraries. The third floor is the tracker: what it accepts
from callers that have nothing else to do, as many as two processes have with eight threads each.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from celery import Celery
from sqlalchemy import Engine, Integer, column, create_engine, select, table, text

from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.samples import load_samples
from deploy.sandbox.tracker.control import StandIn
from producer.http.connections import server_options
from tests.bench.errors import BrokenRun
from tests.bench.idle import DONE, QUEUE, TASK
from tests.bench.load import post, request, send
from tests.bench.memory import resident_mb
from tests.bench.rounds import POLL_S
from tests.bench.servers import STAND_IN, servers
from tests.bench.side import THREADS, WORKERS
from tests.bench.workload import CONTENT, batch

ROUNDS, SECONDS = 3, 2.0
SINGLE, ARRAY = 6000, 50
TICKETS = {20: 400, 100: 80}
"""Number of issues with a time entry, by the tracker's latency in ms; a multiple of the number of callers."""

CALLERS = {f"callers at {ms} ms": ms for ms in TICKETS}

OWN = ("worker", "producer", "shared", "__main__")

LOADED = f"""
import json, sys
from worker.process import work
print(json.dumps([name for name in sys.modules if name.partition(".")[0] not in {OWN!r}]))
"""

LOAD = """
import json, sys
from tests.bench.idle import load
from tests.bench.memory import resident_mb
load(json.load(sys.stdin))
print(resident_mb())
"""
LOAD_OURS = """
from shared.process.loading import loading
from tests.bench.memory import resident_mb
with loading():
    from worker.process import work
print(resident_mb())
"""
IDLE_TASKS, IDLE_S = 400, 60.0
"""For the worker that does nothing: its number of tasks, and the seconds that it may take for them."""

WARNED = "You're running the worker with superuser privileges"
"""Celery's warning to root on standard error, which would appear above the table."""


async def answering(scope: Any, receive: Any, send: Any) -> None:
    """Read a request and answer 202: an application that does nothing."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"2"), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 202, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


def loaded() -> bytes:
    """Return the names of the modules that a worker loads and that are not ours, as JSON."""
    return subprocess.run([sys.executable, "-c", LOADED], stdout=subprocess.PIPE, check=True).stdout


def loading(script: str, named: bytes = b"") -> tuple[list[float], list[float]]:
    """Return the seconds that a process takes only to load some modules, and the MB that it keeps."""
    took, kept = [], []
    for _ in range(ROUNDS):
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-c", script], input=named, stdout=subprocess.PIPE, check=True)
        took.append(time.monotonic() - began)
        kept.append(float(done.stdout))
    return took, kept


def idle_worker(named: bytes) -> float:
    """Return the MB that a Celery worker keeps after it has loaded some modules and run empty tasks.

    Raises:
        BrokenRun: if it did not run them in time.
    """
    with servers() as shared:
        broker_url, database_url = shared.redis.database_url(0), shared.postgres.create_database("idle")
        engine = create_engine(database_url)
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SEQUENCE {DONE}"))
        ignored, addresses = ["-W", f"ignore:{WARNED}"], [broker_url, database_url, str(THREADS)]
        command = [sys.executable, *ignored, "-m", "tests.bench.idle", *addresses]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            assert process.stdin is not None
            process.stdin.write(named)
            process.stdin.close()
            with Celery("idle", broker=broker_url) as app:
                for _ in range(IDLE_TASKS):
                    app.send_task(TASK, queue=QUEUE)
            _wait_until_done(engine)
            return resident_mb(process.pid)
        finally:
            process.terminate()
            process.wait(30)
            engine.dispose()


def _wait_until_done(engine: Engine) -> None:
    """Wait until the worker has run every empty task."""
    ends = time.monotonic() + IDLE_S
    last = select(column("last_value", Integer)).select_from(table(DONE))
    with engine.connect() as connection:
        while connection.scalar(last) != IDLE_TASKS:
            if time.monotonic() > ends:
                raise BrokenRun(f"a worker that does nothing did not do {IDLE_TASKS} tasks in {IDLE_S:g} s")
            connection.rollback()
            time.sleep(POLL_S)


@contextmanager
def server() -> Iterator[int]:
    """Run the HTTP server with the empty application and the producer's options; yield the port."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.floors", "--serve", str(port)])
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(300):
        connection = http.client.HTTPConnection(HOST, port, timeout=2)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise TimeoutError("the server did not answer")


def callers(latency_ms: float, tickets: int) -> float:
    """Return how many issues with a time entry per second the tracker accepts from plain callers.

    Args:
        latency_ms: the tracker's latency for each answer.
        tickets: number of issues to create.

    Raises:
        BrokenRun: if the tracker refused a call.
    """
    installation = load_samples().installation
    with StandIn(arguments=STAND_IN) as stand_in:
        port = urlsplit(stand_in.base_url).port or 0
        headers = {
            "X-Redmine-API-Key": stand_in.api_key,
            "X-Redmine-Switch-User": "alice",
            "Content-Type": "application/json",
        }

        def creation(path: str, **values: Any) -> tuple[bytes, int]:
            return request(port, path, headers, json.dumps(values).encode()), 1

        project = installation.links[0]["tracker_project_id"]
        of_issue = {"project_id": project, "subject": "x", "description": CONTENT}
        issue = creation("/issues.json", issue=of_issue)
        send(port, [issue], status=201)
        of_entry = {
            "issue_id": stand_in.state()["issues"][0]["id"],
            "activity_id": installation.config["default_activity_id"],
            "hours": 1.5,
            "comments": CONTENT,
        }
        calls = [issue, creation("/time_entries.json", time_entry=of_entry)] * tickets
        stand_in.settings(latency_ms=latency_ms)
        return send(port, calls, connections=WORKERS * THREADS, status=201).rate / 2


def measure() -> dict[str, list[float]]:
    """Take all figures, most of them in several rounds."""
    named = loaded()
    start, memory = loading(LOAD, named)
    found: dict[str, list[float]] = {"start": start, "memory": memory, "rate": [], "p99": []}
    _, found["ours"] = loading(LOAD_OURS)
    found["idle"] = [idle_worker(named)]
    with server() as port:
        for _ in range(ROUNDS):
            posted = post(port, batch(SINGLE).deliveries(1), seconds=SECONDS)
            found["rate"].append(posted.rate)
            found["p99"].append(posted.p99_ms)
    for name, latency_ms in CALLERS.items():
        found[name] = [callers(latency_ms, TICKETS[latency_ms]) for _ in range(ROUNDS)]
    return found


def show(found: dict[str, list[float]]) -> None:
    """Print a line for each figure: the median, the lowest and the highest value."""
    named = {
        "start": "a worker's libraries without the worker: start, s",
        "memory": "a worker's libraries without the worker: resident memory, MB",
        "ours": "a worker's libraries and its own modules, loaded: resident memory, MB",
        "idle": "a Celery worker of these libraries that does nothing: resident memory, MB",
        "rate": "the HTTP server without the producer: requests/s over 32 connections",
        "p99": "the HTTP server without the producer: p99 in ms",
        **{
            name: f"{WORKERS} × {THREADS} callers without the workers: events/s, at {ms} ms"
            for name, ms in CALLERS.items()
        },
    }
    for key, name in named.items():
        values = found[key]
        digits = 2 if median(values) < 10 else 1 if median(values) < 100 else 0
        print(f"{name}: {median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.floors", description=__doc__)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        uvicorn.run(answering, host=HOST, port=arguments.serve, **server_options())
    else:
        show(measure())


if __name__ == "__main__":
    main()
