"""Errors are reported to Sentry if it is configured, by code and numbers, without texts or secrets."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import SecretStr
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from shared.errors import SettingsError
from shared.notices.faults import Fault
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.telemetry import logs, reporting
from shared.telemetry.logs import configure_logging, get_logger, log_fields
from tests.support.refusals import says
from tests.unit.test_logs import _as_before  # noqa: F401 (logging as it was, after each test)

DSN = "https://the-dsns-key@sentry.example.test/1"
PASSWORD = "hidden-word"
SETTINGS = Settings(
    sentry_dsn=SecretStr(DSN),
    database_url=SecretStr(f"postgresql+psycopg2://bridge:{PASSWORD}@127.0.0.1/bridge"),
    webhook_secrets=(SecretStr("whsec_another-hidden-word"),),
)


class SentEvents(Transport):
    """A transport that stores the events instead of sending them."""

    events: list[dict[str, Any]] = []  # noqa: RUF012 (cleared for each test)

    def capture_envelope(self, envelope: Envelope) -> None:
        if event := envelope.get_event():
            SentEvents.events.append(dict(event))


@pytest.fixture(autouse=True)
def _reported(_as_before: None) -> Iterator[None]:  # noqa: F811
    SentEvents.events.clear()
    configure_logging("json", process="worker")
    reporting.start(SETTINGS, "worker", SentEvents)
    yield
    logs.report_to(None)


def only() -> dict[str, Any]:
    (event,) = SentEvents.events
    return event


def test_an_error_is_reported_with_its_code_and_the_numbers_that_it_is_about() -> None:
    get_logger("r1").error(**log_fields(Fault.OWN_FAULT(error="KeyError")), ticket_id=4711, event_ids=[1])
    event = only()
    assert (event["message"], event["level"], event["logger"]) == ("own_fault", "error", "deskbridge.r1")
    assert event["extra"] == {"code": "own_fault", "ticket_id": 4711, "event_ids": [1]}
    assert event["tags"] == {"process": "worker"}
    assert event["release"].startswith("deskbridge@")


def test_less_than_an_error_is_not_reported() -> None:
    get_logger("r2").warning("paused")
    logging.getLogger("some.library").warning("odd")
    assert SentEvents.events == []


@pytest.mark.parametrize("level", ["error", "exception", "critical"])
def test_an_exception_is_reported_by_its_class_and_place_and_says_nothing(level: str) -> None:
    ticket = "Printer of alice@example.org on fire"
    try:
        raise RuntimeError(f"{ticket} {PASSWORD}") from KeyError(PASSWORD)
    except RuntimeError as error:
        info = True if level == "exception" else error
        getattr(get_logger("r3"), level)("a request failed", exc_info=info, path=f"/{ticket}")
    event = only()
    raised = event["exception"]["values"]
    assert [one["type"] for one in raised] == ["KeyError", "RuntimeError"]
    assert raised[-1]["stacktrace"]["frames"][-1]["function"].startswith("test_an_exception_is_reported")
    said = json.dumps(event)
    for word in (PASSWORD, ticket, "alice"):
        assert word not in said
    assert "vars" not in raised[-1]["stacktrace"]["frames"][-1]


def test_no_secret_of_the_settings_is_in_a_report_wherever_it_comes_from() -> None:
    get_logger("r4").error(f"cannot reach {SETTINGS.database_url.get_secret_value()}", code=None)
    get_logger("r4").error("odd", error="whsec_another-hidden-word", keys=[f"a {PASSWORD}", DSN])
    said = json.dumps(SentEvents.events)
    assert len(SentEvents.events) == 2
    assert reporting.HIDDEN in said
    for word in (PASSWORD, "whsec_another-hidden-word", "the-dsns-key"):
        assert word not in said


@pytest.mark.parametrize(
    "written", ["hid[den-word", "hidden/word", "hidden%2Dword", "hidden#word", "hidden?word"]
)
def test_a_password_is_hidden_however_it_is_written(written: str) -> None:
    addresses = SecretStr(f"postgresql+psycopg2://bridge:{written}@127.0.0.1/bridge")
    found = set(reporting.secrets(Settings(database_url=addresses)))
    assert {written, unquote(written)} <= found


def test_of_another_s_logger_the_name_is_reported_and_no_word() -> None:
    logging.getLogger("kombu.connection").error("no connection for %s", "alice@example.org")
    event = only()
    assert (event["message"], event["logger"]) == ("an error of kombu.connection", "kombu.connection")
    assert "alice" not in json.dumps(event)


def test_a_line_is_written_where_it_cannot_be_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise OSError

    configure_logging("json", process="worker")
    logs.report_to(fail)
    get_logger("r5").error("failed")
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["event"], line["unreported"]) == ("failed", True)


def test_nothing_is_reported_unless_a_project_is_set() -> None:
    logs.report_to(None)
    reporting.start(Settings(), "worker", SentEvents)
    get_logger("r6").error("failed")
    assert SentEvents.events == []


def test_without_the_extra_or_with_a_wrong_address_the_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SettingsError, check=says(SystemRefusal.SENTRY_DSN_MALFORMED)):
        reporting.start(Settings(sentry_dsn=SecretStr("hidden-word")), "worker", SentEvents)
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(SettingsError, check=says(SystemRefusal.EXTRA_NOT_INSTALLED, extra="[sentry]")):
        reporting.start(SETTINGS, "worker", SentEvents)
