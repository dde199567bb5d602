"""Clients that are slow on purpose each cost little, for a short time, and never lock out an honest client."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

import pytest
import requests
from starlette.types import Message, Scope

from producer.http import connections, readiness
from producer.http.bodies import LARGEST_BODY, MOST_LARGE, Bodies
from producer.http.problems import Problem
from producer.intake import app as app_module
from producer.intake.deliveries import deliveries
from shared.events.delivery import Delivery
from shared.store.tables.database import Database
from tests.integration.producer.conftest import Run, RunningProducer
from tests.support.events import task_event
from tests.support.waiting import until

SOON_S = 0.4
ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
UNSIGNED = b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def head(seconds_ago: float = 0) -> bytes:
    """Return the headers of an event whose signature is well-formed but matches no body."""
    stamp = str(int(time.time() - seconds_ago)).encode()
    signature = b"webhook-signature: v1," + b"A" * 43 + b"=\r\n"
    return UNSIGNED + b"webhook-id: one\r\nwebhook-timestamp: " + stamp + b"\r\n" + signature


class Client:
    """A raw connection to the producer."""

    def __init__(self, producer: RunningProducer) -> None:
        host, port = producer.base_url.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self.said = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def drip(self, seconds: float, piece: bytes = b" ") -> bytes:
        """Send a piece now and then until the server closes the connection; return the answer."""
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

    def is_open(self) -> bool:
        """Tell whether the server has not yet closed the connection."""
        self._socket.settimeout(0.001)
        with suppress(TimeoutError):
            self.rest()
            return False
        return True

    def answer(self) -> bytes:
        """Return the first answer, as soon as it arrives; the server must not close the connection before."""
        until(lambda: self.is_open() and self.said)
        return self.said

    def rest(self) -> bytes:
        """Return everything received until the server closes the connection; TimeoutError while it is open."""
        with suppress(ConnectionError):
            while piece := self._socket.recv(65536):
                self.said += piece
        return self.said


def quick(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Use these limits to read bodies."""
    monkeypatch.setattr(app_module, "Bodies", partial(Bodies, **{"seconds": SOON_S, **limits}))  # type: ignore[arg-type]


