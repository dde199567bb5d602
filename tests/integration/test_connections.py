"""How connections are served, for any application: no client locks others out by holding connections."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from ipaddress import ip_network
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from producer.http import connections
from tests.support.serving import Served
from tests.support.siege import SMALL_BUFFER, Siege

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
NOBODY = b"127.0.0.1"
NEIGHBOUR = "127.0.0.2"
MUCH = 16 * 1024 * 1024
"""More of an answer than a connection's buffers can hold if the client does not read."""


class Application:
    """Answers with the client's address: at once, after a delay, or when released."""

    def __init__(self) -> None:
        self.answer: bytes | None = None
        self.seconds = 0.0
        self.is_held = False
        self.patience: float | None = None
        self.served = 0

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError("no lifespan")
        self.served += 1
        if self.patience:
            scope["state"][connections.KNOWN] = self.patience
        await asyncio.sleep(self.seconds)
        while self.is_held:
            await asyncio.sleep(0.01)
        body = self.answer if self.answer is not None else scope["client"][0].encode()
        start: Message = {"type": "http.response.start", "status": 200, "headers": []}
        start["headers"] = [(b"content-length", str(len(body)).encode())]
        await send(start)
        await send({"type": "http.response.body", "body": body})


Run = Callable[..., tuple[Application, "Clients"]]


class Clients:
    """Connections to one server."""

    def __init__(self, served: Served) -> None:
        self.host, port = served.base_url.removeprefix("http://").split(":")
        self.port = int(port)
        self.stack = ExitStack()

    def open(self, asks: bytes = b"", source: str = "127.0.0.1", buffer: int = SMALL_BUFFER) -> socket.socket:
        one = self.stack.enter_context(closing(socket.socket()))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        one.bind((source, 0))
        one.settimeout(30)
        one.connect((self.host, self.port))
        one.sendall(asks)
        return one

    def ask(self, source: str = "127.0.0.1", more: bytes = b"") -> bytes:
        return rest(self.open(LAST.replace(b"Host: x", b"Host: x" + more), source))


def rest(one: socket.socket) -> bytes:
    """Return everything received until the server closes the connection."""
    said = b""
    while piece := one.recv(65536):
        said += piece
    return said


def is_cut(one: socket.socket, within: float = 30.0) -> bool:
    """Tell whether the server closes the connection, without reading what it has sent."""
    deadline = time.monotonic() + within
    one.settimeout(0)
    while time.monotonic() < deadline:
        try:
            one.send(b"")
            if one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return True
            if one.recv(1, socket.MSG_PEEK) == b"":
                return True
        except BlockingIOError:
            pass
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "GRACE_S", 0.2)


@pytest.fixture
def run() -> Iterator[Run]:
    with ExitStack() as stack:

        def start(proxies: tuple[Any, ...] = ()) -> tuple[Application, Clients]:
            application = Application()
            served = Served(application, proxies)
            served.start()
            stack.callback(served.stop)
            clients = Clients(served)
            stack.callback(clients.stack.close)
            return application, clients

        yield start


@pytest.mark.promise("SEC-17")
def test_many_who_ask_and_never_read_lock_nobody_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 50)
    application, clients = run()
    application.answer = b"x" * 10_000
    over = threading.Event()
    siege = Siege(clients.host, clients.port, connections=60, requests=500, path="/")
    besieger = threading.Thread(target=siege.lay, args=(over.is_set,))
    besieger.start()
    try:
        while application.served < 60:
            time.sleep(0.01)
        for _ in range(5):
            started = time.monotonic()
            assert clients.ask().startswith(b"HTTP/1.1 200 ")
            assert time.monotonic() - started < 20, "whoever never reads is given half a minute"
    finally:
        over.set()
        besieger.join()


@pytest.mark.promise("SEC-16")
def test_an_answer_that_nobody_takes_is_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", 0.2)
    monkeypatch.setattr(connections, "ANSWER_S", 0.5)
    application, clients = run()
    application.answer = b"x" * MUCH
    started = time.monotonic()
    deaf = clients.open(ASK)
    deaf.settimeout(0.1)
    while time.monotonic() - started < 25:
        try:
            deaf.sendall(b"GET")
        except TimeoutError:
            continue
        except OSError:
            break
        time.sleep(0.05)
    assert 0.4 < time.monotonic() - started < 25, "it would be half a minute without the limit"


