"""An ambiguous request gets 400, its connection is closed, and no application sees it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from unittest.mock import Mock

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from producer.http.connections import LARGEST_HEAD, ConnectionLimiter, GuardedProtocol
from tests.support.serving import Served
from tests.support.waiting import until

LINE = b"GET / HTTP/1.1\r\n"
GET = LINE + b"Host: x\r\n"
LAST = GET + b"Connection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ABC = b"3\r\nabc\r\n0\r\n\r\n"
LONG = b"a" * (LARGEST_HEAD + 1)
ENDLESS = b"a" * (16 * LARGEST_HEAD)
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"

REFUSED = {
    "length and chunked": POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + ABC,
    "chunked and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + ABC,
    "length twice": POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "two lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "lengths in a row": POST + b"Content-Length: 3, 3\r\n\r\nabc",
    **{
        f"length {length!r}": POST + b"Content-Length: " + length + b"\r\n\r\nabc"
        for length in (b"+3", b"-3", b"0x3", b"", b"3 3", b"1_0", b"9" * 23, "٣".encode())
    },
    **{
        f"coding {coding!r}": POST + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + ABC
        for coding in (
            b"identity",
            b"gzip",
            b"gzip, chunked",
            b"chunked, gzip",
            b"chunked, chunked",
            b"xchunked",
            b"\x0bchunked",
            b"chunked\r\nTransfer-Encoding: chunked",
            b"gzip\r\nTransfer-Encoding: chunked",
        )
    },
    "coding, blank before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + ABC,
    "coding, folded": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + ABC,
    "folded": GET + b"X-A: a\r\n b\r\n\r\n",
    "folded by a tab": GET + b"X-A: a\r\n\tb\r\n\r\n",
    "folded at first": LINE + b" Host: x\r\n\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
    "a bare line feed": GET + b"X-A: a\nX-B: b\r\n\r\n",
    "a bare line feed at the end": GET + b"\n",
    "a bare carriage return": GET + b"X-A: a\rX-B: b\r\n\r\n",
    "two carriage returns": GET + b"X-A: a\r\r\n\r\n",
    **{
        f"name {name!r}": GET + name + b": a\r\n\r\n"
        for name in (b"X A", b"X-A ", b"X-A\t", b"", "X-Ä".encode(), b"X-\x00", b"X{", b'X"')
    },
    "no colon": GET + b"X-A\r\n\r\n",
    **{
        f"value {byte!r}": GET + b"X-A: a" + byte + b"b\r\n\r\n"
        for byte in (b"\x00", b"\x01", b"\x0b", b"\x7f")
    },
    "0.9": b"GET /\r\n\r\n",
    **{
        f"version {version!r}": b"GET / " + version + b"\r\nHost: x\r\n\r\n"
        for version in (
            b"HTTP/0.9",
            b"HTTP/1.2",
            b"HTTP/2.0",
            b"HTTP/1.10",
            b"http/1.1",
            b"HTTP/1",
            b"ICE/1.0",
        )
    },
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tabs": b"GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n",
    "a blank at first": b" " + GET + b"\r\n",
    "no host": LINE + b"\r\n",
    "two hosts": GET + b"Host: y\r\n\r\n",
    "a host twice": GET + b"host: x\r\n\r\n",
    "two hosts in 1.0": b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
    "a method in small letters": b"get / HTTP/1.1\r\nHost: x\r\n\r\n",
    **{
        f"target {target!r}": b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n"
        for target in (
            b"http://y/p",
            b"*",
            b"abc",
            b"?a",
            b"/a#b",
            b"/a?b#c",
            "/ä".encode(),
            b"/\x00",
            b"/\r",
        )
    },
    "CONNECT": b"CONNECT y:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT with a path": b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "every byte": bytes(range(256)),
}

TOO_LONG = {
    "a header": GET + b"X-A: " + LONG + b"\r\n\r\n",
    "many headers": GET + b"X-A: a\r\n" * (LARGEST_HEAD // 8) + b"\r\n",
    "a target": b"GET /" + LONG + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without an end": GET + b"X-A: " + ENDLESS,
    "a name without an end": GET + ENDLESS,
    "a target without an end": b"GET /" + ENDLESS,
    "empty lines without an end": b"\r\n" * (8 * LARGEST_HEAD),
}

BROKEN_BODIES = {
    **{
        f"size {size!r}": CHUNKED + size + b"\r\nabc\r\n0\r\n\r\n"
        for size in (b"0x3", b"+3", b"-3", b" 3", b"3 ", b"", b"zz", b"f" * 17, b"3;a\n", b"3\rX")
    },
    "line feeds": CHUNKED + b"3\nabc\n0\n\n",
    "no end of a chunk": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "a bad trailer": CHUNKED + b"3\r\nabc\r\n0\r\nX T: 1\r\n\r\n",
    "a size without an end": CHUNKED + b"0" * len(ENDLESS),
    "an extension without an end": CHUNKED + b"3;" + ENDLESS,
    "a trailer without an end": CHUNKED + b"3\r\nabc\r\n0\r\nX-A: " + ENDLESS,
    "trailers without an end": CHUNKED + b"3\r\nabc\r\n0\r\n" + b"X-A: a\r\n" * (2 * LARGEST_HEAD),
}


class Application:
    """Records each request after reading all of it; if told to, it answers before it reads."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes, dict[bytes, bytes]]] = []
        self.hurries = self.begins = False
        self.seconds = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError("no lifespan")
        if self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        body, more = b"", not self.hurries
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        target = scope["path"] + ("?" + scope["query_string"].decode() if scope["query_string"] else "")
        self.asked.append((scope["method"], target, body, dict(scope["headers"])))
        await asyncio.sleep(self.seconds)
        if not self.begins:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


