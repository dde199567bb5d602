"""Spans for OpenTelemetry if it is switched on (OTLP_ENDPOINT); otherwise nothing is recorded.

A span is passed on by its traceparent: in the journal, in a queue message, in the context of a ticket sync. It never
depends on the thread, since one thread may work on many tickets in turn.
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
"""The span of the current ticket sync."""

_tracing: Tracing | None = None


def start(settings: Settings, process: str) -> None:
    """Record the spans of this process if the settings ask for it.

    Args:
        settings: OTLP_ENDPOINT.
        process: producer or worker.

    Raises:
        SettingsError: if OTLP_ENDPOINT is set but the extra `otel` is not installed.
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
    """Send the remaining spans, and stop recording."""
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
        name: name of the operation, from a bounded set.
        kind: the kind of span, as in OpenTelemetry.
        parent: traceparent of the parent span; None begins a new trace.
        attributes: attributes of the span; no free text and no person.
        since: its start in seconds since the epoch; None: now.
    """
    return NOTHING if _tracing is None else _tracing.begin(name, kind, parent, attributes or {}, since)


@contextmanager
def span(name: str, kind: KindOfSpan, parent: str | None = None) -> Iterator[Span]:
    """Record a span for a `with` block; an error that leaves the block marks the span as failed."""
    begun = begin(name, kind, parent)
    try:
        yield begun
    except BaseException:
        begun.end(failed=True)
        raise
    begun.end()


def called(operation: str, status: str, seconds: float) -> None:
    """Record a finished call to the tracker as part of the current ticket sync.

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
    """Record a span for each ticket of a queue message; return their traceparents by ticket, for the message.

    Args:
        tickets: the traceparent of the event, by ticket.
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
