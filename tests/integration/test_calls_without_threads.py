"""Requests that leave without anybody waiting: one thread waits for the answers to all of them (decision 26)."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any, cast

import pytest
from pydantic import SecretStr

from shared.codes.notice import written
from shared.errors import LeaseOver, OutcomeUnknown, TrackerError
from shared.tracker import client as client_module
from shared.tracker.answers import Answer
from shared.tracker.client import CallRecord, Exchange, Target, TrackerClient
from tests.support.waiting import until
from tests.support.wire import WireServer, answer
from worker.runtime.exchanges import Exchanges
from worker.runtime.scheduler import CallerThreads, Outcome, RunningTicket, Scheduler, Threads
from worker.ticket.steps import Step

PATIENCE_S = 30.0
CREATED = answer(b'{"issue": {"id": 1}}', "201 Created", "Content-Type: application/json")
REFUSED = answer(b'{"errors": ["no"]}', "422 Unprocessable", "Content-Type: application/json")
USERS = answer(b'{"users": []}', "200 OK", "Content-Type: application/json")
PAGE = answer(b"<html>please wait</html>", "200 OK", "Content-Type: text/html")


class Tracker:
    """A tracker that answers each request as its address says: at once, slowly, in pieces, or never."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.let_go = threading.Event()
        self.server = WireServer(self._serve, tls)

    def _serve(self, server: WireServer, connection: socket.socket, _number: int) -> None:
        while request := server.read_request(connection):
            path = request.split(b" ")[1]
            if path == b"/slow":
                self.let_go.wait(PATIENCE_S)
            if path == b"/never":
                server.ended.wait(PATIENCE_S)
                return
            if path == b"/cut":
                connection.sendall(CREATED[:-3])
                return
            found = {b"/refused": REFUSED, b"/page": PAGE, b"/users.json?limit=1": USERS}.get(path, CREATED)
            if path == b"/pieces":
                for at in range(len(found)):
                    connection.sendall(found[at : at + 1])
                continue
            connection.sendall(found)


class Post(Step[Answer]):
    """Sends to an address, and notes in which thread it went on."""

    calls = True

    def __init__(self, client: TrackerClient, path: str, before_send: Any = lambda: None) -> None:
        self._client, self._path, self._before_send = client, path, before_send
        self.records = list[CallRecord]()
        self.thread = ""

    def send_first(self) -> Exchange | None:
        return self._client.begin("POST", self._path, {"a": 1}, "alice", self._before_send)

    def carry_out(self, begun: Exchange | None = None) -> Answer:
        self.thread = threading.current_thread().name.split("-")[0]
        return self._client.call(
            "POST",
            self._path,
            body={"a": 1},
            login="alice",
            before_send=self._before_send,
            observe=self.records.append,
            begun=begun,
        )


class Stage:
    """Callers, and what came of what they were handed."""

    def __init__(self, tracker: Tracker, callers: int, timeout: float) -> None:
        self.client = TrackerClient(
            Target(tracker.server.url, SecretStr("key"), verify_tls=False), timeout=timeout
        )
        self.callers = CallerThreads(callers)
        self._came, self._change = dict[int, Outcome](), threading.Condition()

    def hand(self, number: int, post: Post) -> Post:
        async def workflow() -> Answer:
            return await post

        going = RunningTicket(number, workflow())
        self.callers.carry_out(going, going.workflow.send(None), self._arrive)
        return post

    def _arrive(self, going: RunningTicket, outcome: Outcome) -> None:
        going.workflow.close()
        with self._change:
            self._came[going.ticket_id] = outcome
            self._change.notify_all()

    def outcome(self, number: int) -> Outcome:
        with self._change:
            assert self._change.wait_for(lambda: number in self._came, PATIENCE_S)
            return self._came.pop(number)

    def connect(self, count: int) -> None:
        """Have so many connections kept."""
        here = threading.Barrier(count)
        for number in range(count):
            self.hand(number, Post(self.client, "/", lambda: here.wait(PATIENCE_S)))
        for number in range(count):
            assert self.outcome(number).error is None

    def close(self) -> None:
        self.callers.close()
        self.client.close()


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tracker]:
    monkeypatch.setattr(client_module, "IDLE_S", 600.0)
    made = Tracker()
    with made.server:
        yield made
        made.let_go.set()


