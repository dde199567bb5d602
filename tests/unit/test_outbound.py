"""Calls to GLPI and OpenID providers have a total time limit and ignore proxies and passwords of the environment."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from shared.notices.faults import Detail
from shared.notices.notice import Notice
from shared.process.bounded import OutOfTime, Unanswered, bounded_call
from shared.process.outbound import Outbound
from tests.integration.conftest import tls_context
from tests.support.wire import WireServer, answer, saying, trickle

WITHIN_S = 0.5
BOUND_S = 5.0
"""Far less than any of these servers would take."""

__all__ = ["tls_context"]


def call(address: str, outbound: Outbound | None = None, **options: Any) -> tuple[int, bytes | None]:
    return bounded_call(outbound or Outbound(), "GET", address, within=WITHIN_S, most=1000, **options)[:2]


def ends_in_time(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        call(address)
    assert WITHIN_S <= time.monotonic() - began < BOUND_S


@pytest.mark.promise("SEC-75")
@pytest.mark.parametrize(
    "start",
    [b"", b"H", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"],
    ids=["nothing", "status", "headers", "body"],
)
def test_an_answer_that_trickles_ends_in_time_and_so_does_its_connection(start: bytes) -> None:
    ended = threading.Event()

    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        try:
            trickle(connection, start, b"x" if start else b"", 0.05, server.ended)
        finally:
            ended.set()

    if not start:  # a server that sends nothing only notices that the connection is closed

        def script(server: WireServer, connection: socket.socket, _number: int) -> None:
            server.read_request(connection)
            assert connection.recv(1) == b""
            ended.set()

    with WireServer(script) as server:
        ends_in_time(server.url)
        assert ended.wait(10), "nothing is left of the call"


@pytest.mark.promise("SEC-75")
def test_a_handshake_that_goes_nowhere_ends_in_time() -> None:
    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        connection.recv(10)
        trickle(connection, b"\x16\x03\x03\x40\x00", b"\x00", 0.05, server.ended)

    with WireServer(script) as server:
        ends_in_time(server.url.replace("http:", "https:"))
        server.wait_for_the_end_of_the_newest()


@pytest.mark.promise("SEC-75")
def test_a_name_that_is_not_resolved_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()

    def resolve(*_: object, **__: object) -> object:
        may_end.wait(30)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    ends_in_time("http://glpi.example.org")
    may_end.set()


@pytest.mark.promise("SEC-75")
def test_what_is_connected_after_the_end_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved, may_end = socket.getaddrinfo, threading.Event()

    def resolve(*arguments: object, **options: object) -> object:
        may_end.wait(30)
        return resolved(*arguments, **options)  # type: ignore[arg-type]

    with WireServer(saying(answer())) as server:
        with monkeypatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", resolve)
            ends_in_time(server.url)
            may_end.set()
            deadline = time.monotonic() + 10
            while not server.connections and time.monotonic() < deadline:
                time.sleep(0.01)
        server.wait_for_the_end_of_the_newest()
        assert server.requests == []


def test_an_answer_is_returned_up_to_the_bytes_that_are_read() -> None:
    answers = (answer(b"{}"), answer(b"x" * 1000, "404 Not Found"), answer(b"x" * 1001))
    for one, expected in zip(answers, ((200, b"{}"), (404, b"x" * 1000), (200, None)), strict=True):
        with WireServer(saying(one)) as server:
            assert call(server.url) == expected


@pytest.mark.promise("SEC-75")
def test_a_redirect_is_not_followed() -> None:
    with WireServer(saying(answer(b"", "302 Found", "Location: http://127.0.0.1:9/"))) as server:
        assert call(server.url) == (302, b"")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/", "http://[", "http://a:99999/", "ftp://a/", "x"])
def test_what_cannot_be_asked_is_told_by_its_kind(address: str) -> None:
    with pytest.raises(Unanswered) as failed:
        call(address)
    error = failed.value.error
    assert (error if isinstance(error, str) else error.code) in {
        Detail.CONNECTION_REFUSED,
        "InvalidSchema",
        "InvalidURL",
        "MissingSchema",
        "LocationParseError",
    }


@pytest.mark.promise("SEC-75")
def test_proxies_and_passwords_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password hidden-word\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with WireServer(saying(answer())) as server:
        assert call(server.url) == (200, b"{}")
        (request,) = server.requests
    assert b"authorization" not in request.lower()


def test_a_proxy_that_the_settings_name_is_gone_through() -> None:
    with WireServer(saying(answer(b"by the proxy"))) as proxy:
        through = Outbound(proxy=SecretStr(proxy.url))
        assert call("http://glpi.example.org/api", through) == (200, b"by the proxy")
        assert proxy.requests[0].startswith(b"GET http://glpi.example.org/api HTTP/1.1\r\n")

    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        trickle(connection, b"H", b"x", 0.05, server.ended)

    with WireServer(script) as proxy:
        began = time.monotonic()
        with pytest.raises(OutOfTime):
            call("https://login.example.org/", Outbound(proxy=SecretStr(proxy.url)))
        assert time.monotonic() - began < BOUND_S
        proxy.wait_for_the_end_of_the_newest()
        assert proxy.requests[0].startswith(b"CONNECT login.example.org:443 ")


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_context: ssl.SSLContext) -> None:
    with WireServer(saying(answer()), tls_context) as server:
        with pytest.raises(Unanswered) as refused:
            bounded_call(Outbound(), "GET", server.url, within=10, most=1000)
        assert isinstance(refused.value.error, Notice)
        assert refused.value.error.code == Detail.CERTIFICATE_OF_UNKNOWN_AUTHORITY


def test_authorities_that_the_settings_name_vouch_for_a_certificate(
    tls_context: ssl.SSLContext, tmp_path: Path
) -> None:
    with WireServer(saying(answer()), tls_context) as server:
        trusting = Outbound(ca_file=str(tmp_path / "authority.pem"))
        assert bounded_call(trusting, "GET", server.url, within=10, most=1000)[:2] == (200, b"{}")
