"""Only signed requests may send events (Standard Webhooks)."""

from __future__ import annotations

import base64
import hmac
import http.client
import json
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import standardwebhooks.webhooks
import structlog
from pydantic import SecretStr

from producer.intake.app import create_app
from shared.errors import SettingsError
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from tests.integration.producer.conftest import SECRET, Run, RunningProducer, refused, secret, sign
from tests.support.events import task_event, ticket_event
from tests.support.refusals import says

BODY = json.dumps(task_event()).encode()
OTHER = secret("another secret")


def headers(**changes: str | None) -> dict[str, str | None]:
    """Return the headers of a correctly signed request, with these changes."""
    now = str(int(time.time()))
    signed: dict[str, str | None] = {
        "webhook-id": "one", "webhook-timestamp": now, "webhook-signature": sign(BODY, "one", now)
    }  # fmt: skip
    return {**signed, **{name.replace("_", "-"): value for name, value in changes.items()}}


def test_an_unsigned_event_is_refused(producer: RunningProducer) -> None:
    refused(producer.post(BODY), 401)
    assert producer.journal() == []


@pytest.mark.parametrize("name", ["webhook_id", "webhook_timestamp", "webhook_signature"])
@pytest.mark.parametrize("value", [None, ""])
def test_each_header_is_needed(producer: RunningProducer, name: str, value: str | None) -> None:
    refused(producer.post(BODY, **headers(**{name: value})), 401)


@pytest.mark.promise("SEC-03")
@pytest.mark.parametrize("age", [-301, 301, 86400])
def test_a_time_more_than_five_minutes_off_is_refused(producer: RunningProducer, age: float) -> None:
    refused(producer.send(task_event(), age=age + (5 if age > 0 else -5)), 401)
    assert producer.journal() == []


@pytest.mark.parametrize("age", [-290, 290])
def test_a_time_within_five_minutes_is_accepted(producer: RunningProducer, age: float) -> None:
    assert producer.send(task_event(), age=age).status_code == 202


@pytest.mark.promise("SEC-01")
def test_another_secret_s_signature_is_refused(producer: RunningProducer) -> None:
    refused(producer.send(task_event(), with_secret=OTHER), 401)
    assert producer.journal() == []


@pytest.mark.promise("SEC-05")
def test_while_secrets_are_rotated_each_of_them_is_accepted(run: Run) -> None:
    producer = run(webhook_secrets=(SecretStr(OTHER), SecretStr(SECRET)))
    assert producer.send(task_event(), with_secret=SECRET).status_code == 202
    assert producer.send(task_event(), with_secret=OTHER).status_code == 202
    refused(producer.send(task_event(), with_secret=secret("a third")), 401)


def test_of_several_signatures_one_must_fit(producer: RunningProducer) -> None:
    now = str(int(time.time()))
    several = f"v2,AAAA {sign(BODY, 'one', now, OTHER)} {sign(BODY, 'one', now)}"
    assert producer.post(BODY, **headers(webhook_timestamp=now, webhook_signature=several)).status_code == 202


@pytest.mark.promise("SEC-01")
@pytest.mark.parametrize(
    "changes", [{"webhook_id": "two"}, {"webhook_timestamp": str(int(time.time()) - 60)}]
)
def test_the_signature_covers_id_and_time(producer: RunningProducer, changes: dict[str, str]) -> None:
    refused(producer.post(BODY, **headers(**changes)), 401)


@pytest.mark.promise("SEC-01")
def test_the_signature_covers_the_body(producer: RunningProducer) -> None:
    refused(producer.post(json.dumps(ticket_event()).encode(), **headers()), 401)


@pytest.mark.parametrize(
    "value",
    [
        "v1",
        "v1,",
        "v1,!!!",
        "v1,a",
        ",",
        "v1 ,AAAA",
        "v1,AAAA,BBBB",
        "v0,AAAA",
        "\xe9",
        "v1,\xe9",
        "v1," + "A" * 5000,
    ],
)
def test_a_malformed_signature_is_refused(producer: RunningProducer, value: str) -> None:
    sent = {name: (text or "").encode("latin-1") for name, text in headers(webhook_signature=value).items()}
    refused(producer.post(BODY, **sent), 401)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", ["now", "-1", "1e400", "nan", "inf", "9" * 400, "0", "\xb2", "2026-11-21T09:30:00Z"]
)
def test_a_malformed_time_is_refused(producer: RunningProducer, value: str) -> None:
    sent = {name: (text or "").encode("latin-1") for name, text in headers(webhook_timestamp=value).items()}
    refused(producer.post(BODY, **sent), 401)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["with blank", "ü", "x" * 256])
def test_an_id_that_cannot_be_kept_is_named(producer: RunningProducer, name: str) -> None:
    now = str(int(time.time()))
    sent = {
        "webhook-id": name.encode("latin-1"),
        "webhook-timestamp": now,
        "webhook-signature": sign(BODY, name, now),
    }
    problem = refused(producer.post(BODY, **sent), 422)  # type: ignore[arg-type]
    assert problem["errors"][0]["path"] == "delivery_id"


