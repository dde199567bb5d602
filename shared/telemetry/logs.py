"""Structured logging for every process: one line per event, on standard error (SPEC section 7: "logged")."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, TextIO

from shared.notices.language import ENGLISH, speaking
from shared.notices.notice import Notice, notice_json
from shared.notices.render import because, sentence
from shared.process.loading import without
from shared.values.characters import NOT_ON_ONE_LINE
from shared.values.visible import visible

with without("rich"):  # eighty modules for tracebacks, which are already text here
    import structlog

CHANNEL = "deskbridge"
REPORTED = ("error", "critical", "exception")
Report = Callable[[str, str, structlog.typing.EventDict], None]
TRACEBACKS = ("exception", "stack")
JSON = json.JSONEncoder(default=repr)


def configure_logging(form: Literal["console", "json"] | None, *, process: str) -> None:
    """Set up structlog and the standard library's logging alike.

    Args:
        form: `console` or `json`; None chooses console on a terminal, else JSON.
        process: name of the process (producer, worker, beat, command), put on every line.
    """
    chosen = form or ("console" if sys.stderr.isatty() else "json")
    rendering: list[structlog.typing.Processor] = [
        structlog.processors.format_exc_info,
        *(
            [_on_one_line, structlog.dev.ConsoleRenderer()]
            if chosen == "console"
            else [lambda _logger, _method, event: JSON.encode(event)]  # escapes control characters itself
        ),
    ]
    common: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _reported,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        lambda _logger, _method, event: {"process": process, **event},
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    structlog.configure(
        processors=[*common],
        logger_factory=lambda name: Lines(name, rendering, handler),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger(CHANNEL).setLevel(logging.INFO)
    logging.captureWarnings(capture=True)


class Lines:
    """Writes our log lines to the stream of the libraries' lines, without a LogRecord for each line.

    Other handlers of the logger or of its parents get each line as a LogRecord.

    Args:
        name: the logger's name; the standard library's logger of this name decides which levels are enabled.
        rendering: processors that turn an event into a line; the last one returns the line.
        handler: writes libraries' lines; our lines use its stream and its lock.
    """

    def __init__(
        self,
        name: str,
        rendering: Sequence[structlog.typing.Processor],
        handler: logging.StreamHandler[TextIO],
    ) -> None:
        self.name = name
        self._logger, self._rendering, self._handler = logging.getLogger(name), rendering, handler

    def info(self, /, **event: Any) -> None:
        """Write a line at level INFO, as `structlog` requires."""
        self._write(logging.INFO, "info", event)

    def warning(self, /, **event: Any) -> None:
        """Write a line at level WARNING."""
        self._write(logging.WARNING, "warning", event)

    def error(self, /, **event: Any) -> None:
        """Write a line at level ERROR."""
        self._write(logging.ERROR, "error", event)

    def critical(self, /, **event: Any) -> None:
        """Write a line at level CRITICAL."""
        self._write(logging.CRITICAL, "critical", event)

    def _write(self, level: int, method: str, event: Any) -> None:
        if not self._logger.isEnabledFor(level):
            return
        line = event
        try:
            for step in self._rendering:
                line = step(self, method, line)
            for handler in self._handlers():
                if handler is self._handler:
                    self._write_own(line)
                elif level >= handler.level:
                    handler.handle(self._logger.makeRecord(self.name, level, "", 0, line, (), None))
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001 (that a line cannot be written fails nobody)
            self._handler.handleError(self._logger.makeRecord(self.name, level, "", 0, event, (), None))

    def _handlers(self) -> Iterator[logging.Handler]:
        """Yield every handler that the standard library would give a line of this logger."""
        logger: logging.Logger | None = self._logger
        while logger is not None:
            yield from logger.handlers
            logger = logger.parent if logger.propagate else None

    def _write_own(self, line: str) -> None:
        handler = self._handler
        handler.acquire()
        try:
            handler.stream.write(f"{line}\n")
            handler.flush()
        finally:
            handler.release()


_report: Report | None = None


def report_to(report: Report | None) -> None:
    """Also pass each error line to a reporter.

    Args:
        report: is called with the logger's name, the level (error or critical) and the line's fields; None: no reports.
    """
    global _report
    _report = report


def _reported(logger: Any, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if _report is not None and method in REPORTED:
        record: logging.LogRecord | None = event.get("_record")  # of a library's logger
        try:
            _report(
                record.name if record else logger.name, "critical" if method == "critical" else "error", event
            )
        except Exception:  # noqa: BLE001 (a line is written whether or not it can be reported)
            event["unreported"] = True
    return event


def log_crashes() -> None:
    """Log an error that ends this process or one of its threads, instead of printing a traceback of many lines."""
    log = get_logger("crash")

    def crashed(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        log.critical("an error that nothing expects", exc_info=(kind, error, trace))

    sys.excepthook = crashed
    threading.excepthook = lambda args: crashed(args.exc_type, args.exc_value, args.exc_traceback)


def _on_one_line(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape control characters, so that text of a request or the tracker cannot forge a line or move the cursor.

    Invisible characters are marked, so that such text cannot reverse the direction of a line either.
    """
    return {
        name: visible(NOT_ON_ONE_LINE.sub(lambda found: repr(found[0])[1:-1], value))
        if isinstance(value, str) and name not in TRACEBACKS
        else value
        for name, value in event.items()
    }


def log_fields(notice: Notice) -> dict[str, Any]:
    """Return a notice as fields of a log line: sentence and reason for people, code and parameters for programs.

    Always in English, even if the visitor of a page reads another language.
    """
    with speaking(ENGLISH):
        return {"event": sentence(notice), "why": because(notice) or None, **notice_json(notice)}


def reason_fields(notice: Notice) -> dict[str, Any]:
    """Return a notice that is the reason for another event as fields of a log line, in English."""
    with speaking(ENGLISH):
        return {"reason": sentence(notice), **notice_json(notice)}


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger of the deskbridge channel.

    Args:
        name: the part that logs, such as `producer` or `sync`.
    """
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(f"{CHANNEL}.{name}")
    return logger
