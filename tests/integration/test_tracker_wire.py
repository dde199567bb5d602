"""Which answers of the tracker are complete, byte by byte, and how long a flood is read."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from shared.errors import OutcomeUnknown
from shared.tracker import body as body_module
from shared.tracker.client import Target, TrackerClient
from tests.integration.tracker_calls import idle
from tests.support.wire import Script, WireServer, answer, reset, saying

FINE = answer(b'"fine"')
OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n\r\n{}"
LENGTH = b"Content-Length: %d\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ZIPPED = gzip.compress(b"{}")
SILENCE_S = 0.3
"""How long a server waits for another request before it closes the connection."""


@pytest.fixture(autouse=True)
def _trusted() -> Iterator[None]:
    """However slow the machine is, no connection counts as idle for too long."""
    with idle(600.0):
        yield


def client_of(server: WireServer, timeout: float = 60.0) -> TrackerClient:
    return TrackerClient(Target(server.url, SecretStr("key")), timeout=timeout)


def first(raw: bytes, *, in_pieces: bool) -> Script:
    """Answer the very first request with these bytes, and any other request with FINE."""

    def script(server: WireServer, connection: socket.socket, number: int) -> None:
        if number == 0 and server.read_request(connection):
            for piece in [raw[at : at + 1] for at in range(len(raw))] if in_pieces else [raw]:
                connection.sendall(piece)
            connection.settimeout(SILENCE_S)
        while server.read_request(connection):
            connection.settimeout(None)
            connection.sendall(FINE)

    return script


WHOLE = {
    "a length": (OK + TWO, 200, "{}", True),
    "no words": (b"HTTP/1.1 200\r\n" + TWO, 200, "{}", True),
    "words in another alphabet": (b"HTTP/1.1 200 \xc3\xa9\r\n" + TWO, 200, "{}", True),
    "empty lines before it": (b"\r\n\r\n" + OK + TWO, 200, "{}", True),
    "chunks": (CHUNKED + b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n", 200, "{}", True),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\nDate: never\r\n\r\n", 200, "{}", True),
    "no length": (OK + b"\r\n{}", 200, "{}", False),
    "no length, kept alive": (OK + b"Connection: keep-alive\r\n\r\n{}", 200, "{}", False),
    "no length, and nothing": (OK + b"\r\n", 200, "", False),
    "that closes": (OK + b"Connection: close\r\n" + TWO, 200, "{}", False),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, "", True),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, "", True),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n" + TWO, 200, "{}", False),
    "HTTP/1.0, kept alive": (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + TWO, 200, "{}", True),
    "HTTP/1.0, no length": (b"HTTP/1.0 200 OK\r\n\r\n{}", 200, "{}", False),
    "after 100": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + TWO, 200, "{}", True),
    "after 103": (b"HTTP/1.1 103 Early Hints\r\nDate: never\r\n\r\n" + OK + TWO, 200, "{}", True),
    "after several": (b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + OK + TWO, 200, "{}", True),
    "that offers another protocol": (OK + b"Upgrade: h2\r\nConnection: Upgrade\r\n" + TWO, 200, "{}", True),
    "an odd status": (b"HTTP/1.1 999 Odd\r\n" + TWO, 999, "{}", True),
    "many headers": (OK + b"X: a\r\n" * 99 + TWO, 200, "{}", True),
    "a folded header": (OK + b"X: a\r\n b\r\n" + TWO, 200, "{}", True),
    "a bare line feed": (b"HTTP/1.1 200 OK\n" + TWO, 200, "{}", True),
    "compressed": (OK + b"Content-Encoding: GZIP \r\n" + LENGTH % len(ZIPPED) + ZIPPED, 200, "{}", True),
    "compressed, no length": (OK + b"Content-Encoding: gzip\r\n\r\n" + ZIPPED, 200, "{}", False),
    "and another answer": (OK + TWO + OK + TWO, 200, "{}", False),
}


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize(("raw", "status", "body", "keeps"), WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_answer_is_read_however_it_comes(
    raw: bytes, status: int, body: str, *, keeps: bool, in_pieces: bool
) -> None:
    with WireServer(first(raw, in_pieces=in_pieces)) as server:
        client = client_of(server)
        found = client.raw("POST", "/issues.json", body={})
        assert (found.status, found.body, found.at) == (status, body, None)
        if not keeps:
            time.sleep(0.1)  # until the bytes after the answer have arrived, too
        assert client.raw("POST", "/issues.json", body={}).body == '"fine"'
        assert server.connections == (1 if keeps else 2)


NONE = {
    "nothing": b"",
    "empty lines": b"\r\n\r\n",
    "garbage": b"hello\r\n\r\n",
    "a page without a head": b"<html><body>Maintenance</body></html>",
    "of TLS": b"\x15\x03\x01\x00\x02\x02\x16",
    "a cut status": b"HTTP/1.1 20",
    "a cut head": OK + b"Content-Type: appl",
    "a head without its end": OK + b"Content-Length: 0\r\n",
    "a cut body": OK + b"Content-Length: 3\r\n\r\n{}",
    "a cut chunk": CHUNKED + b"3\r\n{}",
    "no last chunk": CHUNKED + b"2\r\n{}\r\n",
    "a cut last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n",
    "cut trailers": CHUNKED + b"2\r\n{}\r\n0\r\nX: a\r\n",
    "a bad chunk": CHUNKED + b"zz\r\n",
    "103 alone": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "101": b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK + TWO,
    "101, in full": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + OK + TWO,
    "status 99": b"HTTP/1.1 99 Odd\r\n" + TWO,
    "status 099": b"HTTP/1.1 099 Odd\r\n" + TWO,
    "status 1000": b"HTTP/1.1 1000 Odd\r\n" + TWO,
    "HTTP/0.9": b"HTTP/0.9 200 OK\r\n" + TWO,
    "HTTP/2.0": b"HTTP/2.0 200 OK\r\n" + TWO,
    "two lengths": OK + b"Content-Length: 2\r\n" + TWO,
    "a length below nothing": OK + b"Content-Length: -2\r\n\r\n{}",
    "a length and chunks": OK + b"Transfer-Encoding: chunked\r\n" + TWO,
    "another coding": OK + b"Transfer-Encoding: gzip\r\n\r\n" + ZIPPED,
    "two codings": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks, then another coding": (
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n"
    ),
    "a header without a name": OK + b"nonsense\r\n" + TWO,
    "NUL in a header": OK + b"X: a\x00\r\n" + TWO,
    "too many headers": OK + b"X: a\r\n" * 150 + TWO,
    "compressed, not whole": OK + b"Content-Encoding: gzip\r\n" + LENGTH % (len(ZIPPED) - 1) + ZIPPED[:-1],
}  # fmt: skip


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("raw", NONE.values(), ids=NONE.keys())
def test_what_is_no_whole_answer_is_no_clear_answer_however_it_comes(raw: bytes, *, in_pieces: bool) -> None:
    with WireServer(first(raw, in_pieces=in_pieces)) as server:
        client = client_of(server)
        with pytest.raises(OutcomeUnknown):
            client.raw("POST", "/issues.json", body={})
        assert client.raw("POST", "/issues.json", body={}).body == '"fine"'
        assert server.connections == 2


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (OK + b"X: ", b"a" * 10_000),
        (OK, b"X: a\r\n" * 1000),
        (CHUNKED + b"0\r\nX: ", b"a" * 10_000),
        (CHUNKED + b"0\r\n", b"X: a\r\n" * 1000),
        (CHUNKED + b"1;", b"a" * 10_000),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"", b"\r\n"),
        (OK + b"\r\n", b"a" * 60_000),
    ],
    ids=["header", "headers", "trailer", "trailers", "chunk extension", "103", "empty lines", "body"],
)
def test_a_flood_is_read_no_longer_than_the_whole_call(start: bytes, piece: bytes) -> None:
    def flood(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        connection.sendall(start)
        while not server.ended.wait(0.002):
            connection.sendall(piece)
        reset(connection)

    with WireServer(flood) as server:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            client_of(server, timeout=2.0).raw("POST", "/issues.json", body={})
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("start", [OK + b"\r\n", OK + LENGTH % 9999, CHUNKED + b"270f\r\n"])
def test_a_body_is_given_up_as_soon_as_it_is_too_large(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(body_module, "LARGEST_ANSWER", 1000)
    with (
        WireServer(saying(start + b"a" * 1001)) as server,
        pytest.raises(OutcomeUnknown, match="AnswerTooLarge"),
    ):
        client_of(server).raw("GET", "/issues.json")


@pytest.mark.parametrize(("size", "is_read"), [(1000, True), (1001, False)])
def test_what_is_compressed_is_bounded_as_it_would_be_plain(
    monkeypatch: pytest.MonkeyPatch, size: int, *, is_read: bool
) -> None:
    monkeypatch.setattr(body_module, "LARGEST_ANSWER", 1000)
    packed = answer(gzip.compress(b"a" * size), "200 OK", "Content-Encoding: gzip")
    with WireServer(saying(packed)) as server:
        if is_read:
            assert client_of(server).raw("GET", "/issues.json").body == "a" * size
        else:
            with pytest.raises(OutcomeUnknown, match="AnswerTooLarge"):
                client_of(server).raw("GET", "/issues.json")


def test_the_first_of_headers_of_one_name_counts_however_it_is_written() -> None:
    two = ("dAtE: \t Sat, 21 Nov 2026 09:30:00 GMT ", "DATE: Sat, 21 Nov 2026 10:00:00 GMT")
    with WireServer(saying(answer(b"{}", "200 OK", *two))) as server:
        at = client_of(server).raw("GET", "/issues.json").at
        assert at is not None
        assert f"{at:%H:%M}" == "09:30"


@pytest.mark.parametrize("login", ["alice", "jörg", "用户", "a b"])
def test_a_login_travels_as_utf_8(login: str) -> None:
    with WireServer(saying(FINE)) as server:
        client_of(server).call("DELETE", "/issues/1.json", login=login, expected=())
    assert f"\r\nX-Redmine-Switch-User: {login}\r\n".encode() in server.requests[0]
