"""Raw answers over a socket: which ones are accepted, which connections are reused, and how requests are written."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from shared.errors import OutcomeUnknown, TrackerAway, TrackerUnreachable
from shared.process.outbound import Outbound
from shared.tracker.client import Target, TrackerClient
from tests.integration.tracker_calls import idle
from tests.support.wire import Script, WireServer, answer, saying

OK = answer(b'{"ok": true}')
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FOUND = {"ok": True}


@pytest.fixture(autouse=True)
def _trusted() -> Iterator[None]:
    """However slow the machine is, no connection counts as idle for too long."""
    with idle(600.0):
        yield


def client_of(url: str, key: str = "key") -> TrackerClient:
    return TrackerClient(Target(url, SecretStr(key), allow_link_local=True), timeout=60.0)


def first(*pieces: bytes, closes: bool = False) -> Script:
    """Answer the very first request with these pieces, and any other request with OK."""

    def script(server: WireServer, connection: socket.socket, number: int) -> None:
        if number == 0 and server.read_request(connection):
            for piece in pieces:
                connection.sendall(piece)
                server.ended.wait(0.05)
            if closes:
                return
        while server.read_request(connection):
            connection.sendall(OK)

    return script


@pytest.mark.parametrize(
    ("pieces", "closes", "connections"),
    [
        ((OK,), False, 1),
        ((CHUNKED, b'6\r\n{"ok":\r\n', b"6\r\n true}\r\n0\r", b"\n\r\n"), False, 1),
        ((b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", OK), False, 1),
        ((b"HTTP/1.1 100 Continue\r\n\r\n" + OK,), False, 1),
        ((HEAD + b'\r\n{"ok": true}',), True, 2),
        ((HEAD + b'\r\n{"ok"', b": true}"), True, 2),
        ((OK.replace(b"HTTP/1.1", b"HTTP/1.0"),), False, 2),
        ((OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),), False, 2),
        ((OK + OK,), False, 2),
    ],
    ids=["length", "chunks", "103", "100", "no length", "no length in pieces", "1.0", "close", "two"],
)
def test_an_answer_is_taken_and_its_connection_used_again_where_it_may_be(
    pieces: tuple[bytes, ...], closes: bool, connections: int
) -> None:
    with WireServer(first(*pieces, closes=closes)) as server:
        client = client_of(server.url)
        assert client.call("POST", "/issues.json", body={}).data == FOUND
        assert client.call("POST", "/issues.json", body={}).data == FOUND
        assert (server.connections, len(server.requests)) == (connections, 2)


@pytest.mark.parametrize(
    ("pieces", "closes"),
    [
        ((CHUNKED, b'6\r\n{"ok":\r\n', b"6\r\n true}\r\n"), True),
        ((HEAD + b"Content-Length: 20\r\n\r\n", b'{"ok": true}'), True),
        ((HEAD + b"Transfer-Encoding: gzip\r\n\r\n" + b'{"ok": true}',), True),
        ((b"HTTP/1.1 103 Early Hints\r\n\r\n",), True),
        ((b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + OK,), False),
        ((HEAD + b"X: a\r\n" * 150 + b"\r\n",), False),
        ((HEAD + b"X: " + b"a" * 200_000,), False),
        ((b"SSH-2.0-OpenSSH_9.2\r\n",), False),
        ((OK + b"?",), False),
        ((), True),
    ],
    ids=[
        "cut chunks",
        "cut",
        "coding",
        "103 alone",
        "101",
        "headers",
        "huge head",
        "garbage",
        "more",
        "nothing",
    ],
)
def test_what_is_no_answer_leaves_the_outcome_unknown_and_its_connection_unused(
    pieces: tuple[bytes, ...], closes: bool
) -> None:
    with WireServer(first(*pieces, closes=closes)) as server:
        client = client_of(server.url)
        with pytest.raises(OutcomeUnknown):
            client.call("POST", "/issues.json", body={})
        assert client.call("POST", "/issues.json", body={}).data == FOUND
        assert (server.connections, len(server.requests)) == (2, 2)


@pytest.mark.parametrize("more", [answer(b'{"ok": false}'), b"?"])
def test_what_is_said_while_nobody_asks_is_no_answer_to_the_next_question(more: bytes) -> None:
    is_said = threading.Event()

    def unasked(server: WireServer, connection: socket.socket, number: int) -> None:
        while server.read_request(connection):
            connection.sendall(OK)
            if number == 0:
                server.ended.wait(0.1)
                connection.sendall(more)
                is_said.set()

    with WireServer(unasked) as server:
        client = client_of(server.url)
        client.call("POST", "/issues.json", body={})
        assert is_said.wait(30)
        time.sleep(0.1)
        assert client.call("POST", "/issues.json", body={}).data == FOUND
        assert (server.connections, len(server.requests)) == (2, 2)


def test_garbage_is_no_clear_answer_also_where_another_error_led_to_the_question() -> None:
    with WireServer(saying(answer(b"<html>", "404 Not Found"), b"hello\r\n\r\n")) as server:
        client = client_of(server.url)
        with pytest.raises(TrackerAway, match="BadStatusLine"):
            client.call("POST", "/issues.json", body={})


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("POST", "/issues.json HTTP/1.1\r\nX-Evil: 1\r\n\r\n", "key"),
        ("POST", "/issues.json?a=\x00", "key"),
        ("POST", "/a b", "key"),
        ("POST", "/ä", "key"),
        ("POST / HTTP/1.1\r\nX-Evil: 1\r\n", "/issues.json", "key"),
        ("POST", "/issues.json", "key\r\nX-Evil: 1"),
        ("POST", "/issues.json", "key\nX-Evil: 1"),
        ("POST", "/issues.json", "key\r\n X-Evil: 1"),
        ("POST", "/issues.json", "key\x00"),
        ("POST", "/issues.json", "ключ"),
    ],
)
def test_what_would_forge_a_request_is_not_even_connected_for(method: str, path: str, key: str) -> None:
    with WireServer(saying(OK)) as server:
        client = client_of(server.url, key)
        with pytest.raises(TrackerUnreachable):
            client.call(method, path, body={})
        assert server.connections == 0


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A server that every host name resolves to."""
    look_up = socket.getaddrinfo
    with WireServer(saying(OK)) as server:

        def here(_host: str, _port: int, **options: Any) -> Any:
            return look_up("127.0.0.1", server.port, **options)

        monkeypatch.setattr(socket, "getaddrinfo", here)
        yield server


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://tracker.test", b"tracker.test"),
        ("http://TRACKER.test:80/redmine", b"tracker.test"),
        ("http://tracker.test:443", b"tracker.test:443"),
        ("http://bücher.test:8080", b"xn--bcher-kva.test:8080"),
    ],
)
def test_the_host_is_named_as_it_is_on_the_wire(anywhere: WireServer, url: str, host: bytes) -> None:
    client = client_of(url)
    client.call("GET", "/issues.json")
    lines = anywhere.requests[0].split(b"\r\n")
    assert [line for line in lines if line.lower().startswith(b"host:")] == [b"Host: " + host]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://192.0.2.7:81", b"192.0.2.7:81"),
        ("http://[2001:db8::1]", b"[2001:db8::1]"),
        ("http://[2001:db8::1]:81", b"[2001:db8::1]:81"),
    ],
)
def test_an_address_is_named_as_it_is_on_the_wire(url: str, host: bytes) -> None:
    """A proxy gets the same Host header, so no server has to exist there."""
    with WireServer(saying(OK)) as proxy:
        by_proxy = Outbound(proxy=SecretStr(proxy.url))
        TrackerClient(Target(url, SecretStr("key"), outbound=by_proxy)).call("GET", "/issues.json")
    assert b"Host: " + host in proxy.requests[0].split(b"\r\n")


def test_a_name_that_no_request_can_have_sent_nothing(anywhere: WireServer) -> None:
    client = client_of(f"http://{'ü' * 70}.test")
    with pytest.raises(TrackerUnreachable):
        client.call("GET", "/issues.json")
    assert anywhere.connections == 0
