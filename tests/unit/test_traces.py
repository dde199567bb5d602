"""Tracing does nothing if it is off; if it is on, each ticket sync has its own context, even in a shared thread."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deploy.embedded.ports import free_port
from shared.errors import SettingsError
from shared.events.parsing import parse_event
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import Settings
from shared.queue.publisher import arguments
from shared.telemetry import traceparent, tracing
from shared.telemetry.opentelemetry import PATIENCE_S, OpenTelemetry
from tests.support.events import task_event
from tests.support.refusals import says
from tests.support.together import at_work
from tests.support.waiting import until
from worker.ticket.log_context import OwnContext, bind_event_fields
from worker.ticket.plan import Pending

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CAME_WITH = f"00-{TRACE}-00f067aa0ba902b7-01"


def pending(event_id: int, delivery_id: str, came_with: str | None = None) -> Pending:
    return Pending(event_id, parse_event(task_event()), 0, delivery_id, came_with)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Tracing is on, and the recorded spans stay in memory."""
    seen = InMemorySpanExporter()
    on = OpenTelemetry("http://127.0.0.1:9", "worker")
    on._provider._active_span_processor._span_processors = (SimpleSpanProcessor(seen),)
    monkeypatch.setattr(tracing, "_tracing", on)
    yield seen
    on.close()


def of(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [one for one in spans.get_finished_spans() if one.name == name]


def said() -> dict[str, Any]:
    """Return the context fields that a log line would have here."""
    return dict(structlog.contextvars.merge_contextvars(None, "info", {}))


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        CAME_WITH + "-1",
        CAME_WITH.upper(),
        CAME_WITH.replace("00-", "ff-", 1),
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        CAME_WITH + "\n",
    ],
)
def test_what_is_no_traceparent_is_none(text: object) -> None:
    assert traceparent.read(text) is None
    assert traceparent.read_of_tickets({"7": text}, [7]) == {}


def test_a_queue_message_is_what_it_was_where_no_trace_is_recorded() -> None:
    assert arguments([7, 8], tracing.notified({7: CAME_WITH, 8: None})) == {"ticket_ids": [7, 8]}


def test_a_queue_message_says_of_each_ticket_its_own_span(spans: InMemorySpanExporter) -> None:
    notify = arguments([7, 8], tracing.notified({7: CAME_WITH, 8: None}))
    (span,) = of(spans, "notify")
    assert span.context is not None
    assert notify["traces"] == {"7": f"00-{TRACE}-{span.context.span_id:016x}-01"}
    assert traceparent.read_of_tickets(notify["traces"], [7, 8]) == {7: notify["traces"]["7"]}


def test_ways_that_take_turns_in_one_thread_say_each_their_own(spans: InMemorySpanExporter) -> None:
    one, other = OwnContext(7, CAME_WITH), OwnContext(8)
    one.run(bind_event_fields, [pending(1, "first", CAME_WITH)])
    other.run(bind_event_fields, [pending(2, "second", CAME_WITH)])
    one.run(tracing.called, "POST issues", "201", 0.1)
    other.run(tracing.called, "PUT issues", "lost", 0.1)
    lines = one.run(said), other.run(said)
    one.end()
    other.end()
    assert [(line["ticket_id"], line["event_ids"], line["delivery_ids"]) for line in lines] == [
        (7, [1], ["first"]),
        (8, [2], ["second"]),
    ]
    assert said() == {}, "nothing is left in the thread"
    first, second = of(spans, "sync ticket")
    assert first.context is not None
    assert second.context is not None
    assert (lines[0]["trace_id"], lines[1]["trace_id"]) == (TRACE, f"{second.context.trace_id:032x}")
    assert lines[1]["trace_id"] != TRACE
    (created,), (changed,) = of(spans, "POST issues"), of(spans, "PUT issues")
    assert created.parent is not None
    assert changed.parent is not None
    assert created.parent.span_id == first.context.span_id
    assert changed.parent.span_id == second.context.span_id
    assert (created.status.is_ok, changed.status.is_ok) == (True, False)


