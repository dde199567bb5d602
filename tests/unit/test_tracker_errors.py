"""Every answer and every failure of the HTTP library maps to one class of the error tree (SPEC section 7)."""

from __future__ import annotations

import builtins
import json
import socket
import ssl
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import ModuleType
from typing import Any

import aiohttp.client_exceptions
import aiohttp.http_exceptions
import pytest
from pydantic import SecretStr
from requests.structures import CaseInsensitiveDict

from shared.errors import (
    BridgeError,
    ImpersonationRefused,
    OutcomeUnknown,
    TrackerBusy,
    TrackerClosed,
    TrackerError,
    TrackerRejected,
    TrackerUnreachable,
)
from shared.notices.notice import written
from shared.tracker import body
from shared.tracker.answers import LONGEST_WAIT_S, Answer, read_answer
from shared.tracker.client import Target, TrackerClient
from shared.tracker.sessions import SendGuard

METHODS = ["GET", "POST", "PUT", "DELETE"]
ERRORS = b'{"errors": ["Subject cannot be blank"]}'


def exceptions_of(module: ModuleType) -> list[type[BaseException]]:
    """Return the exceptions that a module defines, without warnings."""
    return [
        found
        for found in vars(module).values()
        if isinstance(found, type)
        and issubclass(found, Exception)
        and not issubclass(found, Warning)
        and found.__module__ == module.__name__
    ]


FOREIGN = [
    *exceptions_of(aiohttp.client_exceptions),
    *exceptions_of(aiohttp.http_exceptions),
    *exceptions_of(body),
    *exceptions_of(ssl),
    ssl.SSLError,
    zlib.error,
]
SYSTEM = [one for one in exceptions_of(builtins) if one is not StopAsyncIteration] + [socket.gaierror]


def test_the_library_s_exceptions_were_found() -> None:
    assert len(FOREIGN) > 30
    assert {aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, body.AnswerCut} <= set(FOREIGN)
    assert {TimeoutError, ConnectionResetError, UnicodeError} <= set(SYSTEM)


def blank(kind: type[Exception]) -> Exception:
    """Return an instance of an exception without calling its constructor."""
    return kind.__new__(kind)


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize(
    "foreign", dict.fromkeys([*FOREIGN, *SYSTEM]), ids=lambda one: f"{one.__module__}.{one.__name__}"
)
def test_a_failure_of_the_library_tells_whether_anything_was_sent(
    monkeypatch: pytest.MonkeyPatch, foreign: type[Exception], sent: bool
) -> None:
    async def fail(_client: TrackerClient, guard: SendGuard, *_: Any) -> None:
        guard.sent = sent
        raise blank(foreign)

    monkeypatch.setattr(TrackerClient, "_answer", fail)
    client = TrackerClient(Target("http://127.0.0.1:1", SecretStr("key")))
    with pytest.raises(TrackerError) as failure:
        client.call("POST", "/issues.json", body={"issue": {}})
    assert type(failure.value) is (OutcomeUnknown if sent else TrackerUnreachable)
    assert failure.value.__cause__ is None, "the library's exception may hold the key"
    assert failure.value.__context__ is None


def outcome(method: str, status: int, **options: Any) -> type[Any]:
    """Return the class of the answer or of the error that a status becomes."""
    path = options.pop("path", "/issues.json")
    impersonating = options.pop("impersonating", False)
    headers: Mapping[str, str] = CaseInsensitiveDict(options.pop("headers", {}))
    body = options.pop("body", ERRORS)
    try:
        return type(
            read_answer(method, path, status=status, headers=headers, body=body, impersonating=impersonating)
        )
    except BridgeError as error:
        return type(error)


def expected(method: str, status: int, impersonating: bool, retry_after: bool) -> type[Any]:
    """Return the expected class, from an independent formulation of the rules."""
    if status // 100 == 2:
        return Answer
    if status == 429 or (status == 503 and retry_after):
        return TrackerBusy
    if status == 401:
        return TrackerClosed
    if status // 100 in (1, 5):
        return OutcomeUnknown
    if impersonating and status in {403, 404, 412, 422}:
        return ImpersonationRefused
    return TrackerRejected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("impersonating", [False, True])
@pytest.mark.parametrize("retry_after", [False, True])
def test_every_status_has_its_class(method: str, impersonating: bool, retry_after: bool) -> None:
    headers = {"retry-after": "7"} if retry_after else {}
    for status in range(100, 600):
        found = outcome(method, status, impersonating=impersonating, headers=headers)
        assert found is expected(method, status, impersonating, retry_after), status


@pytest.mark.parametrize("impersonating", [False, True])
def test_403_on_the_list_of_users_means_that_the_key_or_the_rest_api_is_off(impersonating: bool) -> None:
    assert outcome("GET", 403, path="/users.json", body=b"", impersonating=impersonating) is TrackerClosed


