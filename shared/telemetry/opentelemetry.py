"""Spans by OpenTelemetry's SDK, sent to a collector by OTLP over HTTP: the extra `otel`.

The SDK's own variables apply too: OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS and
others.
"""

from __future__ import annotations

from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace import Span as Recorded

from shared.telemetry.spans import Attributes, KindOfSpan, Span, Tracing

PATIENCE_S = 2.0
"""An unreachable collector delays the end of a process by no more than this."""
KINDS = {
    "server": SpanKind.SERVER,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
    "client": SpanKind.CLIENT,
}
NS = 1_000_000_000


class OpenTelemetry(Tracing):
    """Sends spans in batches, from a thread of its own.

    Args:
        endpoint: the collector's address, without `/v1/traces`.
        process: producer or worker.
    """

    def __init__(self, endpoint: str, process: str) -> None:
        named = {"service.name": f"deskbridge-{process}", "service.version": version("deskbridge")}
        self._provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=PATIENCE_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("deskbridge", version("deskbridge"))

    def begin(
        self,
        name: str,
        kind: KindOfSpan,
        parent: str | None,
        attributes: Attributes,
        since: float | None = None,
    ) -> Span:
        context = set_span_in_context(NonRecordingSpan(_named(parent)), Context()) if parent else Context()
        began = None if since is None else int(since * NS)
        return _Begun(self._tracer.start_span(name, context, KINDS[kind], attributes, start_time=began))

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()


class _Begun(Span):
    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        it = recorded.get_span_context()
        self.traceparent = f"00-{it.trace_id:032x}-{it.span_id:016x}-{it.trace_flags:02x}"

    def link(self, traceparent: str) -> None:
        self._recorded.add_link(_named(traceparent))

    def end(self, *, failed: bool = False) -> None:
        if failed:
            self._recorded.set_status(Status(StatusCode.ERROR))
        self._recorded.end()


def _named(traceparent: str) -> SpanContext:
    """Return the span that a traceparent names (`shared.telemetry.traceparent.FORM`)."""
    _, trace, span, flags = traceparent.split("-")
    return SpanContext(int(trace, 16), int(span, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16)))