def test_what_the_sweep_rang_leads_to_its_events_and_what_came_with_them_does_not(
    spans: InMemorySpanExporter,
) -> None:
    for notified_by in (CAME_WITH, None):
        own = OwnContext(7, notified_by)
        for _ in range(2):  # the events may be loaded again
            own.run(bind_event_fields, [pending(1, "first", CAME_WITH)])
        own.end()
    with_its_event, later = of(spans, "sync ticket")
    assert with_its_event.links == ()
    assert [f"{link.context.trace_id:032x}" for link in later.links] == [TRACE]
    assert later.parent is None


def test_without_traces_of_our_own_a_line_says_the_helpdesk_s() -> None:
    own = OwnContext(7)
    own.run(bind_event_fields, [pending(1, "first"), pending(2, "second", CAME_WITH)])
    line = own.run(said)
    assert (line["trace_id"], line["event_ids"]) == (TRACE, [1, 2])
    assert line["keys"] == ["ticket-task:512"] * 2


def test_a_way_at_its_end_leaves_no_garbage(spans: InMemorySpanExporter) -> None:
    own = OwnContext(7, CAME_WITH)
    own.run(bind_event_fields, [pending(1, "first", CAME_WITH)])
    left = ref(own)
    gc.disable()
    try:
        own.end()
        del own
        assert left() is None
    finally:
        gc.enable()
    assert of(spans, "sync ticket")


def test_a_line_names_the_newest_of_many_events() -> None:
    own = OwnContext(7)
    own.run(bind_event_fields, [pending(number, str(number)) for number in range(1, 31)])
    assert own.run(said)["event_ids"] == list(range(21, 31))


def test_outside_of_a_ticket_s_way_nothing_is_named_and_no_call_recorded(
    spans: InMemorySpanExporter,
) -> None:
    bind_event_fields([pending(1, "first", CAME_WITH)])
    tracing.called("GET users", "200", 0.1)
    assert said() == {}
    assert spans.get_finished_spans() == ()


def test_an_error_that_leaves_a_span_makes_it_a_failed_one(spans: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), tracing.span("webhook", "server"):
        raise KeyError("a text of somebody")
    (span,) = of(spans, "webhook")
    assert not span.status.is_ok
    assert span.events == (), "no text of an error goes out"


def test_traces_are_off_unless_an_address_is_set() -> None:
    tracing.start(Settings(), "worker")
    assert tracing.begin("sync ticket", "consumer") is tracing.NOTHING


def test_without_the_extra_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "shared.telemetry.opentelemetry")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(SettingsError, check=says(SystemRefusal.EXTRA_NOT_INSTALLED, extra="[otel]")):
        tracing.start(Settings(otlp_endpoint="http://127.0.0.1:4318"), "worker")


def test_a_collector_that_is_away_keeps_nobody_from_ending() -> None:
    on = OpenTelemetry(f"http://127.0.0.1:{free_port()}", "worker")
    on.begin("sync ticket", "consumer", None, {}).end()
    started = time.monotonic()
    on.close()
    assert time.monotonic() - started < PATIENCE_S + 6, "its library has ten seconds"


def test_a_queue_message_of_the_sweep_takes_no_trace_from_a_ticket_that_waits(
    spans: InMemorySpanExporter,
) -> None:
    is_busy, go_on = threading.Event(), threading.Event()

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            is_busy.set()
            go_on.wait(PATIENCE_S)

    with at_work(workflow, callers=1) as scheduler:
        scheduler.take([1])
        assert is_busy.wait(PATIENCE_S)
        scheduler.take([7], {7: CAME_WITH})
        scheduler.take([7])
        go_on.set()
        until(lambda: not scheduler.is_at_work)
    _, synced = of(spans, "sync ticket")
    assert synced.parent is not None
    assert f"{synced.parent.trace_id:032x}" == TRACE