@pytest.mark.parametrize("impersonating", [False, True])
def test_422_without_errors_on_a_put_is_a_conflict_that_is_repeated(impersonating: bool) -> None:
    assert outcome("PUT", 422, body=b'{"errors":[]}', impersonating=impersonating) is OutcomeUnknown


def test_422_without_errors_on_a_post_is_a_refusal() -> None:
    assert outcome("POST", 422, body=b'{"errors":[]}') is TrackerRejected
    assert outcome("POST", 422, body=b'{"errors":[]}', impersonating=True) is ImpersonationRefused


def busy(retry_after: str, status: int = 429, **headers: str) -> float | None:
    with pytest.raises(TrackerBusy) as failure:
        read_answer(
            "GET",
            "/x.json",
            status=status,
            headers={"Retry-After": retry_after} | headers,
            body=b"",
            impersonating=False,
        )
    return failure.value.retry_after


def test_retry_after_is_read_as_seconds() -> None:
    assert busy("7") == 7.0
    assert busy(" 120 ", status=503) == 120.0
    assert busy("0") == 0.0


def test_retry_after_is_read_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert busy(later) == pytest.approx(90, abs=5)
    assert busy("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_the_date_of_retry_after_is_by_the_clock_that_dated_the_answer() -> None:
    """Otherwise a tracker whose clock is an hour ahead would stop all workers for an hour."""
    ahead = datetime.now(UTC) + timedelta(hours=1)
    moments = {
        name: format_datetime(ahead + timedelta(seconds=s), usegmt=True)
        for name, s in (("then", 90), ("now", 0))
    }
    assert busy(moments["then"], Date=moments["now"]) == 90.0


@pytest.mark.parametrize("value", ["soon", "", "-5", "1.5", "²", "Fri, 99 Foo 2026 99:99:99 GMT"])
def test_a_retry_after_that_cannot_be_read_names_no_time(value: str) -> None:
    assert busy(value) is None


@pytest.mark.parametrize("value", ["99999999999", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_retry_after_is_bounded(value: str) -> None:
    assert busy(value) == LONGEST_WAIT_S


def answered(status: int, body: bytes = b"{}", **headers: str) -> Answer:
    return read_answer("POST", "/issues.json", status=status, headers=headers, body=body, impersonating=False)


@pytest.mark.parametrize(
    "date", ["Sat, 21 Nov 2026 99:99:99 GMT", "yesterday", "", "Fri, 31 Dec 9999 23:59:59 -2359"]
)
def test_a_date_that_cannot_be_read_does_not_spoil_an_answer(date: str) -> None:
    assert answered(201, Date=date).at is None


def test_the_answer_carries_the_tracker_s_clock() -> None:
    at = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
    assert answered(201, Date="Sat, 21 Nov 2026 10:30:00 GMT").at == at
    assert answered(201, Date="Sat, 21 Nov 2026 12:30:00 +0200").at == at


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"issue": ', b"[" * 100_000, b"\xff\xfe", b'{"id": ' + b"9" * 5000]
)
def test_a_2xx_that_is_not_json_is_no_clear_answer(body: bytes) -> None:
    with pytest.raises(OutcomeUnknown):
        answered(201, body)


def test_an_empty_2xx_has_no_data() -> None:
    assert answered(204, b"").data is None
    assert answered(200, b" \n").data is None


def test_the_tracker_s_messages_are_cleaned_and_bounded() -> None:
    texts = [
        "a\x00b\x1b[31mc\x7fd\ud800e",
        "x" * 5000,
        7,
        None,
        {"no": "text"},
        *(str(n) for n in range(100)),
    ]
    with pytest.raises(TrackerRejected) as failure:
        answered(422, json.dumps({"errors": texts}).encode())
    errors = failure.value.errors
    assert errors[0] == "ab[31mcde"
    assert len(errors[1]) == 500
    assert len(errors) == 20
    assert str(failure.value).encode()


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[1]", b'{"errors": "x"}', b'{"errors": {}}', b"\xff", b"[" * 99_999]
)
def test_an_error_without_messages_is_still_an_error(body: bytes) -> None:
    with pytest.raises(TrackerRejected) as failure:
        answered(404, body)
    assert failure.value.errors == ()


def test_every_tracker_error_names_its_call_and_derives_from_the_base() -> None:
    for kind in (TrackerUnreachable, OutcomeUnknown, TrackerClosed, ImpersonationRefused, TrackerRejected):
        error = kind("POST", "/issues.json", status=422, errors=["because"], detail=written("in words"))
        assert isinstance(error, TrackerError)
        assert isinstance(error, BridgeError)
        for part in ("POST", "/issues.json", "422", "because", "in words"):
            assert part in str(error)