def test_a_refusal_does_not_log_what_was_sent(producer: RunningProducer) -> None:
    with structlog.testing.capture_logs() as logged:
        refused(producer.send(task_event(note="hidden-word"), with_secret=OTHER), 401)
    assert logged
    assert "hidden-word" not in str(logged)
    assert SECRET not in str(logged)


def test_unsigned_events_are_accepted_where_that_was_switched_on(run: Run) -> None:
    producer = run(webhook_secrets=(), allow_unsigned=True)
    assert producer.post(BODY).status_code == 202
    assert producer.post(BODY).json()["accepted"][0]["duplicate"] is True
    assert producer.post(BODY, **{"webhook-id": "named"}).status_code == 202
    assert producer.journal()[1].delivery_id == "named"


@pytest.fixture(autouse=True)
def _away_from_the_work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.promise("SEC-07")
def test_without_secrets_the_producer_refuses_to_start() -> None:
    with pytest.raises(SettingsError, check=says(SystemRefusal.WEBHOOK_SECRETS_NOT_SET)):
        create_app(Settings())


@pytest.mark.promise("SEC-07")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org", "", "127.0.0.1.example.org"])  # noqa: S104
def test_unsigned_is_refused_on_a_bind_that_others_can_reach(host: str) -> None:
    with pytest.raises(SettingsError, check=says(SystemRefusal.UNSIGNED_NOT_ON_LOOPBACK)):
        create_app(Settings(allow_unsigned=True), host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_unsigned_is_accepted_on_a_loopback_bind(host: str) -> None:
    create_app(Settings(allow_unsigned=True), host=host)


def test_secrets_are_needed_even_where_unsigned_is_switched_on(run: Run) -> None:
    producer = run(allow_unsigned=True)
    refused(producer.post(BODY), 401)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("plain", SystemRefusal.WEBHOOK_SECRET_MALFORMED),
        ("whsec_", SystemRefusal.WEBHOOK_SECRET_TOO_SHORT),
        ("whsec_ü", SystemRefusal.WEBHOOK_SECRET_NOT_ENCODED),
        ("whsec_!!!", SystemRefusal.WEBHOOK_SECRET_TOO_SHORT),
        ("whsec_a", SystemRefusal.WEBHOOK_SECRET_NOT_ENCODED),
    ],
)
def test_a_secret_of_another_form_is_refused_without_being_shown(value: str, told: Refusal) -> None:
    with pytest.raises(SettingsError, check=says(told)) as failure:
        create_app(Settings(webhook_secrets=(SecretStr(value),)))
    assert value == "whsec_" or value not in str(failure.value)


@pytest.mark.promise("SEC-02")
def test_signatures_are_compared_in_constant_time(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    stand_in = SimpleNamespace(compare_digest=compare, new=hmac.new)
    monkeypatch.setattr(standardwebhooks.webhooks, "hmac", stand_in)
    refused(producer.send(task_event(), with_secret=OTHER), 401)
    assert len(compared) == 1
    assert len(compared[0][0]) == 32


@pytest.mark.promise("SEC-06")
@pytest.mark.parametrize("size", [1, 8, 15])
def test_a_secret_that_could_be_guessed_is_refused_without_being_shown(size: int) -> None:
    value = "whsec_" + base64.b64encode(b"x" * size).decode()
    with pytest.raises(
        SettingsError, check=says(SystemRefusal.WEBHOOK_SECRET_TOO_SHORT, least=16)
    ) as failure:
        create_app(Settings(webhook_secrets=(SecretStr(SECRET), SecretStr(value))))
    assert value not in str(failure.value)


def test_a_secret_of_16_bytes_is_long_enough() -> None:
    create_app(Settings(webhook_secrets=(SecretStr("whsec_" + base64.b64encode(b"x" * 16).decode()),)))


@pytest.mark.promise("SEC-04")
def test_a_request_that_is_sent_again_by_whoever_overheard_it_changes_nothing(
    producer: RunningProducer,
) -> None:
    sent = headers()
    assert producer.post(BODY, **sent).status_code == 202
    for _ in range(3):
        assert producer.post(BODY, **sent).json()["accepted"][0]["duplicate"] is True
    refused(producer.post(BODY, **{**sent, "webhook-id": "another"}), 401)
    assert len(producer.journal()) == 1


def test_of_a_header_that_comes_twice_the_first_counts(producer: RunningProducer) -> None:
    now = str(int(time.time()))
    good, bad = sign(BODY, "one", now), sign(BODY, "two", now)
    host, port = producer.base_url.removeprefix("http://").split(":")

    def status(*signatures: str) -> int:
        with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
            connection.putrequest("POST", "/events")
            for name, value in (
                ("content-type", "application/json"),
                ("content-length", str(len(BODY))),
                ("webhook-id", "one"),
                ("webhook-timestamp", now),
                *(("webhook-signature", signature) for signature in signatures),
            ):
                connection.putheader(name, value)
            connection.endheaders(BODY)
            return connection.getresponse().status

    assert (status(good, bad), status(bad, good)) == (202, 401)
