"""Spans of traces, for OpenTelemetry if it is switched on (OTLP_ENDPOINT), else nothing at all.

A span is handed on by its traceparent, in the journal, in a ring, in a way's own context; never by the thread that
works on it, since one thread may work on many tickets in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from shared.errors import SettingsError
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.telemetry.spans import Attributes, KindOfSpan, Span, Tracing

NOTHING = Span()
CURRENT: ContextVar[Span] = ContextVar("CURRENT", default=NOTHING)
"""The span of the ticket whose way this is."""

_tracing: Tracing | None = None


def start(settings: Settings, process: str) -> None:
    """Have spans of this process recorded, where the settings ask for it.

    Args:
        settings: OTLP_ENDPOINT.
        process: producer or worker.

    Raises:
        SettingsError: they do, and the extra `otel` is not installed.
    """
    global _tracing
    if not settings.otlp_endpoint:
        return
    try:
        from shared.telemetry.opentelemetry import OpenTelemetry
    except ImportError as missing:
        why = SystemRefusal.EXTRA_NOT_INSTALLED(
            variable="DESKBRIDGE_OTLP_ENDPOINT", package=missing.name, extra="[otel]"
        )
        raise SettingsError(why) from None
    _tracing = OpenTelemetry(settings.otlp_endpoint, process)


def stop() -> None:
    """Send what is left, and record nothing any more."""
    global _tracing
    if _tracing is not None:
        _tracing.close()
    _tracing = None


def begin(
    name: str,
    kind: KindOfSpan,
    parent: str | None = None,
    attributes: Attributes | None = None,
    since: float | None = None,
) -> Span:
    """Begin a span.

    Args:
        name: what is done, of a bounded number of names.
        kind: as OpenTelemetry has it.
        parent: the traceparent of what it is part of; None: it begins a trace.
        attributes: what is known of it; no text and no person.
        since: seconds since the epoch at which it began; None: now.
    """
    return NOTHING if _tracing is None else _tracing.begin(name, kind, parent, attributes or {}, since)


@contextmanager
def span(name: str, kind: KindOfSpan, parent: str | None = None) -> Iterator[Span]:
    """Have a span for the length of a `with`; an error that leaves it makes it a failed one."""
    begun = begin(name, kind, parent)
    try:
        yield begun
    except BaseException:
        begun.end(failed=True)
        raise
    begun.end()


def called(operation: str, status: str, seconds: float) -> None:
    """Record a call to the tracker that is over, as part of the way that it was made for.

    Args:
        operation: as in the metrics: `POST issues`.
        status: of the answer; `lost` or `unsent` if there was none.
        seconds: how long it took.
    """
    if parent := CURRENT.get().traceparent:
        known = {"http.response.status_code": int(status)} if status.isdecimal() else {"error.type": status}
        made = begin(operation, "client", parent, known, time.time() - seconds)
        made.end(failed=not status.startswith(("2", "3")))


def notified(tickets: Mapping[int, str | None]) -> dict[int, str]:
    """Return what a ring says of the traces of its tickets: of each a span of its own; nothing if none is recorded.

    Args:
        tickets: by ticket the traceparent of its event.
    """
    traces = {}
    for ticket_id, parent in tickets.items():
        if (
            parent
            and (made := begin("notify", "producer", parent, {"deskbridge.ticket_id": ticket_id})).traceparent
        ):
            traces[ticket_id] = made.traceparent
            made.end()
    return traces