def test_an_answer_that_is_taken_slowly_but_in_time_arrives_as_a_whole(run: Run) -> None:
    application, clients = run()
    application.answer = b"x" * (MUCH // 4)
    slow = clients.open(LAST, buffer=1024 * 1024)
    time.sleep(0.3)
    assert len(rest(slow)) > MUCH // 4


@pytest.mark.promise("SEC-17")
def test_whoever_sends_the_next_request_before_the_answer_gets_one_answer(run: Run) -> None:
    application, clients = run()
    assert rest(clients.open(ASK * 3)).count(b"HTTP/1.1 200 ") == 1
    assert application.served == 1


def test_requests_one_after_the_other_share_a_connection(run: Run) -> None:
    application, clients = run()
    one = clients.open()
    for _ in range(3):
        one.sendall(ASK)
        said = b""
        while not said.endswith(NOBODY):
            said += one.recv(65536)
        assert said.startswith(b"HTTP/1.1 200 ")
    assert application.served == 3


@pytest.mark.promise("SEC-16")
def test_what_takes_long_is_cut_unless_the_application_said_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", 0.1)
    monkeypatch.setattr(connections, "ANSWER_S", 0.2)
    application, clients = run()
    application.seconds = 0.6
    assert is_cut(clients.open(ASK))
    monkeypatch.setattr(connections, "ARRIVAL_S", 1.0)
    application.seconds, application.patience = 1.6, 60
    assert clients.ask().startswith(b"HTTP/1.1 200 ")


@pytest.mark.promise("SEC-18")
def test_an_address_has_its_share_and_pushes_out_nobody_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 5)
    _, clients = run()
    slow = clients.open(b"GET / HT", NEIGHBOUR)
    crowd = [clients.open() for _ in range(12)]
    assert all(is_cut(one) for one in crowd[:7])
    assert not any(is_cut(one, within=0.05) for one in [slow, *crowd[7:]])


@pytest.mark.promise("SEC-18")
def test_where_all_are_too_many_the_largest_crowd_makes_room(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    _, clients = run()
    slow = clients.open(b"GET / HT", NEIGHBOUR)
    crowd = [clients.open(source="127.0.0.3") for _ in range(7)]
    newest = clients.open()
    assert is_cut(crowd[0])
    assert not any(is_cut(one, within=0.05) for one in [slow, newest, *crowd[1:]])


@pytest.mark.promise("SEC-18")
def test_whoever_is_being_served_is_not_cut_for_a_newcomer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    application, clients = run()
    application.is_held = True
    served = [clients.open(LAST) for _ in range(6)]
    while application.served < 6:
        time.sleep(0.005)
    assert is_cut(clients.open(), within=15), "twice as many as there may be, and all of them are served"
    application.is_held = False
    assert all(rest(one).startswith(b"HTTP/1.1 200 ") for one in served)


@pytest.mark.promise("SEC-18")
@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["at once", "in two waves"])
def test_those_whom_the_application_knows_make_room_last(
    run: Run, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 3)
    monkeypatch.setattr(connections, "GRACE_S", 1.0)
    application, clients = run()
    application.patience = 60
    known = clients.open(ASK)
    assert known.recv(65536)
    crowd = [clients.open() for _ in range(3)]
    time.sleep(seconds)
    crowd += [clients.open() for _ in range(3)]
    assert all(is_cut(one) for one in crowd[:4])
    known.sendall(LAST)
    assert b"HTTP/1.1 200 " in rest(known)


@pytest.mark.promise("SEC-25")
def test_a_proxy_of_ours_has_no_share_and_names_its_clients(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 2)
    _, clients = run((ip_network("127.0.0.1"),))
    many = [clients.open() for _ in range(6)]
    assert clients.ask(more=b"\r\nX-Forwarded-For: 192.0.2.7").endswith(b"192.0.2.7")
    assert not any(is_cut(one, within=0.05) for one in many)


@pytest.mark.promise("SEC-25")
def test_nobody_else_names_another_address(run: Run) -> None:
    _, clients = run()
    assert clients.ask(more=b"\r\nX-Forwarded-For: 192.0.2.7").endswith(b"127.0.0.1")
    _, behind = run((ip_network("127.0.0.1"),))
    assert behind.ask(NEIGHBOUR, b"\r\nX-Forwarded-For: 192.0.2.7").endswith(NEIGHBOUR.encode())
