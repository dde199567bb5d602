"""The tracker client over real sockets: whether a call was sent, and its time limit (SPEC section 8: 5 s in all)."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from deploy.embedded.ports import free_port
from shared.errors import (
    LeaseExpired,
    OutcomeUnknown,
    TrackerAway,
    TrackerError,
    TrackerUnreachable,
)
from shared.notices.faults import Detail, Fault
from shared.tracker import body as body_module
from shared.tracker import client as client_module
from shared.tracker.client import Target, TrackerClient
from tests.support.wire import Script, WireServer, answer, reset, saying, trickle

TIME_S = 1.0
"""For calls that have to time out: even a busy machine has to connect and send within this time."""

PATIENCE_S = 60.0
"""For all other calls: none of them waits for anything."""

BOUND_S = 20.0
"""Well above the time of a call that keeps its limit, well below that of one with an unbounded step."""
CREATED = answer(b'{"issue": {"id": 6}}', "201 Created")
Connect = Callable[..., TrackerClient]
Serve = Callable[[Script], WireServer]


@pytest.fixture
def connect() -> Connect:
    """Makes clients."""

    def to(server: WireServer | str, **options: Any) -> TrackerClient:
        url = server if isinstance(server, str) else server.url
        target = Target(url, SecretStr("key"), verify_tls=options.pop("verify_tls", True))
        return TrackerClient(target, **{"timeout": PATIENCE_S, **options})

    return to


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(WireServer(script))


def create(client: TrackerClient) -> TrackerError:
    """Fail to create an issue in bounded time; return the error."""
    started = time.monotonic()
    with pytest.raises(TrackerError) as failure:
        client.call("POST", "/issues.json", body={"issue": {}})
    assert time.monotonic() - started < BOUND_S
    return failure.value


def test_a_refused_connection_sent_nothing(connect: Connect) -> None:
    assert type(create(connect(f"http://127.0.0.1:{free_port()}"))) is TrackerUnreachable


def test_a_name_that_does_not_resolve_sent_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert type(create(connect("http://tracker.invalid"))) is TrackerUnreachable


def test_a_slow_resolver_is_waited_for_no_longer_than_the_whole_call(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's own resolver tries each server several times, which takes longer than a call may."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(60))
    assert type(create(connect("http://tracker.test", timeout=TIME_S))) is TrackerUnreachable
    over.set()


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port that never accepts connections: its queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_connect_time_out_sent_nothing(connect: Connect, deaf_port: int) -> None:
    assert type(create(connect(f"http://127.0.0.1:{deaf_port}", timeout=TIME_S))) is TrackerUnreachable


def test_a_name_with_several_deaf_addresses_stays_within_the_time(
    connect: Connect, deaf_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", deaf_port))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [one] * 40)
    assert type(create(connect("http://tracker.test", timeout=TIME_S))) is TrackerUnreachable


def silent(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    server.ended.wait(60)


def slow_headers(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    trickle(connection, b"HTTP/1.1 201 Created\r\nX-Slow: ", b"a", 0.05, server.ended)


def slow_body(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    trickle(connection, b'HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n{"', b"a", 0.05, server.ended)


def slow_chunks(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    trickle(
        connection,
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1\r\na\r\n",
        0.05,
        server.ended,
    )


def slow_redirect(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    start = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 9999\r\n\r\n"
    trickle(connection, start, b"a", 0.05, server.ended)


@pytest.mark.parametrize("script", [silent, slow_headers, slow_body, slow_chunks])
def test_an_answer_that_does_not_end_in_time_is_no_clear_answer(
    connect: Connect, serve: Serve, script: Script
) -> None:
    error = create(connect(serve(script), timeout=TIME_S))
    assert type(error) is OutcomeUnknown
    detail = error.notice.params["detail"]
    assert detail.code == Detail.TIME_OUT or "Timeout" in detail.params["error"]


def test_a_redirect_whose_body_trickles_stays_within_the_time(connect: Connect, serve: Serve) -> None:
    create(connect(serve(slow_redirect), timeout=TIME_S))


def closes_unread(_server: WireServer, connection: socket.socket, _number: int) -> None:
    reset(connection)


def closes_after_reading(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)


def resets_after_reading(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    reset(connection)


def closes_within_the_body(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    connection.sendall(CREATED[:-5])


def closes_within_the_headers(server: WireServer, connection: socket.socket, _number: int) -> None:
    server.read_request(connection)
    connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Type: appl")


GARBAGE = {
    "no status line": b"hello\r\n\r\n",
    "status out of range": answer(status="99 Odd"),
    "endless header line": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 150 + b"\r\n",
    "bad chunk": b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "bad gzip": answer(b"nonsense", "201 Created", "Content-Encoding: gzip"),
    "not an HTTP version": b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"[:8] + b"\r\n\r\n",
}


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "404 Not Found", "405 Method Not Allowed"])
def test_a_page_in_the_trackers_place_is_no_answer_of_the_tracker(
    connect: Connect, serve: Serve, status: str
) -> None:
    page = answer(b"<html>", status)
    assert type(create(connect(serve(saying(page, page))))) is TrackerAway


def test_text_leaves_as_utf_8(connect: Connect, serve: Serve) -> None:
    text = "Принтер не печатает \N{FIRE} 打印机"
    server = serve(saying(CREATED))
    connect(server).call("POST", "/issues.json", body={"issue": {"description": text * 1000}})
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert b"Content-Type: application/json\r\n" in head + b"\r\n"
    assert json.loads(body.decode()) == {"issue": {"description": text * 1000}}
    assert len(body) == len((text * 1000).encode()) + len('{"issue": {"description": ""}}')


def test_a_lone_surrogate_breaks_no_call(connect: Connect, serve: Serve) -> None:
    server = serve(saying(CREATED))
    connect(server).call("POST", "/issues.json", body={"issue": {"subject": "half \ud83d"}})
    assert server.requests[0].endswith(b'{"issue": {"subject": "half \\ud83d"}}')


@pytest.mark.parametrize("users", [b'{"users": [{"id": 1}], "total_count": 1}', b'{"users": []}'])
def test_a_page_at_one_address_alone_is_no_clear_answer(connect: Connect, serve: Serve, users: bytes) -> None:
    refused = serve(saying(answer(b"<html>", "404 Not Found"), answer(users)))
    assert type(create(connect(refused))) is OutcomeUnknown
    unclear = serve(saying(answer(b"<html>", "201 Created"), answer(users)))
    assert type(create(connect(unclear))) is OutcomeUnknown


@pytest.mark.parametrize("script", [closes_after_reading, resets_after_reading, closes_within_the_body])
def test_a_connection_that_breaks_off_is_no_clear_answer(
    connect: Connect, serve: Serve, script: Script
) -> None:
    assert type(create(connect(serve(script)))) is OutcomeUnknown


def test_a_connection_that_is_reset_at_once_is_unreachable_or_no_clear_answer(
    connect: Connect, serve: Serve
) -> None:
    assert type(create(connect(serve(closes_unread)))) in (TrackerUnreachable, OutcomeUnknown)


def test_an_answer_cut_off_within_its_headers_tells_no_data(connect: Connect, serve: Serve) -> None:
    client = connect(serve(closes_within_the_headers))
    try:
        data = client.call("POST", "/issues.json", body={}).data
    except OutcomeUnknown:
        data = None
    assert data is None, "so that a creation is in doubt"


@pytest.mark.parametrize("raw", GARBAGE.values(), ids=GARBAGE.keys())
def test_an_answer_that_cannot_be_read_is_no_clear_answer(connect: Connect, serve: Serve, raw: bytes) -> None:
    assert type(create(connect(serve(saying(raw))))) is OutcomeUnknown


BIG = b"[" + b" " * 2_000_000 + b"]"


@pytest.mark.parametrize(
    "raw",
    [
        answer(BIG, "201 Created"),
        b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + BIG,
        answer(gzip.compress(BIG), "201 Created", "Content-Encoding: gzip"),
    ],
    ids=["declared", "undeclared", "compressed"],
)
def test_an_oversize_answer_is_no_clear_answer(
    connect: Connect, serve: Serve, monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    monkeypatch.setattr(body_module, "LARGEST_ANSWER", 1_000_000)
    assert type(create(connect(serve(saying(raw))))) is OutcomeUnknown


@pytest.mark.promise("SEC-40")
@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
)
@pytest.mark.parametrize("location", ["/elsewhere.json", "http://[", "http://127.0.0.1:1/x", "\xff"])
def test_a_redirect_is_not_followed(connect: Connect, serve: Serve, status: str, location: str) -> None:
    elsewhere = answer(b"", status, f"Location: {location}")
    server = serve(saying(elsewhere, elsewhere))
    assert type(create(connect(server))) is TrackerAway
    assert [one.split(b" HTTP")[0] for one in server.requests] == [
        b"POST /issues.json",
        b"GET /users.json?limit=1",
    ]


@pytest.mark.promise("SEC-40")
def test_a_cookie_of_one_call_is_not_sent_with_the_next(connect: Connect, serve: Serve) -> None:
    cookie = answer(b"{}", "200 OK", "Set-Cookie: session=alice; Path=/")
    server = serve(saying(cookie, cookie))
    client = connect(server)
    client.call("GET", "/issues.json", login="alice")
    client.call("GET", "/issues.json")
    assert b"session=alice" not in server.requests[1]


def test_the_base_url_may_have_a_path(connect: Connect, serve: Serve, tmp_path: Path) -> None:
    server = serve(saying(answer()))
    connect(f"{server.url}/redmine").call("GET", "/issues.json")
    assert server.requests[0].startswith(b"GET /redmine/issues.json HTTP/1.1")


@pytest.mark.parametrize(
    ("raw", "status", "body"),
    [
        (answer(b'{"errors":["Thema muss ausgef\xc3\xbcllt werden"]}', "422 X"), 422,
         '{"errors":["Thema muss ausgefüllt werden"]}'),
        (answer(b"", "403 Forbidden"), 403, ""),
        (answer(b"<html>", "500 Broken"), 500, "<html>"),
        (answer(b"\xff", "201 Created"), 201, "�"),
        (answer(b"", "302 Found", "Location: /elsewhere"), 302, ""),
        (answer(b"busy", "503 Busy", "Retry-After: 5"), 503, "busy"),
    ],
)  # fmt: skip
def test_a_raw_call_gives_code_and_body_unchanged_whatever_they_are(
    connect: Connect, serve: Serve, raw: bytes, status: int, body: str
) -> None:
    server = serve(saying(raw))
    found = connect(server).raw("POST", "/issues.json", body={"issue": {}})
    assert (found.status, found.body, found.at) == (status, body, None)
    assert server.requests[0].endswith(b'\r\n\r\n{"issue": {}}')
    assert b"Switch-User" not in server.requests[0]


def test_a_raw_call_tells_the_trackers_clock(connect: Connect, serve: Serve) -> None:
    server = serve(saying(answer(b"{}", "200 OK", "Date: Sat, 21 Nov 2026 09:30:00 GMT")))
    assert connect(server).raw("GET", "/issues.json").at == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def test_a_raw_call_without_an_answer_says_whether_it_was_sent(connect: Connect, serve: Serve) -> None:
    with pytest.raises(TrackerUnreachable):
        connect(f"http://127.0.0.1:{free_port()}").raw("POST", "/issues.json", body={})
    with pytest.raises(OutcomeUnknown):
        connect(serve(resets_after_reading)).raw("POST", "/issues.json", body={})


@pytest.mark.parametrize(
    "raw",
    [answer(b"12345")[:-1], answer(gzip.compress(b"12345")[:-1], "200 OK", "Content-Encoding: gzip")],
    ids=["plain", "compressed"],
)
def test_a_part_of_an_answer_is_not_taken_for_the_whole(connect: Connect, serve: Serve, raw: bytes) -> None:
    def cut_off(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        connection.sendall(raw)

    with pytest.raises(OutcomeUnknown):
        connect(serve(cut_off)).raw("GET", "/issues.json")


def test_a_compressed_answer_is_read(connect: Connect, serve: Serve) -> None:
    body = gzip.compress(b'{"issues": []}')
    server = serve(saying(answer(body, "200 OK", "Content-Encoding: gzip")))
    assert connect(server).call("GET", "/issues.json").data == {"issues": []}


def test_a_raw_call_waits_for_the_rate_limit_and_can_be_stopped_before_it_is_sent(
    connect: Connect, serve: Serve
) -> None:
    waited: list[str] = []

    def stop() -> None:
        waited.append("asked")
        raise LeaseExpired(Fault.LEASE_RAN_OUT())

    server = serve(saying(answer()))

    def turn() -> float:
        waited.append("throttled")
        return 0.0

    client = connect(server, rate_limiter=turn)
    with pytest.raises(LeaseExpired):
        client.raw("POST", "/issues.json", before_send=stop)
    assert waited == ["throttled", "asked"]
    assert server.requests == []


@pytest.mark.parametrize("ask", [TrackerClient.call, TrackerClient.raw])
@pytest.mark.parametrize(
    ("status", "is_logged"), [(200, False), (302, False), (400, True), (404, True), (422, True), (503, True)]
)
def test_every_answer_from_400_on_is_logged_without_its_text(
    connect: Connect,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[..., Any],
    status: int,
    *,
    is_logged: bool,
) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        client_module, "log", SimpleNamespace(warning=lambda text, **about: lines.append((text, about)))
    )
    with suppress(TrackerError):
        ask(
            connect(serve(saying(answer(b'{"errors": ["the key key"]}', f"{status} Said")))),
            "GET",
            "/users.json",
        )
    about = {"method": "GET", "path": "/users.json", "status": status}
    assert lines == ([("the tracker refused a call", about)] if is_logged else [])


def test_a_refusal_that_is_as_normal_as_success_is_logged_and_is_no_warning(
    connect: Connect, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        client_module, "log", SimpleNamespace(info=lambda text, **about: lines.append((text, about)))
    )
    tracker = connect(serve(saying(answer(b'{"errors": []}', "422 Said"))))
    with pytest.raises(TrackerError):
        tracker.call("POST", "/memberships.json", expected=(422,))
    about = {"method": "POST", "path": "/memberships.json", "status": 422}
    assert lines == [("the tracker refused a call, as expected", about)]
