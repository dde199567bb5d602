"""How the tracker client uses its connections: kept alive, one per thread, never trusted when idle; TLS."""

from __future__ import annotations

import gc
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from shared.codes.notice import written
from shared.errors import BridgeError, LockBusy, OutcomeUnknown, Outdated, TrackerUnreachable
from shared.tracker import client as client_module
from shared.tracker import connection as connection_module
from shared.tracker.client import CallRecord, Target, TrackerClient
from shared.tracker.connection import Watch
from shared.tracker.meter import LOST, Meter
from tests.support.waiting import until
from tests.support.wire import WireServer, answer, saying, trickle

OK = answer(b'{"ok": true}')


def client_of(
    url: str, *, verify_tls: bool = True, timeout: float = 60.0, meter: Meter | None = None
) -> TrackerClient:
    target = Target(url, SecretStr("key"), verify_tls=verify_tls)
    return TrackerClient(target, timeout=timeout, meter=meter)


@pytest.fixture
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, no connection is taken for one that was idle for long."""
    monkeypatch.setattr(client_module, "IDLE_S", 600.0)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(saying(*[OK] * 20)) as running:
        yield running


@pytest.mark.usefixtures("_trusted")
def test_a_thread_s_calls_share_one_connection(server: WireServer) -> None:
    client = client_of(server.url)
    for _ in range(5):
        client.call("GET", "/issues.json")
        client.call("POST", "/issues.json", body={})
    client.close()
    assert server.connections == 1


@pytest.mark.usefixtures("_trusted")
def test_calls_of_one_thread_after_the_other_share_one_connection_too(server: WireServer) -> None:
    """With many threads each would else be idle for so long that nobody trusts its connection."""
    client = client_of(server.url)
    for _ in range(5):
        thread = threading.Thread(target=client.call, args=("POST", "/issues.json"), kwargs={"body": {}})
        thread.start()
        thread.join()
    client.close()
    assert server.connections == 1


def test_calls_at_once_have_a_connection_each(server: WireServer) -> None:
    client, here = client_of(server.url), threading.Barrier(3)

    def meet() -> None:
        here.wait()

    def work() -> None:
        for _ in range(2):
            client.call("GET", "/issues.json", before_send=meet)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
    client.close()
    assert len(server.requests) == 1
    assert server.requests[0].startswith(b"GET")


@pytest.mark.parametrize("why", [Outdated, LockBusy])
def test_a_call_that_is_not_to_be_made_any_more_is_none_that_got_no_answer(
    server: WireServer, why: type[BridgeError]
) -> None:
    def stop() -> None:
        raise why(written("changed meanwhile"))

    client, seen = client_of(server.url), list[CallRecord]()
    with pytest.raises(why):
        client.call("PUT", "/issues/1.json", body={}, before_send=stop, observe=seen.append)
    client.close()
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
    client.close()
    first = "PUT issues" if status == 200 else "PUT issues refused"
    assert (calls[0], calls[-1]) == ((first, status == 503), (LOST, True))


def test_the_lease_is_checked_last_and_head_and_body_leave_as_one(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may be stopped anywhere; the less there is between the check and the wire, the better."""
    order: list[str] = []
    send, connect = socket.socket.send, socket.socket.connect

    def sending(self: socket.socket, data: bytes) -> int:
        whole = bytes(data).endswith(b'{"issue": 1}') and bytes(data).startswith(b"POST")
        order.append("sent whole" if whole else "piece")
        return send(self, data)

    def connecting(self: socket.socket, address: object) -> None:
        order.append("connected")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "send", sending)
    monkeypatch.setattr(socket.socket, "connect", connecting)
    client = TrackerClient(
        Target(server.url, SecretStr("key")), rate_limiter=lambda: order.append("throttled")
    )
    client.call("POST", "/issues.json", body={"issue": 1}, before_send=lambda: order.append("checked"))
    client.close()
    assert order == ["throttled", "connected", "checked", "sent whole"]


