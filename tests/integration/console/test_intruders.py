"""Attackers get nowhere in the console, neither without a token nor with another person's browser."""

from __future__ import annotations

import asyncio
import hmac
import socket
import threading
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.types import Message, Receive, Scope, Send

from producer.admin.access.accounts import AccountStore
from producer.console.auth import guard as guard_module
from producer.console.auth.guard import WRONG_TOKENS, Guard
from producer.console.rendering.languages import Languages
from producer.http import connections
from producer.http.bodies import Bodies
from producer.http.buckets import Buckets
from producer.http.shield import HEADERS
from tests.integration.console.conftest import TOKEN, Console
from tests.support.bridge import Bridge

ORIGIN = {"Origin": "https://evil.example"}


def raw(console: Console, request: bytes) -> bytes:
    """Send bytes; return the answer's bytes."""
    host, port = console.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        said = b""
        while piece := connection.recv(65536):
            said += piece
    return said


@pytest.mark.promise("SEC-24")
def test_wrong_tokens_from_one_address_have_to_wait_and_the_right_one_with_them(console: Console) -> None:
    for number in range(WRONG_TOKENS):
        console.refused("GET", "/api/links", 401, token=f"guess-{number}")
    answer = console.ask("GET", "/api/links", token="one more")
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert console.ask("GET", "/api/links").status_code == 429, "or it would tell that it was found"


@pytest.mark.promise("SEC-25")
def test_naming_other_addresses_does_not_shorten_the_wait(console: Console) -> None:
    statuses = [
        console.http.get(
            f"{console.base_url}/api/links",
            headers={"Authorization": "Bearer guess", "X-Forwarded-For": f"192.0.2.{number}"},
            timeout=30,
        ).status_code
        for number in range(WRONG_TOKENS + 5)
    ]
    assert statuses == [401] * WRONG_TOKENS + [429] * 5


def test_no_token_at_all_is_no_guess(console: Console) -> None:
    for _ in range(WRONG_TOKENS * 2):
        console.refused("GET", "/api/links", 401, token=None)
    assert console.ask("GET", "/api/links").status_code == 200


class NobodysAccounts(AccountStore):
    """Accounts without any account or token."""

    def __init__(self) -> None:
        pass

    def token_with(self, text: str) -> None:
        """Return None: no token is known."""


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ask(guard: Guard, client: str, token: str, receive: Receive = _nothing) -> int:
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/links",
        "client": (client, 1),
        "headers": [(b"authorization", f"Bearer {token}".encode())],
    }
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    await guard(scope, receive, send)
    return int(said[0]["status"])


