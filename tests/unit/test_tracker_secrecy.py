"""The tracker's API key appears only in its header (SPEC section 5), in both header dialects."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Mapping
from typing import Any, Literal

import pytest
import structlog
from aiohttp import ClientConnectionError, ClientSession
from pydantic import SecretStr

from shared.errors import TrackerError
from shared.telemetry.logs import get_logger
from shared.tracker.client import CallRecord, Target, TrackerClient

KEY = "0123456789abcdef-the-key"
URL = "http://tracker.test"


def client_of(prefix: Literal["Tracker", "Redmine"] = "Redmine") -> TrackerClient:
    return TrackerClient(Target(URL, SecretStr(KEY), prefix))


Headers = Mapping[str, str]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Headers]:
    """The headers of all requests to a fake network, which always answers 422."""
    given: list[Headers] = []

    async def answer(
        _self: TrackerClient, _guard: Any, _method: str, _url: str, _content: Any, headers: Headers
    ) -> tuple[int, Mapping[str, str], bytes]:
        given.append(headers)
        return 422, {}, b'{"errors": ["no"]}'

    monkeypatch.setattr(TrackerClient, "_answer", answer)
    return given


def calls(client: TrackerClient, **options: Any) -> tuple[TrackerError, CallRecord]:
    records: list[CallRecord] = []
    with pytest.raises(TrackerError) as failure:
        client.call(
            "POST", "/issues.json", body={"issue": {"subject": "ü"}}, observe=records.append, **options
        )
    return failure.value, records[0]


def test_repr_and_str_of_client_and_target_hide_the_key() -> None:
    client = client_of()
    shown = [
        repr(client),
        str(client),
        repr(client.target),
        str(client.target),
        str(dataclasses.asdict(client.target)),
    ]
    assert not any(KEY in text for text in shown)


@pytest.mark.promise("SEC-32")
def test_errors_records_and_tracebacks_hide_the_key(sent: list[Headers]) -> None:
    error, record = calls(client_of(), login="alice")
    trace = "".join(traceback.format_exception(error))
    assert KEY not in f"{error!r} {error} {record!r} {vars(error)} {trace}"
    assert KEY in str(sent[0].values())


def test_a_failure_that_quotes_the_request_hides_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    async def fail(_self: ClientSession, *about: Any, **more: Any) -> None:
        said.append(f"{about} {more}")
        raise ClientConnectionError(f"could not send {said}")

    monkeypatch.setattr(ClientSession, "_request", fail)
    error, record = calls(client_of(), login="alice")
    assert KEY in said[0]
    assert KEY not in f"{error!r} {error} {record!r} {''.join(traceback.format_exception(error))}"


def test_logging_a_client_and_its_errors_hides_the_key(sent: list[Headers]) -> None:
    client = client_of()
    error, record = calls(client)
    with structlog.testing.capture_logs() as logged:
        get_logger("test").warning("said", client=client, target=client.target, error=error, record=record)
    assert logged
    assert KEY not in str(logged)


def test_a_key_that_no_header_can_hold_is_not_shown_by_the_refusal() -> None:
    error, record = calls(TrackerClient(Target(URL, SecretStr(KEY + "\r\nX-Evil: 1"))))
    assert KEY not in f"{error!r} {record!r} {''.join(traceback.format_exception(error))}"


@pytest.mark.parametrize("prefix", ["Tracker", "Redmine"])
def test_both_dialects_name_their_headers(sent: list[Headers], prefix: Literal["Tracker", "Redmine"]) -> None:
    calls(client_of(prefix), login="alice")
    headers = sent[0]
    assert headers[f"X-{prefix}-API-Key"] == KEY
    assert headers[f"X-{prefix}-Switch-User"] == "alice"
    other = "Redmine" if prefix == "Tracker" else "Tracker"
    assert not any(name.startswith(f"X-{other}") for name in headers)


def test_the_administrator_s_call_has_no_switch_header(sent: list[Headers]) -> None:
    calls(client_of())
    assert "X-Redmine-Switch-User" not in sent[0]


def test_only_calls_with_a_body_have_a_content_type(sent: list[Headers]) -> None:
    calls(client_of())
    with pytest.raises(TrackerError):
        client_of().call("GET", "/issues.json")
    assert sent[0]["Content-Type"] == "application/json"
    assert "Content-Type" not in sent[1]


def test_the_record_tells_the_call_without_its_headers(sent: list[Headers]) -> None:
    _, record = calls(client_of(), login="alice")
    assert (record.method, record.path, record.login, record.status) == ("POST", "/issues.json", "alice", 422)
    assert record.body == {"issue": {"subject": "ü"}}
    assert record.error is not None