def test_a_write_does_not_trust_a_connection_that_was_idle(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "IDLE_S", 0.05)
    client = client_of(server.url)
    client.call("GET", "/issues.json")
    time.sleep(0.1)
    client.call("GET", "/issues.json")
    assert server.connections == 1, "a read may be repeated, so it uses what is there"
    time.sleep(0.1)
    client.call("POST", "/issues.json", body={})
    client.close()
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
        client.close()
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
        client._timeout = 60.0
        assert client.call("GET", "/issues.json").data == {"number": 1}
        client.close()


def test_what_follows_an_error_uses_the_connection_again() -> None:
    with WireServer(saying(answer(b"", "503 Unavailable"), OK)) as server:
        client = client_of(server.url)
        with pytest.raises(OutcomeUnknown):
            client.call("GET", "/issues.json")
        assert client.call("GET", "/issues.json").data == {"ok": True}
        client.close()
        assert server.connections == 1


def test_tls_to_a_plain_port_sent_nothing(server: WireServer) -> None:
    client = client_of(server.url.replace("http:", "https:"), timeout=1.0)
    with pytest.raises(TrackerUnreachable):
        client.call("POST", "/issues.json", body={})
    client.close()


def test_a_tls_handshake_that_trickles_stays_within_the_time() -> None:
    def slow(server: WireServer, connection: socket.socket, _number: int) -> None:
        connection.recv(65536)
        trickle(connection, b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb", b"\x00", 0.1, server.ended)

    with WireServer(slow) as server:
        client = client_of(server.url.replace("http:", "https:"), timeout=0.5)
        started = time.monotonic()
        with pytest.raises(TrackerUnreachable):
            client.call("POST", "/issues.json", body={})
        client.close()
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
    client.close()
    assert tls_server.requests == []


def test_certificates_are_not_checked_where_a_person_switched_that_off(tls_server: WireServer) -> None:
    client = client_of(tls_server.url, verify_tls=False)
    assert client.call("POST", "/issues.json", body={}).data == {"ok": True}
    client.close()
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
        client.close()
        assert proxy.requests == []
    assert b"authorization" not in server.requests[0].lower()


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
        client.close()


def test_a_request_that_leaves_byte_by_byte_stays_within_the_time() -> None:
    class Slow:
        def settimeout(self, _seconds: float) -> None:
            pass

        def send(self, _data: memoryview) -> int:
            time.sleep(0.02)
            return 1

    slow: Any = Slow()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        connection_module._send(Watch(0.2), slow, memoryview(b"a" * 1000))
    assert time.monotonic() - started < 10, "the whole of it would take twenty seconds"


def test_connecting_and_the_handshake_share_the_call_s_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(server: WireServer, connection: socket.socket, _number: int) -> None:
        connection.recv(65536)
        server.ended.wait(60)

    connect = socket.socket.connect

    def connecting(self: socket.socket, address: object) -> None:
        time.sleep(2.5)
        connect(self, address)  # type: ignore[arg-type]

    with WireServer(slow) as server:
        monkeypatch.setattr(socket.socket, "connect", connecting)
        client = client_of(server.url.replace("http:", "https:"), timeout=3.0)
        started = time.monotonic()
        with pytest.raises(TrackerUnreachable):
            client.call("POST", "/issues.json", body={})
        assert time.monotonic() - started < 5.2, "each with a time of its own they would take five and a half"
        client.close()


def test_who_is_forgotten_with_its_client_in_a_circle_closes_without_a_warning(server: WireServer) -> None:
    """Of objects in a circle a socket may end before what would have closed it."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(20):
            client = client_of(server.url)
            circle: list[object] = []
            threading.Thread(target=client.call, args=("GET", "/issues.json")).start()
            circle += [circle, client]
            gc.collect(0)
            del client, circle
        until(lambda: server.connections == 20)
        gc.collect()
    assert [str(one.message) for one in warned] == []


def test_calls_under_way_need_no_thread_of_their_own() -> None:
    with WireServer(saying(OK, OK)) as server:
        client = client_of(server.url)
        client.call("GET", "/issues.json")
        before, during = set(threading.enumerate()), list[set[threading.Thread]]()
        client.call("GET", "/issues.json", before_send=lambda: during.append(set(threading.enumerate())))
        client.close()
        assert [some - before for some in during] == [set()], "some may have ended meanwhile"