@pytest.mark.promise("SEC-11")
@pytest.mark.parametrize(
    "announced", [b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
def test_a_body_that_trickles_is_cut_off_and_told_why(
    run: Run, monkeypatch: pytest.MonkeyPatch, announced: bytes
) -> None:
    quick(monkeypatch)
    with Client(run()) as client:
        client.send(head() + announced)
        said = client.drip(30, b"1\r\n \r\n" if b"chunked" in announced else b" ")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in said.lower()
    assert b"application/problem+json" in said


@pytest.mark.promise("SEC-12")
def test_whoever_takes_the_longest_makes_room_for_the_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch, seconds=60, most=5)
    producer = run()
    with ExitStack() as stack:
        slow = [stack.enter_context(Client(producer)) for _ in range(12)]
        for client in slow:
            client.send(head() + b"Content-Length: 1000\r\n\r\n{")
            time.sleep(0.01)
        started = time.monotonic()
        assert producer.send(task_event()).status_code == 202
        assert time.monotonic() - started < 20, "each of them may take a minute"
        assert slow[0].drip(20).startswith(b"HTTP/1.1 408 ")
        with pytest.raises(AssertionError, match="still open"):
            slow[-1].drip(0.3)
    assert len(producer.journal()) == 1


@pytest.mark.promise("SEC-13")
@pytest.mark.parametrize(
    "headers",
    [UNSIGNED, head(86400), head(-86400), head().replace(b"v1,", b"v2,"), head().replace(b"AAAA=", b"")],
    ids=["unsigned", "old", "of the future", "another version", "no signature"],
)
def test_a_body_that_cannot_be_signed_is_not_waited_for(producer: RunningProducer, headers: bytes) -> None:
    with Client(producer) as client:
        client.send(headers + b"Connection: close\r\nContent-Length: 1000\r\n\r\n{")
        assert client.rest().startswith(b"HTTP/1.1 401 ")


async def _read(
    bodies: Bodies, source: str, pieces: list[tuple[float, bytes]], largest: int = LARGEST_BODY
) -> int:
    """Read a body that arrives in pieces, each after a delay; return the status."""
    scope: Scope = {"type": "http", "headers": [], "client": (source, 1)}

    async def receive() -> Message:
        seconds, piece = pieces.pop(0)
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    try:
        await bodies.read(scope, receive, largest)
    except Problem as problem:
        return problem.status
    return 200


@pytest.mark.promise("SEC-12")
def test_those_who_trickle_push_out_nobody_else() -> None:
    async def together() -> list[int]:
        bodies = Bodies(most=5, seconds=60)
        trickles = [(0.3, b" ")] * 4
        honest = _read(bodies, "192.0.2.1", [(0.2, b"x" * 1000)] * 4)
        crowd = [_read(bodies, "192.0.2.7", list(trickles)) for _ in range(12)]
        return await asyncio.gather(honest, *crowd)

    honest, *crowd = asyncio.run(together())
    assert honest == 200
    assert crowd.count(408) == 8


@pytest.mark.promise("SEC-12")
def test_of_one_address_whoever_sends_makes_no_room_for_those_who_trickle() -> None:
    async def together() -> list[int]:
        bodies = Bodies(most=5, seconds=60)
        honest = asyncio.create_task(_read(bodies, "192.0.2.1", [(0.1, b"x" * 5000)] * 8))
        await asyncio.sleep(0.3)
        crowd = [_read(bodies, "192.0.2.1", [(0.3, b" ")] * 3) for _ in range(12)]
        return await asyncio.gather(honest, *crowd)

    assert asyncio.run(together())[0] == 200


@pytest.mark.promise("SEC-12")
def test_only_some_large_bodies_are_read_at_once_and_small_ones_go_on() -> None:
    """Of the large ones, those that fall behind most make room."""
    most = MOST_LARGE * LARGEST_BODY

    async def together() -> list[int]:
        bodies = Bodies(seconds=60)
        large = [(0.0, b" " * (LARGEST_BODY + 1)), *[(0.2, b" ")] * 5]
        slow = [_read(bodies, "192.0.2.7", list(large), most) for _ in range(MOST_LARGE + 3)]
        honest = _read(bodies, "192.0.2.1", [(0.05, b" " * 300_000)] * 6, most)
        return await asyncio.gather(_read(bodies, "192.0.2.7", [(0.2, b"x")] * 4), honest, *slow)

    small, honest, *slow = asyncio.run(together())
    assert (small, honest) == (200, 200)
    assert slow.count(408) >= 3


@pytest.mark.promise("SEC-14")
def test_many_who_ask_whether_it_is_ready_delay_nobody(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, go_on = [], threading.Event()

    def takes_writes(_self: Database) -> bool:
        looks.append(1)
        return go_on.wait(60)

    producer = run()
    monkeypatch.setattr(Database, "takes_writes", takes_writes)
    monkeypatch.setattr(readiness, "FRESH_S", 600.0)  # also for requests that come late
    with ThreadPoolExecutor(60) as threads:
        url = f"{producer.base_url}/readyz"
        asked = [threads.submit(requests.get, url, timeout=60) for _ in range(60)]
        try:
            assert producer.send(task_event()).status_code == 202
        finally:
            go_on.set()
        assert {one.result().status_code for one in asked} == {200}
    assert len(looks) == 1


def test_a_body_in_many_pieces_is_read_as_long_as_it_comes_in_time(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(head() + b"Connection: close\r\nContent-Length: 6\r\n\r\n")
        for piece in b"[1,2]":
            client.send(bytes([piece]))
            time.sleep(0.01)
        client.send(b" ")
        assert client.rest().startswith(b"HTTP/1.1 401 ")


@pytest.mark.promise("SEC-15")
@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"POST /events HT",
        UNSIGNED,
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /hea",
        b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n",
        UNSIGNED.replace(b"json", b"xml") + b"Content-Length: 9000\r\n\r\n",
    ],
    ids=["silent", "request line", "headers", "second request", "unread body", "refused body"],
)
def test_a_request_that_does_not_arrive_is_cut_off(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", SOON_S)
    with Client(producer) as client:
        with suppress(ConnectionError):  # cut off before sending anything
            client.send(start)
        client.drip(30, b"a" if start else b"")


def test_a_connection_between_two_requests_is_kept(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", 1.0)
    with Client(producer) as client:
        for _ in range(3):
            client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(1.2)
        client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.rest().count(b"HTTP/1.1 200 ") == 4


@pytest.mark.promise("SEC-18")
@pytest.mark.parametrize(
    "start", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["silent", "between requests"]
)
def test_idle_connections_make_room_for_others(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(connections, "GRACE_S", 1.0)
    with ExitStack() as stack:
        idle = [stack.enter_context(Client(producer)) for _ in range(30)]
        for client in idle:
            with suppress(OSError):
                client.send(start)
        if start:
            until(lambda: all(client.said or not client.is_open() for client in idle))
        assert producer.send(task_event()).status_code == 202
        until(lambda: sum(client.is_open() for client in idle) <= 8)


@pytest.mark.promise("SEC-18")
def test_a_new_connection_does_not_lose_to_old_ones(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(Client(producer))
            client.send(ASK)
            assert client.answer().startswith(b"HTTP/1.1 200 ")
            with pytest.raises(AssertionError, match="still open"):
                client.drip(0.1, b"")


@pytest.mark.promise("SEC-08")
def test_a_body_that_says_it_is_too_large_is_not_waited_for(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(head() + b"Connection: close\r\nContent-Length: 99999999999\r\n\r\n")
        assert client.rest().startswith(b"HTTP/1.1 413 ")


@pytest.mark.promise("SEC-08")
def test_a_body_that_grows_too_large_without_saying_so_is_refused(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(head() + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(17):
            client.send(piece)
        assert client.answer().startswith(b"HTTP/1.1 413 ")


def test_a_body_that_is_cut_off_keeps_nothing(producer: RunningProducer) -> None:
    with Client(producer) as client:
        client.send(head() + b"Content-Length: 1000\r\n\r\n{")
    assert producer.get("/healthz").status_code == 200
    assert producer.journal() == []


@pytest.mark.promise("SEC-10")
def test_a_body_that_takes_long_to_parse_keeps_nobody_waiting(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsing, go_on = threading.Event(), threading.Event()

    def slow(body: str, webhook_id: str) -> list[Delivery]:
        parsing.set()
        assert go_on.wait(60)
        return deliveries(body, webhook_id)

    monkeypatch.setattr(app_module, "deliveries", slow)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(producer.send, task_event(extra="x" * app_module.EVENT_BYTES))
        try:
            assert parsing.wait(30)
            assert producer.http.get(f"{producer.base_url}/healthz", timeout=30).status_code == 200
        finally:
            go_on.set()
        assert answer.result().status_code == 202
