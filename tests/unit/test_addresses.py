"""No tracker is reached at link-local addresses or metadata services of clouds, in any notation."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from pydantic import SecretStr

from shared.errors import TrackerUnreachable
from shared.tracker.client import Target, TrackerClient
from shared.values.addresses import why_forbidden

REAL = socket.getaddrinfo
FORBIDDEN = [
    "169.254.169.254",
    "169.254.0.1",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "fe80::1",
    "febf::1",
    "[fe80::1]",
    "fe80::1%1",
    "fd00:ec2::254",
    "fd00:0ec2:0:0::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata",
]
ALLOWED = [
    "127.0.0.1",
    "::1",
    "localhost",
    "10.0.0.7",
    "172.16.3.4",
    "192.168.1.1",
    "fd12:3456::1",
    "redmine.example.org",
    "169.253.255.255",
    "169.255.0.1",
    "fec0::1",
    "metadata.example.org",
    "xn--bcher-kva.example",
    "",
]


@pytest.mark.promise("SEC-41")
@pytest.mark.parametrize("host", FORBIDDEN)
def test_link_local_and_metadata_addresses_are_forbidden(host: str) -> None:
    assert why_forbidden(host)


@pytest.mark.parametrize("host", ALLOWED)
def test_other_addresses_are_not(host: str) -> None:
    assert why_forbidden(host) is None


def test_telling_asks_no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = socket.getaddrinfo

    def look(*arguments: Any, **options: Any) -> Any:
        asked.append(options.get("flags", 0))
        return real(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look)
    why_forbidden("redmine.example.org")
    assert asked
    assert all(flags & socket.AI_NUMERICHOST for flags in asked)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses to which a connection was tried; each is refused."""
    tried: list[Any] = []

    def connect(_self: socket.socket, address: Any) -> None:
        tried.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


def leading_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Resolve every host name to these addresses."""

    def look(host: str, port: Any, **options: Any) -> Any:
        if options.get("flags"):
            return REAL(host, port, **options)
        return [found for one in addresses for found in REAL(one, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", look)


def call(**target: Any) -> TrackerUnreachable:
    client = TrackerClient(Target("http://tracker.test", SecretStr("key"), **target))
    with pytest.raises(TrackerUnreachable) as failure:
        client.call("GET", "/issues.json")
    return failure.value


@pytest.mark.promise("SEC-42")
@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254"])
def test_a_name_that_leads_there_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, connected: list[Any], address: str
) -> None:
    leading_to(monkeypatch, address)
    assert "DESKBRIDGE_ALLOW_LINK_LOCAL" in str(call())
    assert connected == []


def test_one_such_address_among_good_ones_is_enough(
    monkeypatch: pytest.MonkeyPatch, connected: list[Any]
) -> None:
    leading_to(monkeypatch, "127.0.0.1", "169.254.169.254")
    call()
    assert connected == []


@pytest.mark.promise("SEC-42")
def test_a_name_that_is_rebound_between_two_calls_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, connected: list[Any]
) -> None:
    leading_to(monkeypatch, "192.0.2.7")
    call()
    leading_to(monkeypatch, "169.254.169.254")
    call()
    assert connected == ["192.0.2.7"]


def test_the_setting_lets_a_tracker_be_there(monkeypatch: pytest.MonkeyPatch, connected: list[Any]) -> None:
    leading_to(monkeypatch, "169.254.169.254")
    assert "DESKBRIDGE_ALLOW_LINK_LOCAL" not in str(call(allow_link_local=True))
    assert connected == ["169.254.169.254"]
