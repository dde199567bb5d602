"""The tracker client's connections: kept alive, one per call, never trusted when idle; TLS and proxies."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp.http_writer import StreamWriter
from pydantic import SecretStr

from shared.errors import BridgeError, LockBusy, OutcomeUnknown, Outdated, TrackerUnreachable
from shared.notices.notice import written
from shared.tracker.client import CallRecord, Target, TrackerClient
from shared.tracker.meter import LOST, Meter
from tests.integration.tracker_calls import idle
from tests.support.wire import WireServer, answer, saying, trickle

OK = answer(b'{"ok": true}')


def client_of(
    url: str, *, verify_tls: bool = True, timeout: float = 60.0, meter: Meter | None = None
) -> TrackerClient:
    target = Target(url, SecretStr("key"), verify_tls=verify_tls)
    return TrackerClient(target, timeout=timeout, meter=meter)


@pytest.fixture
def _trusted() -> Iterator[None]:
    """However slow the machine is, no connection counts as idle for too long."""
    with idle(600.0):
        yield


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(saying(*[OK] * 20)) as running:
        yield running


@pytest.mark.usefixtures("_trusted")
def test_calls_one_after_the_other_share_one_connection(server: WireServer) -> None:
    client = client_of(server.url)
    for _ in range(5):
        client.call("GET", "/issues.json")
        client.call("POST", "/issues.json", body={})
    assert server.connections == 1


@pytest.mark.usefixtures("_trusted")
def test_calls_of_several_threads_one_after_the_other_share_one_connection_too(server: WireServer) -> None:
    """Otherwise each of many threads would be idle for so long that its connection is not trusted."""
    client = client_of(server.url)
    for _ in range(5):
        thread = threading.Thread(target=client.call, args=("POST", "/issues.json"), kwargs={"body": {}})
        thread.start()
        thread.join()
    assert server.connections == 1


@pytest.mark.usefixtures("_trusted")
def test_calls_at_once_have_a_connection_each() -> None:
    here = threading.Barrier(3)

    def meet(server: WireServer, connection: socket.socket, _number: int) -> None:
        while server.read_request(connection):
            here.wait(30)
            connection.sendall(OK)

    with WireServer(meet) as server, ThreadPoolExecutor(3) as pool:
        client = client_of(server.url)
        for _ in range(2):
            for made in [pool.submit(client.call, "GET", "/issues.json") for _ in range(3)]:
                made.result()
        assert server.connections == 3
        assert len(server.requests) == 6


def test_what_before_send_raises_stops_the_call(server: WireServer) -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    client = client_of(server.url)
    with pytest.raises(Stop):
        client.call("POST", "/issues.json", body={}, before_send=stop)
    client.call("GET", "/issues.json")
    assert len(server.requests) == 1
    assert server.requests[0].startswith(b"GET")


@pytest.mark.parametrize("why", [Outdated, LockBusy])
def test_a_call_that_is_not_to_be_made_any_more_is_none_that_got_no_answer(
    server: WireServer, why: type[BridgeError]
) -> None:
    def stop() -> None:
        raise why(written("changed in the meantime"))

    client, seen = client_of(server.url), list[CallRecord]()
    with pytest.raises(why):
        client.call("PUT", "/issues/1.json", body={}, before_send=stop, observe=seen.append)
    assert not seen


@pytest.mark.parametrize("status", [200, 422, 503])
def test_the_concurrency_limit_gets_each_call_that_was_made_and_whether_load_made_it_fail(
    status: int,
) -> None:
    calls: list[tuple[str, bool]] = []

    def stop() -> None:
        raise LockBusy(written("too late"))

    def noted(operation: str, seconds: float, *, failed: bool) -> None:
        assert seconds > 0
        calls.append((operation, failed))

    with WireServer(saying(*[answer(b"{}", f"{status} As told")] * 5)) as server:
        client = client_of(server.url, meter=Meter(noted))
        with pytest.raises(LockBusy):
            client.call("PUT", "/issues/1.json", body={}, before_send=stop)
        with suppress(BridgeError):
            client.call("PUT", "/issues/1.json", body={})
    with pytest.raises(BridgeError):
        client.call("GET", "/users.json")
    first = "PUT issues" if status == 200 else "PUT issues refused"
    assert (calls[0], calls[-1]) == ((first, status == 503), (LOST, True))


@pytest.mark.usefixtures("_trusted")
@pytest.mark.parametrize(
    ("method", "body"),
    [("POST", {"issue": 1}), ("PUT", {"issue": 1}), ("PUT", None), ("GET", None), ("DELETE", None)],
)
def test_the_lease_is_checked_right_before_the_request_leaves_and_it_leaves_as_one(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, method: str, body: Any
) -> None:
    """A worker may stop anywhere: as little as possible should happen between the check and the wire."""
    order: list[str] = []
    send, connect, write_head = socket.socket.send, socket.socket.connect, StreamWriter.write_headers

    def sending(self: socket.socket, data: bytes) -> int:
        if (text := bytes(data)).startswith(method.encode()):
            is_whole = text.endswith(b'{"issue": 1}' if body else b"\r\n\r\n")
            order.append("sent whole" if is_whole else "sent a piece")
        return send(self, data)

    def connecting(self: socket.socket, address: object) -> None:
        order.append("connected")
        connect(self, address)  # type: ignore[arg-type]

    async def writing(self: StreamWriter, *about: Any) -> None:
        await write_head(self, *about)
        order.append("wrote the head")

    monkeypatch.setattr(socket.socket, "send", sending)
    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(StreamWriter, "write_headers", writing)
    target = Target(server.url, SecretStr("key"))

    def turn() -> float:
        order.append("took a turn")
        return 0.0

    client = TrackerClient(target, rate_limiter=turn)
    for _ in range(2):
        client.call(method, "/issues.json", body=body, before_send=lambda: order.append("checked"))
    left = (
        ["wrote the head", "checked", "sent whole"] if body else ["checked", "wrote the head", "sent whole"]
    )
    assert order == ["took a turn", "connected", *left, "took a turn", *left]


def test_no_call_trusts_a_connection_that_was_idle(server: WireServer) -> None:
    with idle(0.3):
        client = client_of(server.url)
        client.call("GET", "/issues.json")
        client.call("POST", "/issues.json", body={})
        assert server.connections == 1
        time.sleep(0.5)
        client.call("POST", "/issues.json", body={})
        assert server.connections == 2


def test_a_connection_that_the_tracker_closed_meanwhile_is_replaced() -> None:
    def once(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        connection.sendall(OK)

    with WireServer(once) as server:
        client = client_of(server.url)
        for _ in range(3):
            client.call("POST", "/issues.json", body={})
            server.wait_for_the_end_of_the_newest()
        assert server.connections == 3


def test_after_a_time_out_the_late_answer_is_not_taken_for_the_next_one() -> None:
    is_over, is_said = threading.Event(), threading.Event()

    def late(server: WireServer, connection: socket.socket, number: int) -> None:
        server.read_request(connection)
        if number == 0:
            is_over.wait(30)
        with suppress(OSError):
            connection.sendall(answer(b'{"number": %d}' % number))
        is_said.set()
        server.ended.wait(30)

    with WireServer(late) as server:
        client = client_of(server.url, timeout=1.0)
        with pytest.raises(OutcomeUnknown):
            client.call("GET", "/issues.json")
        is_over.set()
        assert is_said.wait(30)
        assert client_of(server.url).call("GET", "/issues.json").data == {"number": 1}


@pytest.mark.usefixtures("_trusted")
def test_what_follows_an_error_uses_the_connection_again() -> None:
    with WireServer(saying(answer(b"", "503 Unavailable"), OK)) as server:
        client = client_of(server.url)
        with pytest.raises(OutcomeUnknown):
            client.call("GET", "/issues.json")
        assert client.call("GET", "/issues.json").data == {"ok": True}
        assert server.connections == 1


def test_tls_to_a_plain_port_sent_nothing(server: WireServer) -> None:
    client = client_of(server.url.replace("http:", "https:"), timeout=1.0)
    with pytest.raises(TrackerUnreachable):
        client.call("POST", "/issues.json", body={})


def test_a_tls_handshake_that_trickles_stays_within_the_time() -> None:
    def slow(server: WireServer, connection: socket.socket, _number: int) -> None:
        connection.recv(65536)
        trickle(connection, b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb", b"\x00", 0.1, server.ended)

    with WireServer(slow) as server:
        client = client_of(server.url.replace("http:", "https:"), timeout=0.5)
        started = time.monotonic()
        with pytest.raises(TrackerUnreachable):
            client.call("POST", "/issues.json", body={})
        assert time.monotonic() - started < 20, "the whole of it would take half an hour"


@pytest.fixture
def tls_server(tls_context: ssl.SSLContext) -> Iterator[WireServer]:
    with WireServer(saying(*[OK] * 5), tls_context) as running:
        yield running


@pytest.mark.promise("SEC-39")
def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    tls_server: WireServer,
) -> None:
    client = client_of(tls_server.url)
    with pytest.raises(TrackerUnreachable):
        client.call("POST", "/issues.json", body={})
    assert tls_server.requests == []


def test_certificates_are_not_checked_where_a_person_switched_that_off(tls_server: WireServer) -> None:
    client = client_of(tls_server.url, verify_tls=False)
    assert client.call("POST", "/issues.json", body={}).data == {"ok": True}
    assert len(tls_server.requests) == 1


@pytest.mark.promise("SEC-40")
def test_the_environment_s_proxies_and_netrc_do_not_get_the_key(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with WireServer(saying(OK)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        client = client_of(server.url)
        client.call("GET", "/issues.json")
        assert proxy.requests == []
    assert b"authorization" not in server.requests[0].lower()


@pytest.mark.filterwarnings(
    "ignore:Sending a large body"
)  # it does not block: the rest waits in the transport
def test_a_request_that_nobody_reads_stays_within_the_time() -> None:
    def deaf(server: WireServer, connection: socket.socket, _number: int) -> None:
        while not server.ended.wait(0.5):
            connection.recv(200_000)

    with WireServer(deaf) as server:
        client, left = client_of(server.url, timeout=1.0), list[float]()
        with pytest.raises(OutcomeUnknown):
            client.call(
                "POST",
                "/issues.json",
                body={"issue": "x" * 16_000_000},
                before_send=lambda: left.append(time.monotonic()),
            )
        assert time.monotonic() - left[0] < 15, "the whole of it would take half a minute"


def test_looking_up_and_the_handshake_share_the_call_s_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(server: WireServer, connection: socket.socket, _number: int) -> None:
        connection.recv(65536)
        server.ended.wait(60)

    with WireServer(slow) as server:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

        def look_up(*_: object) -> Any:
            time.sleep(1.5)
            return found

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        client = client_of("https://tracker.test", timeout=2.0)
        started = time.monotonic()
        with pytest.raises(TrackerUnreachable):
            client.call("POST", "/issues.json", body={})
        assert time.monotonic() - started < 3.4, (
            "each with a time of its own they would take three and a half"
        )