async def _open(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def statuses(*asked: tuple[str, str], most: int = 100) -> list[int]:
    """Return a guard's answers to (client, token) pairs, one after the other."""
    guard = Guard(_open, [SecretStr(TOKEN)], NobodysAccounts(), Languages(), Buckets(0.001, 3, most=most))

    async def all_of_them() -> list[int]:
        return [await _ask(guard, client, token) for client, token in asked]

    return asyncio.run(all_of_them())


def test_another_address_does_not_have_to_wait() -> None:
    wrong = [("192.0.2.7", "guess")] * 4
    assert statuses(*wrong, ("192.0.2.8", TOKEN), ("192.0.2.7", TOKEN)) == [401, 401, 401, 429, 200, 429]


@pytest.mark.promise("SEC-24")
def test_the_addresses_of_one_ipv6_network_count_as_one() -> None:
    wrong = [(f"2001:db8:0:1:{number}::1", "guess") for number in range(4)]
    assert statuses(*wrong, ("2001:db8:0:2::1", TOKEN)) == [401, 401, 401, 429, 200]


@pytest.mark.promise("SEC-23")
def test_tokens_are_compared_in_constant_time(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(guard_module, "hmac", type("Hmac", (), {"compare_digest": staticmethod(compare)}))
    console.refused("GET", "/api/links", 401, token="guess")
    assert len(compared) == 2, "with every token, whether or not one has matched"
    assert all(len(one) == len(other) == 32 for one, other in compared), "digests, whose length tells nothing"


@pytest.mark.promise("SEC-29")
@pytest.mark.parametrize("path", ["/api/links", "/api/nothing", "/healthz", "/api/openapi.json"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_every_answer_tells_a_browser_to_do_nothing_with_it(
    console: Console, path: str, token: str | None
) -> None:
    answer = console.ask("GET", path, token=token)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers.get("X-Frame-Options") == "DENY"
    assert "Server" not in answer.headers


@pytest.mark.promise("SEC-29")
def test_an_unforeseen_fault_is_answered_in_the_same_way(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("hidden-word")

    monkeypatch.setattr("producer.admin.review.held.rows_on_hold", fail)
    answer = console.ask("GET", "/api/held")
    assert answer.status_code == 500
    assert "hidden-word" not in answer.text
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.promise("SEC-16")
def test_what_takes_long_of_somebody_signed_in_is_waited_for(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_S", 1.0)
    monkeypatch.setattr(connections, "ANSWER_S", 0.2)
    slow = threading.Event()

    def rows(*_: Any, **__: Any) -> list[Any]:
        slow.wait(1.6)
        return []

    monkeypatch.setattr("producer.admin.review.held.rows_on_hold", rows)
    assert console.ask("GET", "/api/held").status_code == 200


@pytest.mark.promise("SEC-27")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_cookie_signs_nobody_in_and_none_is_ever_set(console: Console, method: str) -> None:
    for name in ("session", "token", "Authorization", "access_token"):
        cookies = {name: TOKEN, "x": f"Bearer {TOKEN}"}
        answer = console.http.request(
            method, f"{console.base_url}/api/config", cookies=cookies, json={}, headers=ORIGIN, timeout=30
        )
        assert answer.status_code == 401
        assert "Set-Cookie" not in answer.headers
    signed = console.http.request(
        method,
        f"{console.base_url}/api/config",
        headers={**ORIGIN, "Authorization": f"Bearer {TOKEN}"},
        timeout=30,
    )
    assert "Set-Cookie" not in signed.headers


@pytest.mark.promise("SEC-27")
@pytest.mark.parametrize(
    "where",
    [
        f"/api/links?token={TOKEN}",
        f"/api/links?access_token={TOKEN}",
        f"/api/links?authorization=Bearer {TOKEN}",
    ],
)
def test_a_token_in_an_address_signs_nobody_in(console: Console, where: str) -> None:
    console.refused("GET", where, 401, token=None)


@pytest.mark.promise("SEC-28")
def test_another_site_s_script_may_not_read_or_send_anything(console: Console) -> None:
    preflight = console.http.options(
        f"{console.base_url}/api/config",
        headers={
            **ORIGIN,
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization",
        },
        timeout=30,
    )
    assert preflight.status_code == 401
    assert not [name for name in preflight.headers if name.lower().startswith("access-control-")]
    answer = console.http.get(
        f"{console.base_url}/api/links", headers={**ORIGIN, "Authorization": f"Bearer {TOKEN}"}, timeout=30
    )
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.promise("SEC-30")
@pytest.mark.parametrize(
    "path",
    [
        "/api/links/",
        "//evil.example/",
        "/api//links",
        "/%2f%2fevil.example",
        "/api/links/../config",
        "/\\evil.example/",
    ],
)
def test_nobody_is_redirected_anywhere(console: Console, path: str) -> None:
    for token in (b"", b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"):
        said = raw(
            console,
            b"GET %b HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n%b\r\n" % (path.encode(), token),
        )
        status = int(said.split(b" ")[1])
        assert status in (400, 401, 404), said
        assert b"location:" not in said.lower()


@pytest.mark.promise("SEC-30")
@pytest.mark.parametrize(
    "path",
    [
        "/api/metadata/%0d%0aX-Evil:%201",
        "/api/events?state=%0d%0aX-Evil:%201",
        "/api/trace/1%0d%0aX-Evil:%201",
        "/api/metadata/..%2f..%2fetc%2fpasswd",
        "/api/metadata/%2e%2e/%2e%2e/etc/passwd",
        "/api/metadata/%00",
        "/api/metadata/%ff%fe",
        "/api/metadata/%ed%a0%80",
    ],
)
def test_what_a_path_names_gets_into_no_header_and_opens_no_file(console: Console, path: str) -> None:
    said = raw(
        console,
        b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %b\r\n\r\n"
        % (path.encode(), TOKEN.encode()),
    )
    head, _, body = said.partition(b"\r\n\r\n")
    assert int(head.split(b" ")[1]) in (404, 422), said
    assert b"x-evil" not in head.lower()
    assert b"root:" not in body


def test_characters_that_utf_8_has_not_are_refused_and_no_fault(console: Console) -> None:
    answer = console.http.patch(
        f"{console.base_url}/api/config",
        data=b'{"\\ud800": "\\udfff"}',
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        timeout=30,
    )
    assert answer.status_code == 422


@pytest.mark.promise("SEC-41")
@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/", "http://[fe80::1]/", "http://metadata.google.internal", "http://2852039166"],
)
def test_a_tracker_cannot_be_set_to_where_none_is(console: Console, url: str) -> None:
    console.do("DELETE", "/api/links/entities/3", status=204)
    problem = console.refused("PATCH", "/api/config?moved=true", 422, {"base_url": url, "api_key": "x"})
    assert "DESKBRIDGE_ALLOW_LINK_LOCAL" in problem["detail"]


@pytest.mark.promise("SEC-38")
def test_the_stored_key_is_not_sent_to_an_address_that_somebody_without_the_key_names(
    console: Console,
) -> None:
    other = {"base_url": "http://127.0.0.1:9"}
    assert "api_key" in console.refused("PATCH", "/api/config?moved=true", 422, other)["detail"]
    same = console.get("/api/config")["base_url"]
    console.refused("PATCH", "/api/config", 422, {"base_url": same.replace("http:", "https:")})
    console.refused("PATCH", "/api/config?moved=true", 422, {"base_url": None})
    console.refused("PATCH", "/api/config", 422, {"base_url": "https://[::1"})
    for other_path in (f"{same}/redmine", f"{same}/..//x", same.replace("127.0.0.1", "LOCALHOST")):
        problem = console.refused("PATCH", "/api/config?moved=true", 422, {"base_url": other_path})
        assert "api_key" in problem["detail"]
    console.do("PATCH", "/api/config", {"base_url": f"{same}/"})
    moved = console.do("PATCH", "/api/config?moved=true", {**other, "api_key": "of-the-new-one"})
    assert moved["config"]["base_url"] == "http://127.0.0.1:9"


@pytest.mark.promise("SEC-38")
def test_certificates_are_checked_whatever_somebody_without_the_key_says(
    console: Console,
) -> None:
    problem = console.refused("PATCH", "/api/config", 422, {"verify_tls": False})
    assert "api_key" in problem["detail"]
    console.do("PATCH", "/api/config", {"verify_tls": False, "api_key": "the-key"})
    console.do("PATCH", "/api/config", {"verify_tls": False, "done_state": 3})
    console.do("PATCH", "/api/config", {"verify_tls": True})


def test_the_stored_key_is_not_sent_to_the_first_address_that_somebody_without_the_key_names(
    console: Console, bridge: Bridge
) -> None:
    bridge.configure(base_url=None)
    assert (
        "api_key"
        in console.refused("PATCH", "/api/config", 422, {"base_url": "http://127.0.0.1:9"})["detail"]
    )


@pytest.mark.promise("SEC-11")
def test_a_body_that_never_ends_is_cut_off_also_of_whoever_is_signed_in() -> None:
    guard = Guard(_open, [SecretStr(TOKEN)], NobodysAccounts(), Languages(), bodies=Bodies(seconds=0.1))

    async def never() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    assert asyncio.run(_ask(guard, "192.0.2.7", TOKEN, never)) == 408
    assert asyncio.run(_ask(guard, "192.0.2.7", "guess", never)) == 401, "whose body is not even waited for"
