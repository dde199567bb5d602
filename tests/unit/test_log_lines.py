"""Log lines bypass the standard library but equal its output byte for byte."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, Literal

import pytest
import structlog

from shared.notices.notice import written
from shared.notices.steps import What
from shared.telemetry import logs
from shared.telemetry.logs import configure_logging, get_logger, log_fields
from tests.unit.test_logs import _as_before  # noqa: F401 (logging as it was, after each test)

Form = Literal["console", "json"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
FORGED = "/a\n2026-11-21 [info] all is well\r\x1b[2J\u2028\x9b\u202elanif\u200b\ud800"


def through_the_standard_library(form: Form) -> None:
    """Configure logs as structlog documents it: each line is a record that a standard formatter renders."""
    without_it(form)
    common = list(structlog.get_config()["processors"])
    structlog.configure(
        processors=[*common, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    rendering: dict[str, list[structlog.typing.Processor]] = {
        "json": [structlog.processors.JSONRenderer()],
        "console": [logs._on_one_line, structlog.dev.ConsoleRenderer()],
    }
    logging.getLogger().handlers[0].setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                *rendering[form],
            ],
        )
    )


def without_it(form: Form) -> None:
    configure_logging(form, process="worker")


class Odd:
    def __repr__(self) -> str:
        return "<odd\none>"


def say_all(log: Any) -> None:
    """Log one line of every kind that is rendered differently."""
    library = logging.getLogger("some.library")
    log.info("linked", ticket_id=4711)
    log.debug("chatter")
    log.info(**log_fields(What.STATUS_KEPT(issue_id=9, because=written(FORGED))), task_id=None)
    log.info("%s of %s", 1, "two")
    log.info(None)
    log.info("", why="")
    log.log(logging.WARNING, FORGED, path=FORGED, keys=[FORGED, Odd()], odd=Odd())
    log.bind(bound="value").warning("bound", date=date(2026, 1, 2), at=datetime(2026, 1, 2, tzinfo=UTC))
    log.info("kinds", some={"a": (1, 2.5, float("inf")), 3: {4}}, text="ü€😀", secret=b"\x00")
    log.info("its own", process="other", level="high", timestamp="never", exception="none", stack="of\nlines")
    with structlog.contextvars.bound_contextvars(ticket_id=7, trace_id="ab" * 16, event="taken"):
        log.info("in context")
        log.info("in context", ticket_id=8)
        library.warning("in context")
    try:
        raise RuntimeError(FORGED) from KeyError("why")
    except RuntimeError as error:
        log.exception("failed")
        log.error("failed", exc_info=error)
        log.critical("failed", exc_info=sys.exc_info())
        log.warning("failed", exc_info=True, code=What.STATUS_KEPT)
        library.exception("failed: %s", FORGED)
    log.error("failed", exc_info=True)
    log.error("failed", exc_info=None)
    library.info("chatter")
    library.error("odd: %s", "this", stack_info=False)
    warnings.warn("outdated", stacklevel=1)


def told(
    monkeypatch: pytest.MonkeyPatch, configure: Callable[[Form], None], form: Form, level: int
) -> list[str]:
    """Return the lines written to standard error, and then the reported ones."""
    taken = io.BytesIO()
    stream = io.TextIOWrapper(taken, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    reported: list[Any] = []
    with monkeypatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "stderr", stream)
        patch.setattr(logs, "_report", lambda name, of, line: reported.append((name, of, sorted(line))))
        logging.captureWarnings(capture=False)  # undo an earlier call, so that the next has an effect
        warnings.simplefilter("always")
        configure(form)
        logging.getLogger("deskbridge").setLevel(level)
        say_all(get_logger("lines"))
    written = taken.getvalue().decode()
    assert "Logging error" not in written
    return [*TIME.sub("(time)", written).split("\n"), *(str(one) for one in reported)]


@pytest.mark.parametrize("level", [logging.INFO, logging.ERROR, logging.CRITICAL + 1])
@pytest.mark.parametrize("form", ["console", "json"])
def test_a_line_is_what_the_standard_library_would_write(
    monkeypatch: pytest.MonkeyPatch, form: Form, level: int
) -> None:
    expected = told(monkeypatch, through_the_standard_library, form, level)
    assert told(monkeypatch, without_it, form, level) == expected
    assert len(expected) > 8


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_line_that_cannot_be_rendered_fails_nobody(capsys: pytest.CaptureFixture[str], form: Form) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    configure_logging(form, process="worker")
    log = get_logger("broken")
    log.info("first", odd=Broken())
    log.info("second")
    written = capsys.readouterr().err
    assert "--- Logging error ---" in written
    assert "second" in written


def test_a_stream_that_takes_no_line_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Full())
    configure_logging("json", process="worker")
    get_logger("full").info("first")


def test_two_threads_never_write_at_once_whoever_s_lines_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.StringIO):
        inside, at_once = 0, 0

        def write(self, text: str) -> int:
            self.inside += 1
            self.at_once = max(self.at_once, self.inside)
            time.sleep(0.002)
            self.inside -= 1
            return super().write(text)

    stream = Slow()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logging("json", process="worker")
    ours, library = get_logger("threads"), logging.getLogger("some.library")

    def say(log: Any) -> None:
        for _ in range(10):
            log.warning("said")

    threads = [threading.Thread(target=say, args=[log]) for log in (ours, ours, library)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert stream.at_once == 1
    assert len(stream.getvalue().splitlines()) == 30