@pytest.fixture
def stage(tracker: Tracker) -> Iterator[Stage]:
    with closing(Stage(tracker, callers=4, timeout=PATIENCE_S)) as made:
        yield made


def test_the_first_call_connects_in_a_thread_and_those_after_it_take_none(stage: Stage) -> None:
    posts = list[Post]()
    for number in range(3):
        posts.append(stage.hand(number, Post(stage.client, "/")))
        answered = stage.outcome(number)
        assert answered.error is None
        assert answered.result.object("issue") == {"id": 1}
    assert [one.thread for one in posts] == ["caller", "exchanges", "exchanges"]
    assert [len(one.records) for one in posts] == [1, 1, 1]


def test_each_request_is_sent_once(stage: Stage, tracker: Tracker) -> None:
    stage.connect(4)
    for number in range(40):
        stage.hand(number, Post(stage.client, f"/{number}"))
    assert all(stage.outcome(number).error is None for number in range(40))
    sent = [one.split(b" ")[1].decode() for one in tracker.server.requests if not one.startswith(b"POST / ")]
    assert sorted(sent, key=lambda one: int(one[1:])) == [f"/{number}" for number in range(40)]
    assert tracker.server.connections == 4


def test_a_slow_answer_holds_up_nobody_else(stage: Stage, tracker: Tracker) -> None:
    stage.connect(2)
    stage.hand(1, Post(stage.client, "/slow"))
    for number in range(2, 10):
        stage.hand(number, Post(stage.client, "/"))
        assert stage.outcome(number).error is None
    tracker.let_go.set()
    assert stage.outcome(1).error is None


def test_no_more_are_under_way_than_may_be(stage: Stage, tracker: Tracker) -> None:
    stage.connect(4)
    stage.callers.allow(2)
    for number in range(4):
        stage.hand(number, Post(stage.client, "/slow"))

    def sent() -> int:
        return sum(one.startswith(b"POST /slow") for one in tracker.server.requests)

    until(lambda: sent() == 2)
    time.sleep(0.2)
    assert sent() == 2
    tracker.let_go.set()
    assert all(stage.outcome(number).error is None for number in range(4))


@pytest.mark.parametrize(
    ("path", "error", "calls"),
    [("/refused", TrackerError, 1), ("/cut", OutcomeUnknown, 1), ("/page", OutcomeUnknown, 2)],
)
def test_whatever_leaves_something_to_be_asked_goes_on_in_a_thread(
    stage: Stage, path: str, error: type[TrackerError], calls: int
) -> None:
    """To ask takes another call, for which nobody else's answer waits."""
    stage.connect(1)
    post = stage.hand(1, Post(stage.client, path))
    assert isinstance(stage.outcome(1).error, error)
    assert post.thread == "caller"
    assert len(post.records) == calls
    stage.hand(2, Post(stage.client, "/"))
    assert stage.outcome(2).error is None


def test_an_answer_in_pieces_is_one(stage: Stage) -> None:
    stage.connect(1)
    post = stage.hand(1, Post(stage.client, "/pieces"))
    assert stage.outcome(1).result.object("issue") == {"id": 1}
    assert post.thread == "exchanges"


def test_what_may_not_be_sent_any_more_is_not(stage: Stage, tracker: Tracker) -> None:
    def stop() -> None:
        raise LeaseOver(written("over"))

    stage.connect(1)
    before = len(tracker.server.requests)
    post = stage.hand(1, Post(stage.client, "/", stop))
    assert isinstance(stage.outcome(1).error, LeaseOver)
    assert len(tracker.server.requests) == before
    assert post.thread == "caller"
    stage.hand(2, Post(stage.client, "/"))
    assert stage.outcome(2).error is None


def test_a_call_without_an_answer_ends_with_its_time(tracker: Tracker) -> None:
    with closing(Stage(tracker, callers=2, timeout=1.5)) as stage:
        stage.connect(2)
        began = time.monotonic()
        stage.hand(1, Post(stage.client, "/never"))
        stage.hand(2, Post(stage.client, "/never"))
        found = [stage.outcome(number).error for number in (1, 2)]
        assert all(isinstance(one, OutcomeUnknown) for one in found)
        assert 1.4 < time.monotonic() - began < 10
        stage.hand(3, Post(stage.client, "/"))
        assert stage.outcome(3).error is None