class Caller:
    """Connections to one server."""

    def __init__(self, served: Served) -> None:
        host, port = served.base_url.removeprefix("http://").split(":")
        self.address = host, int(port)
        self.application: Application = served.app

    def say(self, *pieces: bytes) -> tuple[list[str], bool]:
        """Send pieces one by one; return the answers' statuses, and whether the server closed the connection."""
        with closing(socket.create_connection(self.address, timeout=0.5)) as one:
            said, is_over = b"", False
            for number, piece in enumerate(pieces):
                with suppress(OSError):  # cut off during sending
                    one.sendall(piece)
                if number < len(pieces) - 1:
                    time.sleep(0.01)
            try:
                while piece := one.recv(65536):
                    said += piece
                is_over = True
            except TimeoutError:
                pass
            except ConnectionError:
                is_over = True
        return [part.split(b" ")[0].decode() for part in said.split(b"HTTP/1.1 ")[1:]], is_over


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    one = Served(Application())
    one.start()
    yield one
    one.stop()


@pytest.fixture
def caller(served: Served) -> Caller:
    served.app.__init__()
    return Caller(served)


@pytest.mark.parametrize("request_", [*REFUSED.values(), *TOO_LONG.values()], ids=[*REFUSED, *TOO_LONG])
def test_a_head_that_is_not_plain_is_refused(caller: Caller, request_: bytes) -> None:
    assert_is_refused(caller, request_)


@pytest.mark.parametrize("request_", BROKEN_BODIES.values(), ids=BROKEN_BODIES)
def test_a_body_that_is_not_plain_is_refused(caller: Caller, request_: bytes) -> None:
    assert_is_refused(caller, request_)


def assert_is_refused(caller: Caller, request_: bytes) -> None:
    """Assert that the answer is 400; with a long request, the connection may be closed before it is read."""
    statuses, is_over = caller.say(request_)
    assert statuses == ["400"] or (statuses == [] and len(request_) > LARGEST_HEAD)
    assert is_over
    assert caller.application.asked == []


def test_a_body_that_breaks_off_after_the_answer_has_begun_gets_no_second_answer(caller: Caller) -> None:
    caller.application.begins = True
    assert caller.say(CHUNKED, b"zz\r\n") == (["200"], True)
    caller.application.begins, caller.application.hurries = False, True
    assert caller.say(CHUNKED, b"zz\r\n") == (["200"], True)


