"""Clients that are slow on purpose: each costs little, for a short time, and never keeps an honest one out."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

import pytest

from producer.hooks import app as app_module
from producer.hooks.intake import deliveries
from producer.web import connections
from producer.web.bodies import Bodies
from shared.events import Delivery
from tests.integration.producer.conftest import Run, RunningProducer
from tests.support.events import task_event

SOON_S = 0.4
ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


class Client:
    """A connection to the producer, byte by byte."""

    def __init__(self, producer: RunningProducer) -> None:
        host, port = producer.base_url.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=5)
        self.said = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def drip(self, seconds: float, piece: bytes = b" ") -> bytes:
        """Send a piece now and then until the other side has had enough; return what it said."""
        self._socket.settimeout(0.05)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                self._socket.sendall(piece)
                return self.rest()
            except TimeoutError:
                continue
            except OSError:
                return self.said
        raise AssertionError(f"still open after {seconds} s")

    def rest(self) -> bytes:
        """Return what comes until the other side closes; TimeoutError while it does not."""
        with suppress(ConnectionError):
            while piece := self._socket.recv(65536):
                self.said += piece
        return self.said


def quick(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Have bodies read with these limits."""
    monkeypatch.setattr(app_module, "Bodies", partial(Bodies, **{"seconds": SOON_S, **limits}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "announced", [b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
def test_a_body_that_trickles_is_cut_off_and_told_why(
    run: Run, monkeypatch: pytest.MonkeyPatch, announced: bytes
) -> None:
    quick(monkeypatch)
    with Client(run()) as client:
        client.send(HEAD + announced)
        said = client.drip(3, b"1\r\n \r\n" if b"chunked" in announced else b" ")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in said.lower()
    assert b"application/problem+json" in said


def test_whoever_takes_the_longest_makes_room_for_the_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch, seconds=60, most=5)
    producer = run()
    with ExitStack() as stack:
        slow = [stack.enter_context(Client(producer)) for _ in range(12)]
        for client in slow:
            client.send(HEAD + b"Content-Length: 1000\r\n\r\n{")
            time.sleep(0.01)
        started = time.monotonic()
        assert producer.send(task_event()).status_code == 202
        assert time.monotonic() - started < 2
        assert slow[0].drip(2).startswith(b"HTTP/1.1 408 ")
        with pytest.raises(AssertionError, match="still open"):
            slow[-1].drip(0.3)
    assert len(producer.journal()) == 1


def test_a_body_in_many_pieces_is_read_as_long_as_it_comes_in_time(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(HEAD + b"Connection: close\r\nContent-Length: 6\r\n\r\n")
        for piece in b"[1,2]":
            client.send(bytes([piece]))
            time.sleep(0.01)
        client.send(b" ")
        assert client.rest().startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"POST /events HT",
        HEAD,
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /hea",
        b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n",
        HEAD.replace(b"json", b"xml") + b"Content-Length: 9000\r\n\r\n",
    ],
    ids=["silent", "request line", "headers", "second request", "unread body", "refused body"],
)
def test_a_request_that_does_not_arrive_is_cut_off(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", SOON_S)
    with Client(producer) as client:
        client.send(start)
        client.drip(3, b"a" if start else b"")


def test_a_connection_between_two_requests_is_kept(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", 0.2)
    with Client(producer) as client:
        for _ in range(3):
            client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.4)
        client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.rest().count(b"HTTP/1.1 200 ") == 4


@pytest.mark.parametrize(
    "start", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["silent", "between requests"]
)
def test_idle_connections_make_room_for_others(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    with ExitStack() as stack:
        idle = [stack.enter_context(Client(producer)) for _ in range(30)]
        for client in idle:
            with suppress(OSError):
                client.send(start)
        assert producer.send(task_event()).status_code == 202
        idle[0].drip(2, b"")


def test_a_new_connection_does_not_lose_to_old_ones(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(Client(producer))
            client.send(ASK)
            with pytest.raises(AssertionError, match="still open"):
                client.drip(0.1, b"")
            assert client.said.startswith(b"HTTP/1.1 200 ")


def test_a_body_that_says_it_is_too_large_is_not_waited_for(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(HEAD + b"Connection: close\r\nContent-Length: 99999999999\r\n\r\n")
        assert client.rest().startswith(b"HTTP/1.1 413 ")


def test_a_body_that_grows_too_large_without_saying_so_is_refused(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(17):
            client.send(piece)
        with pytest.raises(AssertionError):
            client.drip(0.3, b"")
        assert client.said.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_is_cut_off_keeps_nothing(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(HEAD + b"Content-Length: 1000\r\n\r\n{")
    assert producer.get("/healthz").status_code == 200
    assert producer.journal() == []


def test_a_body_that_takes_long_to_parse_keeps_nobody_waiting(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing, go_on = threading.Event(), threading.Event()

    def slow(body: str, webhook_id: str) -> list[Delivery]:
        parsing.set()
        assert go_on.wait(10)
        return deliveries(body, webhook_id)

    monkeypatch.setattr(app_module, "deliveries", slow)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(producer.send, task_event())
        try:
            assert parsing.wait(5)
            assert producer.http.get(f"{producer.base_url}/healthz", timeout=2).status_code == 200
        finally:
            go_on.set()
        assert answer.result().status_code == 202
