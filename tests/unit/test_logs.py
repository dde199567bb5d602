"""Every log event is one line on standard error, from deskbridge and from libraries alike."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog

from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.telemetry.logs import configure_logging, get_logger, log_fields, reason_fields


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    structlog.contextvars.clear_contextvars()
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    captured = capsys.readouterr()
    assert captured.out == "", "logs never go to standard output"
    return [json.loads(line) for line in captured.err.splitlines()]


def test_a_line_is_json_with_time_level_process_and_what_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="worker")
    get_logger("t1").info("linked", ticket_id=4711)
    (line,) = lines(capsys)
    assert line["event"] == "linked"
    assert line["level"] == "info"
    assert line["process"] == "worker"
    assert line["ticket_id"] == 4711  # type: ignore[comparison-overlap]
    assert line["timestamp"].endswith("Z")


class KeptRecords(logging.Handler):
    """A handler that stores the records that it receives."""

    def __init__(self, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def channel() -> Iterator[logging.Logger]:
    """The logger `deskbridge`, to which an administrator's code can attach handlers."""
    logger = logging.getLogger("deskbridge")
    yield logger
    logger.handlers.clear()
    logger.propagate = True


def test_a_handler_of_the_channel_gets_every_line_once(
    capsys: pytest.CaptureFixture[str], channel: logging.Logger
) -> None:
    configure_logging("json", process="worker")
    of_channel, of_part = KeptRecords(), KeptRecords()
    channel.addHandler(of_channel)
    logging.getLogger("deskbridge.t8").addHandler(of_part)
    get_logger("t8").warning("refused", ticket_id=4711)
    get_logger("t9").error("failed")
    written = capsys.readouterr().err.splitlines()
    assert [one.getMessage() for one in of_channel.records] == written, "as it is written"
    assert [(one.name, one.levelno) for one in of_channel.records] == [
        ("deskbridge.t8", logging.WARNING),
        ("deskbridge.t9", logging.ERROR),
    ]
    assert [one.name for one in of_part.records] == ["deskbridge.t8"]
    logging.getLogger("deskbridge.t8").handlers.clear()


def test_a_handler_gets_no_line_below_its_level_and_a_channel_of_its_own_is_not_written_elsewhere(
    capsys: pytest.CaptureFixture[str], channel: logging.Logger
) -> None:
    configure_logging("json", process="worker")
    kept = KeptRecords(logging.ERROR)
    channel.addHandler(kept)
    channel.propagate = False
    get_logger("t10").info("linked")
    get_logger("t10").error("failed")
    assert [json.loads(one.getMessage())["event"] for one in kept.records] == ["failed"]
    assert capsys.readouterr().err == ""


def test_a_line_names_its_logger_as_a_librarys_does(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="worker")
    get_logger("t11").info("linked")
    logging.getLogger("some.library").warning("odd")
    assert [line["logger"] for line in lines(capsys)] == ["deskbridge.t11", "some.library"]


def test_a_library_s_warning_is_a_line_of_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="producer")
    logging.getLogger("some.library").warning("odd: %s", "this")
    logging.getLogger("some.library").info("chatter")
    (line,) = lines(capsys)
    assert (line["event"], line["level"], line["process"]) == ("odd: this", "warning", "producer")


def test_an_exception_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="worker")
    try:
        raise RuntimeError("broken\nin two lines")
    except RuntimeError:
        get_logger("t2").exception("failed")
    (line,) = lines(capsys)
    assert "RuntimeError" in line["exception"]


def test_bound_context_is_on_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="worker")
    with structlog.contextvars.bound_contextvars(ticket_id=7):
        get_logger("t3").info("a")
        logging.getLogger("some.library").error("b")
    assert [line["ticket_id"] for line in lines(capsys)] == [7, 7]  # type: ignore[comparison-overlap]


def test_without_a_terminal_the_form_is_json_and_console_on_wish(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(None, process="worker")
    get_logger("t4").info("one")
    assert lines(capsys)[0]["event"] == "one"
    configure_logging("console", process="worker")
    get_logger("t5").info("two")
    assert "two" in capsys.readouterr().err


def test_debug_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("json", process="worker")
    get_logger("t6").debug("chatter")
    assert lines(capsys) == []


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "zeile\nzwei", "ü€😀"])
def test_any_text_can_be_logged(capsys: pytest.CaptureFixture[str], text: str) -> None:
    configure_logging("json", process="worker")
    get_logger("t7").info("said", text=text)
    assert lines(capsys)[0]["text"] == text


@pytest.mark.promise("SEC-30", "SEC-43")
@pytest.mark.parametrize("form", ["console", "json"])
def test_what_somebody_else_said_forges_no_line_and_moves_no_cursor(
    capsys: pytest.CaptureFixture[str], form: Literal["console", "json"]
) -> None:
    configure_logging(form, process="console")
    forged = "/a\n2026-11-21 [info] all is well\r\x1b[2J\u2028\x9b\u202elanif\u200b"
    get_logger("forged").warning("refused", path=forged, said="b\nc")
    logging.getLogger("some.library").warning("odd: %s", forged)
    written = capsys.readouterr().err
    assert len(written.splitlines()) == 2
    assert "\x1b[2J" not in written
    assert not {"\x9b", "\u202e", "\u200b"} & set(written)


@pytest.mark.promise("SEC-32")
@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_shows_no_local_variable(
    capsys: pytest.CaptureFixture[str], form: Literal["console", "json"]
) -> None:
    configure_logging(form, process="worker")
    key = "-".join(("hidden", "word"))
    try:
        raise KeyError(len(key))
    except KeyError as error:
        get_logger("locals").error("failed", exc_info=error)
        logging.getLogger("some.library").exception("failed")
    written = capsys.readouterr().err
    assert written.count("Traceback") == 2
    assert key not in written


def test_a_line_says_what_happened_with_its_code_and_parameters() -> None:
    told = What.STATUS_KEPT(issue_id=9, because=Reason.STATUS_NOT_MAPPED(status=7))
    assert log_fields(told) == {
        "event": "Issue #9 kept its status",
        "why": "ticket status 7 is not in status_map",
        "code": "status_kept",
        "params": {"issue_id": 9, "because": {"code": "status_not_mapped", "params": {"status": 7}}},
    }
    assert reason_fields(Reason.NO_TIME()).keys() == {"reason", "code", "params"}