@pytest.mark.parametrize("size", [LARGEST_HEAD - 100, 1], ids=["almost too long", "short"])
def test_a_head_within_the_limit_is_read_in_whatever_pieces_it_comes(caller: Caller, size: int) -> None:
    raw = b"POST /p?q HTTP/1.1\r\nHost: x\r\nX-A: \t" + b"a" * size + b" \t\r\nContent-Length: 3 \r\n\r\nabc"
    assert caller.say(raw) == (["200"], False)
    pieces = [raw[start : start + 3] for start in range(0, 60, 3)] + [raw[60:]]
    assert caller.say(*pieces) == (["200"], False)
    assert [(method, target, body) for method, target, body, _ in caller.application.asked] == [
        ("POST", "/p?q", b"abc")
    ] * 2
    assert {headers[b"x-a"] for *_, headers in caller.application.asked} == {b"a" * size}


def test_pieces_that_are_short_each_do_not_make_a_long_head(caller: Caller) -> None:
    statuses, is_over = caller.say(GET, *[b"X-A: " + b"a" * 10_000 + b"\r\n"] * 8)
    assert (statuses, is_over) in ((["400"], True), ([], True))


@pytest.mark.parametrize(
    "target", [b"//y/p?q", b'/"<>\\^`{|}', b"/%zz%00%2f?%41", b"/../a", b"/a//b?c=http://d/", b"/:80@x"]
)
def test_a_target_is_read_as_it_stands(caller: Caller, target: bytes) -> None:
    assert caller.say(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n") == (["200"], False)
    ((_, asked, _, _),) = caller.application.asked
    assert asked == target.decode().replace("%zz%00%2f", "%zz\x00/")


def test_what_follows_a_body_in_chunks_is_no_header_of_the_request(caller: Caller) -> None:
    trailer = b"webhook-id: later\r\nX-T: 1\r\n"
    assert caller.say(CHUNKED + b"3;a=b\r\nabc\r\n0\r\n" + trailer + b"\r\n") == (["200"], False)
    caller.application.begins = True
    assert caller.say(CHUNKED, b"3\r\nabc\r\n0\r\n" + trailer + b"\r\n") == (["200"], False)
    for _, _, body, headers in caller.application.asked:
        assert body == b"abc"
        assert set(headers) == {b"host", b"transfer-encoding"}


@pytest.mark.parametrize(
    "body", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n" + ABC, b"\r\n"]
)
@pytest.mark.parametrize("pieces", [1, 2, 40])
def test_whoever_would_rather_speak_another_protocol_is_answered_in_this_one(
    caller: Caller, body: bytes, pieces: int
) -> None:
    """java.net.http.HttpClient sends this with every request."""
    raw = POST + H2C + body
    step = -(-len(raw) // pieces)
    assert caller.say(*[raw[start : start + step] for start in range(0, len(raw), step)]) == (["200"], False)
    ((_, _, kept, headers),) = caller.application.asked
    assert kept == (b"" if body == b"\r\n" else b"abc")
    assert (headers[b"host"], b"upgrade" in headers) == (b"x", False)


def test_another_protocol_hides_no_second_request(caller: Caller) -> None:
    assert caller.say((POST + H2C + b"Content-Length: 3\r\n\r\nabc") * 3) == (["200"], True)
    assert caller.say(GET + H2C + b"Host: y\r\n\r\n") == (["400"], True)
    assert len(caller.application.asked) == 1


@pytest.mark.parametrize(
    "behind",
    [GET + b"\r\n", b"BAD\r\n\r\n", b"GARBAGE", b"\x00\x01", GET + H2C + b"\r\n", CHUNKED + ABC],
)
def test_what_comes_before_the_answer_is_not_looked_at_and_ends_the_connection(
    caller: Caller, behind: bytes
) -> None:
    assert caller.say(POST + b"Content-Length: 3\r\n\r\nabc" + behind) == (["200"], True)
    assert caller.say(POST + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc" + behind) == (["200"], True)
    assert [body for _, _, body, _ in caller.application.asked] == [b"abc"] * 2


def test_what_comes_in_a_piece_of_its_own_before_the_answer_is_treated_alike(
    caller: Caller, served: Served
) -> None:
    with closing(socket.create_connection(caller.address, timeout=10)) as one:
        caller.application.begins = True
        one.sendall(POST + b"Content-Length: 3\r\n\r\nab")
        until(lambda: one.recv(1))
        one.sendall(b"c" + GET + b"\r\n")
        said = b""
        while piece := one.recv(65536):
            said += piece
    assert said.count(b"HTTP/1.1") == 0, "of the one answer the first byte was read before"
    assert len(caller.application.asked) == 1


@pytest.mark.parametrize("chunk", [8, LARGEST_HEAD], ids=["small chunks", "large ones"])
def test_a_body_may_be_longer_than_any_head(caller: Caller, chunk: int) -> None:
    body = b"a" * (3 * LARGEST_HEAD)
    pieces = [body[start : start + chunk] for start in range(0, len(body), chunk)]
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces] + [b"0\r\n\r\n"]
    assert caller.say(CHUNKED, b"".join(chunks)) == (["200"], False)
    assert caller.say(POST + b"Content-Length: %d\r\n\r\n" % len(body), *[body[:9]] * 3, body[27:]) == (
        ["200"],
        False,
    )
    assert [kept for _, _, kept, _ in caller.application.asked] == [body] * 2


def test_whoever_asks_again_at_once_after_an_early_answer_is_not_taken_for_idle(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        GuardedProtocol, "timeout_keep_alive", property(lambda _: 0.1, lambda *_: None), raising=False
    )
    caller.application.hurries = True
    with closing(socket.create_connection(caller.address, timeout=10)) as one:
        one.sendall(POST + b"Content-Length: 3\r\n\r\n")
        assert one.recv(65536)
        caller.application.seconds = 0.4
        one.sendall(b"abc" + LAST)
        said = b""
        while piece := one.recv(65536):
            said += piece
    assert said.endswith(b"ok")
    assert len(caller.application.asked) == 2


def test_whoever_has_sent_the_body_after_the_answer_is_idle(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        GuardedProtocol, "timeout_keep_alive", property(lambda _: 1.0, lambda *_: None), raising=False
    )
    caller.application.hurries = True
    with closing(socket.create_connection(caller.address, timeout=10)) as one:
        one.sendall(POST + b"Content-Length: 3\r\n\r\n")
        assert one.recv(65536)
        one.sendall(b"abc")
        while one.recv(65536):  # the rest of the answer, then the end, long before the time-out
            pass


def test_an_answer_before_the_body_leaves_a_connection_in_order(caller: Caller) -> None:
    caller.application.hurries = True
    head = POST + b"Content-Length: 6\r\n\r\n"
    for pieces in ([b"abc", b"def", GET + b"\r\n"], [b"abcdef" + GET + b"\r\n"]):
        assert caller.say(head, *pieces) == (["200"] * 2, False)
    assert [method for method, *_ in caller.application.asked] == ["POST", "GET"] * 2


@pytest.mark.parametrize(
    "request_",
    [b"GET  /  HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n\r\n" + GET + b"\r\n"],
    ids=["more blanks than one", "empty lines before"],
)
def test_what_can_be_read_in_one_way_only_is_read(caller: Caller, request_: bytes) -> None:
    assert caller.say(request_) == (["200"], False)
    assert [target for _, target, _, _ in caller.application.asked] == ["/"]


def test_an_old_client_is_answered_and_left(caller: Caller) -> None:
    assert caller.say(b"GET / HTTP/1.0\r\n\r\n") == (["200"], True)
    assert caller.say(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") == (["200"], True)


def test_whoever_waits_to_be_asked_for_the_body_is_asked(caller: Caller) -> None:
    head = POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    assert caller.say(head, b"abc") == (["100", "200"], False)


def test_an_old_client_that_waits_to_be_asked_is_answered(caller: Caller) -> None:
    head = b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    assert caller.say(head + b"abc") == (["200"], True)


def test_an_answer_that_ends_an_idle_connection_has_its_time_too() -> None:
    """A client that does not read it keeps the connection no longer than any other."""

    async def refused() -> bool:
        transport = Mock()
        transport.is_closing.side_effect = lambda: transport.close.called
        config = Config(Mock(), lifespan="off")
        config.load()
        protocol = GuardedProtocol(
            crowd=ConnectionLimiter(), config=config, server_state=ServerState(), app_state={}
        )
        protocol.connection_made(transport)
        protocol._stop_clock()  # between two requests
        protocol.data_received(b"nonsense\r\n\r\n")
        runs = transport.close.called and protocol._clock is not None
        protocol.connection_lost(None)
        return bool(runs)

    assert asyncio.run(refused())
