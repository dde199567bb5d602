"""The log fields and the span of one ticket's workflow, whichever thread works on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

from structlog.contextvars import bind_contextvars

from shared.telemetry import tracing
from shared.telemetry.traceparent import trace_id
from worker.ticket.plan import Pending

P = ParamSpec("P")
T = TypeVar("T")
Fields = dict[str, Any]
MOST_TOLD = 10
"""The most events that a log line names; the newest ones."""

_own: ContextVar[OwnContext | None] = ContextVar("_own", default=None)


class OwnContext:
    """The context in which one ticket's workflow and its steps run.

    Args:
        ticket_id: the ticket.
        notified_by: the traceparent of the queue message, or None if the sweep sent it or traces are off.

    Attributes:
        context: the context variables.
    """

    def __init__(self, ticket_id: int, notified_by: str | None = None) -> None:
        self.context = copy_context()
        self._notified_by, self._linked = notified_by, set[str]()
        self._span = tracing.begin(
            "sync ticket", "consumer", notified_by, {"deskbridge.ticket_id": ticket_id}
        )
        self.run(self._enter, ticket_id)

    def run(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function within the context."""
        return self.context.run(do, *args, **kwargs)

    def end(self, *, failed: bool = False) -> None:
        """End the span of the workflow; all references to the workflow's data are dropped at once."""
        self._span.end(failed=failed)
        self.context.run(_own.set, None)

    def bind_event_fields(self, events: Sequence[Pending]) -> Fields:
        """Add the events of the workflow to its log lines and span; return their log fields."""
        named = events[-MOST_TOLD:]
        told: Fields = {
            "event_ids": [one.id for one in named],
            "keys": [one.event.key for one in named],
            "delivery_ids": [one.delivery_id for one in named],
        }
        for one in named:
            came_with = one.traceparent
            if came_with and came_with not in self._linked and not self._is_of_the_message(came_with):
                self._linked.add(came_with)
                self._span.link(came_with)
        trace = self._span.traceparent or next(
            (one.traceparent for one in reversed(named) if one.traceparent), None
        )
        if trace:
            told["trace_id"] = trace_id(trace)
        bind_contextvars(**told)
        return told

    def _is_of_the_message(self, traceparent: str) -> bool:
        return self._notified_by is not None and trace_id(self._notified_by) == trace_id(traceparent)

    def _enter(self, ticket_id: int) -> None:
        _own.set(self)
        tracing.CURRENT.set(self._span)
        bind_contextvars(ticket_id=ticket_id)
        if self._span.traceparent:
            bind_contextvars(trace_id=trace_id(self._span.traceparent))


def bind_event_fields(events: Sequence[Pending]) -> Fields:
    """Add the events of the workflow to its log lines and span; return their log fields, or {} outside a context."""
    own = _own.get()
    return own.bind_event_fields(events) if own else {}