def test_what_may_be_sent_only_when_its_time_is_over_is_not(tracker: Tracker) -> None:
    with closing(Stage(tracker, callers=1, timeout=0.5)) as stage:
        stage.connect(1)
        before = len(tracker.server.requests)
        stage.hand(1, Post(stage.client, "/", lambda: time.sleep(0.6)))
        assert isinstance(stage.outcome(1).error, OutcomeUnknown)
        assert len(tracker.server.requests) == before


class Late:
    """Stands for an exchange that is never over by itself."""

    def __init__(self, sock: socket.socket, seconds: float) -> None:
        self.connection, self.until, self.has_come = sock, time.monotonic() + seconds, threading.Event()

    def look(self) -> bool:
        self.connection.recv(10)
        self.has_come.set()
        return True


def test_an_answer_that_comes_when_nobody_waits_any_more_harms_nobody() -> None:
    exchanges, told = Exchanges(), threading.Semaphore(0)
    pairs = [socket.socketpair() for _ in range(2)]
    first, second = (Late(ours, seconds) for (ours, _), seconds in zip(pairs, (0.05, 60.0), strict=True))
    exchanges.wait_for(cast(Exchange, first), told.release)
    assert told.acquire(timeout=PATIENCE_S)
    pairs[0][1].sendall(b"late")
    time.sleep(0.1)
    exchanges.wait_for(cast(Exchange, second), told.release)
    pairs[1][1].sendall(b"in time")
    assert told.acquire(timeout=PATIENCE_S)
    assert not first.has_come.is_set()
    exchanges.close()
    for one in [one for pair in pairs for one in pair]:
        one.close()


def test_a_process_in_which_nobody_sees_to_what_is_late_is_stuck(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_WAIT_S", 0.0)
    monkeypatch.setattr(Exchanges, "_end_what_is_late", lambda _: None)
    with closing(Stage(tracker, callers=1, timeout=0.5)) as stage:
        scheduler = Scheduler(lambda _: pytest.fail("no ticket comes"), stage.callers)
        stage.connect(1)
        assert scheduler.stuck_since is None
        stage.hand(1, Post(stage.client, "/never"))
        until(lambda: scheduler.stuck_since is not None)


def test_a_large_request_that_nobody_reads_at_once_leaves_as_a_whole(stage: Stage, tracker: Tracker) -> None:
    """What the system does not take at once, a thread sends: nobody else waits for it."""
    content, checks = {"a": "x" * 8_000_000}, list[bool]()

    class Large(Post):
        was_on_its_way = True

        def send_first(self) -> Exchange | None:
            check = partial(checks.append, True)
            begun = self._client.begin("POST", "/", content, "alice", check)
            self.was_on_its_way = begun is not None and begun.is_on_its_way
            return begun

    stage.connect(1)
    post = Large(stage.client, "/")
    stage.hand(1, post)
    assert stage.outcome(1).error is None
    assert not post.was_on_its_way
    assert post.thread == "caller"
    assert json.loads(tracker.server.requests[-1].partition(b"\r\n\r\n")[2]) == content
    assert len(checks) == 1
    stage.hand(2, Post(stage.client, "/"))
    assert stage.outcome(2).error is None
    assert json.loads(tracker.server.requests[-1].partition(b"\r\n\r\n")[2]) == {"a": 1}
    assert tracker.server.connections == 1


@pytest.mark.parametrize("path", ["/", "/pieces"])
def test_tls_is_no_other_way(tls_context: ssl.SSLContext, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "IDLE_S", 600.0)
    tracker = Tracker(tls_context)
    with tracker.server, closing(Stage(tracker, callers=2, timeout=PATIENCE_S)) as stage:
        stage.connect(2)
        posts = [stage.hand(number, Post(stage.client, path)) for number in range(6)]
        assert all(stage.outcome(number).error is None for number in range(6))
        assert [one.thread for one in posts] == ["exchanges"] * 6
        assert tracker.server.connections == 2


def test_where_the_system_has_no_thread_left_one_that_runs_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, done = threading.Event(), threading.Semaphore(0)

    def do(number: int) -> None:
        assert number or go_on.wait(PATIENCE_S)
        done.release()

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = Threads("test", 2, do)
    threads.put(0)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        threads.put(1)
    go_on.set()
    assert done.acquire(timeout=PATIENCE_S)
    assert done.acquire(timeout=PATIENCE_S)
    threads.end()
