"""Calls that a worker makes on its event loop: none uses a thread, and none delays another."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from shared.errors import LeaseExpired, OutcomeUnknown, TrackerError, TrackerUnreachable
from shared.notices.notice import written
from shared.tracker.answers import Answer
from shared.tracker.client import CallRecord, Request, Target, TrackerClient
from tests.integration.tracker_calls import idle
from tests.support.waiting import until
from tests.support.wire import WireServer, answer
from worker.runtime.scheduler import Limit, Scheduler
from worker.ticket.steps import TrackerCall

PATIENCE_S = 30.0
LOOP = "scheduler"
"""The name of the event loop's thread."""
CREATED = answer(b'{"issue": {"id": 1}}', "201 Created", "Content-Type: application/json")
REFUSED = answer(b'{"errors": ["no"]}', "422 Unprocessable", "Content-Type: application/json")
USERS = answer(b'{"users": []}', "200 OK", "Content-Type: application/json")
PAGE = answer(b"<html>please wait</html>", "200 OK", "Content-Type: text/html")


class Tracker:
    """A tracker that answers each request as its path says: at once, slowly, in pieces, or never."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.let_go = threading.Event()
        self.all_here = threading.Barrier(1)
        self.server = WireServer(self._serve, tls)

    def _serve(self, server: WireServer, connection: socket.socket, _number: int) -> None:
        while request := server.read_request(connection):
            path = request.split(b" ")[1]
            if path == b"/all":
                self.all_here.wait(PATIENCE_S)
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


class Post(TrackerCall):
    """A request and its results.

    Attributes:
        records: the calls made for it.
        threads: the threads that made it.
    """

    def __init__(self, client: TrackerClient, path: str, **options: Any) -> None:
        self.records, self.threads = list[CallRecord](), list[str]()
        options = {"body": {"a": 1}, "login": "alice", "observe": self.records.append, **options}
        super().__init__(client, Request("POST", path, **options))

    def carry_out(self) -> Answer:
        self.threads.append(threading.current_thread().name.split("_")[0])
        return super().carry_out()

    async def send(self) -> Answer:
        self.threads.append(threading.current_thread().name.split("_")[0])
        return await super().send()


class Stage:
    """A scheduler whose workflows make one request each, and the results."""

    def __init__(
        self, tracker: Tracker, calls: int, timeout: float, rate_limiter: Callable[[], float] | None = None
    ) -> None:
        self._tracker = tracker
        target = Target(tracker.server.url, SecretStr("key"), verify_tls=False)
        self.client = TrackerClient(target, rate_limiter=rate_limiter, timeout=timeout)
        self.limit = SimpleNamespace(size=calls, want=lambda: None)
        self._posts, self._came = dict[int, Post](), dict[int, Answer | Exception]()
        self.scheduler = Scheduler(self._workflow, calls, limit=cast(Limit, self.limit))
        self.scheduler.start()

    def hand(self, number: int, made: Post) -> Post:
        """Give a request to the scheduler."""
        self._posts[number] = made
        self.scheduler.take([number])
        return made

    def error(self, number: int) -> Exception | None:
        """Return the error of a request once it has ended, or None if it has an answer."""
        found = self._over(number)
        return found if isinstance(found, Exception) else None

    def answer(self, number: int) -> Answer:
        """Return the answer to a request."""
        found = self._over(number)
        assert not isinstance(found, Exception), found
        return found

    def connect(self, count: int) -> None:
        """Open that many connections and keep them alive."""
        self._tracker.all_here = threading.Barrier(count)
        for number in range(count):
            self.hand(number, Post(self.client, "/all"))
        for number in range(count):
            self.answer(number)

    def close(self) -> None:
        """Close the scheduler."""
        self.scheduler.close()

    async def _workflow(self, number: int) -> None:
        try:
            self._came[number] = await self._posts[number]
        except Exception as error:  # noqa: BLE001 (the test looks at it)
            self._came[number] = error

    def _over(self, number: int) -> Answer | Exception:
        until(lambda: number in self._came and number not in self.scheduler.running, seconds=PATIENCE_S)
        return self._came.pop(number)


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    made = Tracker()
    with made.server, idle(600.0):
        yield made
        made.let_go.set()


@pytest.fixture
def stage(tracker: Tracker) -> Iterator[Stage]:
    with closing(Stage(tracker, calls=4, timeout=PATIENCE_S)) as made:
        yield made


def test_no_call_takes_a_thread(stage: Stage) -> None:
    posts, before = list[Post](), set(threading.enumerate())
    for number in range(3):
        posts.append(stage.hand(number, Post(stage.client, "/")))
        assert stage.answer(number).object("issue") == {"id": 1}
    assert [one.threads for one in posts] == [[LOOP], [LOOP], [LOOP]]
    assert [len(one.records) for one in posts] == [1, 1, 1]
    ours = {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("call")}
    assert not ours


def test_each_request_is_sent_once(stage: Stage, tracker: Tracker) -> None:
    stage.connect(4)
    for number in range(40):
        stage.hand(number, Post(stage.client, f"/{number}"))
    assert all(stage.error(number) is None for number in range(40))
    sent = [
        one.split(b" ")[1].decode() for one in tracker.server.requests if not one.startswith(b"POST /all ")
    ]
    assert sorted(sent, key=lambda one: int(one[1:])) == [f"/{number}" for number in range(40)]
    assert tracker.server.connections == 4


def test_a_slow_answer_holds_up_nobody_else(stage: Stage, tracker: Tracker) -> None:
    stage.connect(2)
    stage.hand(1, Post(stage.client, "/slow"))
    for number in range(2, 10):
        stage.hand(number, Post(stage.client, "/"))
        assert stage.error(number) is None
    tracker.let_go.set()
    assert stage.error(1) is None


def test_no_more_are_under_way_than_may_be(stage: Stage, tracker: Tracker) -> None:
    stage.connect(4)
    stage.limit.size = 2
    for number in range(4):
        stage.hand(number, Post(stage.client, "/slow"))

    def sent() -> int:
        return sum(one.startswith(b"POST /slow") for one in tracker.server.requests)

    until(lambda: sent() == 2)
    time.sleep(0.2)
    assert sent() == 2
    tracker.let_go.set()
    assert all(stage.error(number) is None for number in range(4))


@pytest.mark.parametrize(
    ("path", "error", "calls"),
    [("/refused", TrackerError, 1), ("/cut", OutcomeUnknown, 1), ("/page", OutcomeUnknown, 2)],
)
def test_whatever_leaves_something_to_be_asked_is_asked_on_the_loop_too(
    stage: Stage, path: str, error: type[TrackerError], calls: int
) -> None:
    made = stage.hand(1, Post(stage.client, path))
    assert isinstance(stage.error(1), error)
    assert made.threads == [LOOP]
    assert len(made.records) == calls
    stage.hand(2, Post(stage.client, "/"))
    assert stage.error(2) is None


def test_a_call_that_waits_for_its_turn_holds_up_nobody_else(tracker: Tracker) -> None:
    """Neither the query for a turn nor the wait for it blocks the loop."""
    asked = threading.Event()

    def slow() -> float:
        asked.set()
        tracker.let_go.wait(PATIENCE_S)
        return 0.1

    with closing(Stage(tracker, 4, PATIENCE_S, slow)) as stage:
        stage.hand(1, Post(stage.client, "/"))
        assert asked.wait(PATIENCE_S)
        for number in range(2, 6):
            stage.hand(number, Post(stage.client, "/", has_waited=True))
            assert stage.error(number) is None
        tracker.let_go.set()
        assert stage.error(1) is None


def test_a_name_that_is_looked_up_for_long_holds_up_nobody_else(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, look_up = threading.Event(), socket.getaddrinfo

    def slowly(host: str, *others: Any, **options: Any) -> Any:
        if host == "tracker.test":
            asked.set()
            tracker.let_go.wait(PATIENCE_S)
        return look_up("127.0.0.1", *others, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    with closing(Stage(tracker, 4, PATIENCE_S)) as stage:
        named = Target(f"http://tracker.test:{tracker.server.port}", SecretStr("key"))
        stage.hand(1, Post(TrackerClient(named, timeout=PATIENCE_S), "/"))
        assert asked.wait(PATIENCE_S)
        for number in range(2, 6):
            stage.hand(number, Post(stage.client, "/"))
            assert stage.error(number) is None
        tracker.let_go.set()
        assert stage.error(1) is None


def test_an_answer_in_pieces_is_one(stage: Stage) -> None:
    stage.connect(1)
    made = stage.hand(1, Post(stage.client, "/pieces"))
    assert stage.answer(1).object("issue") == {"id": 1}
    assert made.threads == [LOOP]


def test_what_may_not_be_sent_any_more_is_not(stage: Stage, tracker: Tracker) -> None:
    def stop() -> None:
        raise LeaseExpired(written("over"))

    stage.connect(1)
    before = len(tracker.server.requests)
    made = stage.hand(1, Post(stage.client, "/", before_send=stop))
    assert isinstance(stage.error(1), LeaseExpired)
    assert len(tracker.server.requests) == before
    assert made.threads == [LOOP]
    stage.hand(2, Post(stage.client, "/"))
    assert stage.error(2) is None


def test_a_call_without_an_answer_ends_with_its_time(tracker: Tracker) -> None:
    with closing(Stage(tracker, calls=2, timeout=1.5)) as stage:
        stage.connect(2)
        began = time.monotonic()
        stage.hand(1, Post(stage.client, "/never"))
        stage.hand(2, Post(stage.client, "/never"))
        found = [stage.error(number) for number in (1, 2)]
        assert all(isinstance(one, OutcomeUnknown) for one in found)
        assert 1.4 < time.monotonic() - began < 10
        stage.hand(3, Post(stage.client, "/"))
        assert stage.error(3) is None


def test_what_may_be_sent_only_when_its_time_is_over_is_not(tracker: Tracker) -> None:
    with closing(Stage(tracker, calls=1, timeout=0.5)) as stage:
        stage.connect(1)
        before = len(tracker.server.requests)
        stage.hand(1, Post(stage.client, "/", before_send=lambda: time.sleep(0.6)))
        assert isinstance(stage.error(1), TrackerUnreachable)
        assert len(tracker.server.requests) == before


@pytest.mark.filterwarnings(
    "ignore:Sending a large body"
)  # it does not block: the rest waits in the transport
def test_a_large_request_that_nobody_reads_at_once_leaves_as_a_whole(stage: Stage, tracker: Tracker) -> None:
    content, checks = {"a": "x" * 8_000_000}, list[bool]()
    stage.connect(1)
    large = Post(stage.client, "/", before_send=partial(checks.append, True), body=content)
    stage.hand(1, large)
    assert stage.error(1) is None
    assert large.threads == [LOOP]
    assert json.loads(tracker.server.requests[-1].partition(b"\r\n\r\n")[2]) == content
    assert len(checks) == 1
    stage.hand(2, Post(stage.client, "/"))
    assert stage.error(2) is None
    assert json.loads(tracker.server.requests[-1].partition(b"\r\n\r\n")[2]) == {"a": 1}
    assert tracker.server.connections == 1


@pytest.mark.parametrize("path", ["/", "/pieces"])
def test_tls_is_no_other_way(tls_context: ssl.SSLContext, path: str) -> None:
    tracker = Tracker(tls_context)
    with tracker.server, idle(600.0), closing(Stage(tracker, calls=2, timeout=PATIENCE_S)) as stage:
        stage.connect(2)
        posts = [stage.hand(number, Post(stage.client, path)) for number in range(6)]
        assert all(stage.error(number) is None for number in range(6))
        assert [one.threads for one in posts] == [[LOOP]] * 6
        assert tracker.server.connections == 2
