"""One event is one trace: the help desk's span, the request, the queue message, the ticket sync and the calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from redis import Redis
from sqlalchemy import select

from deploy.embedded.ports import HOST
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from shared.store.tables.journal import JournalEvent
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.fork_server import ForkServer
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TRACE, HELPDESKS = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CAME_WITH = f"00-{TRACE}-{HELPDESKS}-01"


class Collector(ThreadingHTTPServer):
    """An OTLP collector.

    Attributes:
        spans: the received spans.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.spans: list[Span] = []
        super().__init__((HOST, 0), _Taken)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"

    def named(self, name: str) -> list[Span]:
        return [one for one in self.spans if one.name == name]

    def of_the_trace(self) -> list[Span]:
        """Return the spans that belong to the help desk's trace."""
        return [one for one in self.spans if one.trace_id.hex() == TRACE]

    def one(self, name: str) -> Span:
        """Wait for the only span with this name in the help desk's trace, and return it."""

        def found() -> list[Span]:
            return [one for one in self.of_the_trace() if one.name == name]

        until(found, f"no span {name}", 60)
        (span,) = found()
        return span


class _Taken(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


Run = Callable[[float], Fleet]


@pytest.fixture
def run(
    tmp_path: Path,
    postgres_url: str,
    redis_url: str,
    collector: Collector,
    fork_server: ForkServer | None,
) -> Iterator[Run]:
    """A function that starts a producer and a beat with the given sweep interval in seconds."""
    with StandIn(in_process=True) as tracker, ExitStack() as ends:

        def started(sweep: float) -> Fleet:
            given: dict[str, Any] = {"OTLP_ENDPOINT": collector.url, "SWEEP_INTERVAL": sweep}
            made = Fleet(tmp_path, postgres_url, redis_url, tracker, fork_server=fork_server, **given)
            ends.callback(made.stop)
            return made.start()

        yield started


def kept(fleet: Fleet) -> str | None:
    """Return the traceparent of the newest event in the journal."""
    with fleet.bridge.store.database.transaction() as session:
        return session.scalars(select(JournalEvent.traceparent).order_by(JournalEvent.id.desc())).first()


def lines(fleet: Fleet) -> list[dict[str, Any]]:
    """Return the worker's log lines about the ticket."""
    log = (fleet.directory / "worker-1.log").read_text(encoding="utf-8")
    every = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in every if line.get("ticket_id") == 4711]


def test_an_event_is_one_trace_from_the_helpdesk_to_the_tracker(run: Run, collector: Collector) -> None:
    fleet = run(600)
    fleet.add_worker(2)
    fleet.send([("before", task_event(of_task=task(1), of_ticket=ticket(1)))])
    fleet.wait_until_synced(90)  # the worker is ready, so the next event does not wait for the sweep
    fleet.send([("one", task_event())], traceparent=CAME_WITH)
    fleet.wait_until_synced(90)
    request, notify, sync = (collector.one(name) for name in ("POST /events", "notify", "sync ticket"))
    assert request.parent_span_id.hex() == HELPDESKS
    assert (notify.parent_span_id, sync.parent_span_id) == (request.span_id, notify.span_id)
    calls = [collector.one(name) for name in ("POST issues", "POST time_entries")]
    assert {one.parent_span_id for one in calls} == {sync.span_id}
    assert kept(fleet) == f"00-{TRACE}-{request.span_id.hex()}-01"
    said = lines(fleet)
    assert len(said) > 2
    named = ("trace_id", "event_ids", "keys", "delivery_ids")
    wanted = [TRACE, [2], ["ticket-task:512"], ["one"]]
    assert [[line.get(name) for name in named] for line in said] == [wanted] * len(said), said


def test_what_the_sweep_rings_begins_a_trace_and_leads_to_that_of_its_event(
    run: Run, collector: Collector, redis_server: RedisServer
) -> None:
    fleet = run(2)
    fleet.send([("one", task_event())], traceparent=CAME_WITH)
    notify = collector.one("notify")
    with closing(Redis.from_url(redis_server.url)) as redis:
        redis.flushall()
    fleet.add_worker(2)
    fleet.wait_until_synced(90)
    until(lambda: collector.named("POST issues"), "no call", 60)
    until(lambda: collector.named("sync ticket"), "no drain", 60)
    (sync,) = [one for one in collector.named("sync ticket") if one.links]
    assert (sync.parent_span_id, sync.trace_id == notify.trace_id) == (b"", False)
    request = collector.one("POST /events")
    assert [(one.trace_id, one.span_id) for one in sync.links] == [(request.trace_id, request.span_id)]
    (call,) = collector.named("POST issues")
    assert call.parent_span_id == sync.span_id
