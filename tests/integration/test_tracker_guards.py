"""What aiohttp is prevented from doing, and how threads share the one event loop of their process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import SecretStr

from shared.errors import OutcomeUnknown, TrackerUnreachable
from shared.notices.faults import Detail
from shared.process.outbound import Outbound
from shared.tracker import client as client_module
from shared.tracker import portal, sessions
from shared.tracker.client import TIMEOUT_S, Target, TrackerClient
from tests.integration.tracker_calls import idle
from tests.support.wire import WireServer, answer, reset, saying, trickle

OK = answer(b'{"ok": true}')
PERSON = "Basic cGVyc29uOnNlY3JldCB3b3Jk"
"""person:secret word"""


@pytest.fixture(autouse=True)
def _trusted() -> Iterator[None]:
    """However slow the machine is, no connection counts as idle for too long."""
    with idle(600.0):
        yield


def client_of(url: str, timeout: float = 60.0, outbound: Outbound | None = None) -> TrackerClient:
    return TrackerClient(Target(url, SecretStr("key"), outbound=outbound or Outbound()), timeout=timeout)


@pytest.mark.parametrize("ends_by", ["closing", "a reset"])
@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_no_call_is_repeated_when_its_connection_breaks(method: str, *, is_kept: bool, ends_by: str) -> None:
    def breaks(server: WireServer, connection: socket.socket, number: int) -> None:
        if is_kept and number == 0:
            server.read_request(connection)
            connection.sendall(OK)
        server.read_request(connection)
        if ends_by == "a reset":
            reset(connection)

    with WireServer(breaks) as server:
        client = client_of(server.url)
        if is_kept:
            client.call("GET", "/before.json")
        with pytest.raises(OutcomeUnknown):
            client.call(method, "/issues.json", body={} if method in ("POST", "PUT") else None)
        sent = [one for one in server.requests if b"/issues.json" in one]
        assert (len(sent), server.connections) == (1, 1)


def test_a_trickling_answer_ends_with_the_five_seconds_of_the_call() -> None:
    def trickling(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        trickle(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"a", 0.05, server.ended)

    with WireServer(saying(OK)) as other:
        client_of(other.url).call("GET", "/issues.json")
    with WireServer(trickling) as server:
        client, seen = TrackerClient(Target(server.url, SecretStr("key"))), list[int]()
        with pytest.raises(OutcomeUnknown):
            client.call("GET", "/issues.json", observe=lambda record: seen.append(record.milliseconds))
    assert TIMEOUT_S == 5.0
    assert 4900 < seen[0] < 5100


@pytest.mark.filterwarnings(
    "ignore:Sending a large body"
)  # it does not block: the rest waits in the transport
def test_nothing_more_of_a_request_leaves_once_its_call_has_ended() -> None:
    """Otherwise the tracker would execute it later, when it may have been sent again."""
    is_over, came = threading.Event(), list[int]()

    def deaf(_server: WireServer, connection: socket.socket, _number: int) -> None:
        is_over.wait(30)
        while piece := connection.recv(1_000_000):
            came.append(len(piece))

    with WireServer(deaf) as server:
        with pytest.raises(OutcomeUnknown):
            client_of(server.url, timeout=1.0).call("POST", "/issues.json", body={"a": "x" * 30_000_000})
        is_over.set()
        server.wait_for_the_end_of_the_newest()
    assert sum(came) < 30_000_000


@pytest.mark.promise("SEC-42")
@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "100.100.100.200"]
)
def test_an_address_where_no_tracker_may_be_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """An IP address needs no lookup, so the check of looked-up names does not see it."""
    connected = list[object]()
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: connected.append(address))
    with pytest.raises(TrackerUnreachable, match="DESKBRIDGE_ALLOW_LINK_LOCAL"):
        client_of(f"http://{host}").call("GET", "/issues.json")
    assert connected == []


def test_behind_a_proxy_only_the_proxy_is_checked() -> None:
    with WireServer(saying(OK)) as proxy:
        outbound = Outbound(proxy=SecretStr(proxy.url))
        client_of("http://169.254.169.254", outbound=outbound).call("GET", "/issues.json")
        assert proxy.requests[0].startswith(b"GET http://169.254.169.254/issues.json HTTP/1.1\r\n")
    forbidden = Outbound(proxy=SecretStr("http://169.254.169.254:3128"))
    with pytest.raises(TrackerUnreachable, match="DESKBRIDGE_ALLOW_LINK_LOCAL"):
        client_of("http://tracker.test", outbound=forbidden).call("GET", "/issues.json")


def test_each_request_by_a_proxy_says_who_we_are() -> None:
    with WireServer(saying(OK, OK)) as proxy:
        outbound = Outbound(proxy=SecretStr(proxy.url.replace("//", "//person:secret%20word@")))
        client = client_of("http://tracker.test", outbound=outbound)
        for _ in range(2):
            client.call("POST", "/issues.json", body={})
    assert proxy.connections == 1
    for one in proxy.requests:
        assert one.startswith(b"POST http://tracker.test/issues.json HTTP/1.1\r\n")
        assert f"\r\nProxy-Authorization: {PERSON}\r\n".encode() in one


def test_a_proxy_that_refuses_is_named_and_is_not_given_the_key() -> None:
    asked = list[str]()
    with WireServer(saying(answer(b"", "407 Proxy Authentication Required"))) as proxy:
        outbound = Outbound(proxy=SecretStr(proxy.url.replace("//", "//person:secret%20word@")))
        with pytest.raises(TrackerUnreachable) as refused:
            client_of("https://tracker.test", outbound=outbound).call(
                "POST", "/issues.json", body={}, before_send=lambda: asked.append("asked")
            )
    assert refused.value.notice.params["detail"].code == Detail.PROXY_REFUSED
    assert "407" in str(refused.value)
    assert not asked, "nothing is asked of the tracker yet"
    assert proxy.requests[0].startswith(b"CONNECT tracker.test:443 HTTP/1.1\r\n")
    assert f"\r\nProxy-Authorization: {PERSON}\r\n".encode() in proxy.requests[0]
    for secret in ("key", "secret", PERSON):
        assert secret not in f"{refused.value} {refused.value!r}"
    assert b"API-Key" not in proxy.requests[0]


def test_no_more_names_are_looked_up_at_once_than_four(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most, let_go = list[int](), list[int](), threading.Event()

    def slowly(*_: object, **__: object) -> None:
        under_way.append(1)
        most.append(len(under_way))
        let_go.wait(30)
        under_way.pop()
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    client = client_of("http://tracker.test", timeout=1.0)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(client.call, "GET", "/issues.json") for _ in range(8)]
        errors = [call.exception() for call in calls]
    let_go.set()
    assert all(type(error) is TrackerUnreachable for error in errors)
    assert max(most) == sessions.LOOKUPS == 4


def test_a_synchronous_call_in_a_coroutine_is_an_error() -> None:
    """It would block the loop that it waits for."""
    client = client_of("http://127.0.0.1:1")

    async def call() -> None:
        client.call("GET", "/issues.json")

    with pytest.raises(RuntimeError, match="await `send`"):
        asyncio.run(call())


def test_the_calls_of_all_threads_are_made_by_one() -> None:
    before = set(threading.enumerate())
    with WireServer(saying(*[OK] * 9)) as server, ThreadPoolExecutor(3) as pool:
        clients = [client_of(server.url) for _ in range(3)]
        for _ in range(3):
            for made in [pool.submit(one.call, "GET", "/issues.json") for one in clients]:
                made.result()
        names = {thread.name for thread in set(threading.enumerate()) - before}
        assert [name for name in names if name == "tracker-portal"] == ["tracker-portal"]
        assert server.connections <= 3, "clients of one way to trackers share their connections"


def test_a_thread_waits_for_its_call_no_longer_than_a_call_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even if the loop is stuck."""
    monkeypatch.setattr(client_module, "LONGEST_S", 0.5)
    let_go = threading.Event()
    with WireServer(saying(OK)) as server:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            client_of(server.url).call("POST", "/issues.json", body={}, before_send=lambda: _wait(let_go))
        assert time.monotonic() - began < 10
        let_go.set()


def test_a_portal_that_was_closed_opens_again() -> None:
    with WireServer(saying(OK)) as server:
        client = client_of(server.url)
        client.call("GET", "/issues.json")
        portal.PORTAL.close()
        portal.PORTAL.close()
    with WireServer(saying(OK)) as server:
        client_of(server.url).call("GET", "/issues.json")


def _wait(let_go: threading.Event) -> None:
    let_go.wait(30)
