"""The events that match a filter, as CSV and as JSON, some at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from producer.admin.presenters.moments import stamp
from producer.admin.presenters.shapes import Shape
from producer.admin.presenters.spreadsheets import csv_line
from producer.admin.queries.events import event_about, latest_events
from producer.admin.records.event_search import Wanted
from producer.admin.services import Services

AT_ONCE = 500
COLUMNS = (
    "id", "received_at", "state", "event", "ticket_id", "title", "task_id", "who", "issue_id", "code", "reason",
    "occurred_at", "attempts", "key",
)  # fmt: skip


def exported_events(services: Services, wanted: Wanted) -> Iterator[list[Shape]]:
    """Yield the events that match, newest first, some at a time: as the API has them, and what each is about.

    Args:
        services: the collaborators.
        wanted: the filter.
    """
    below: int | None = None
    while found := latest_events(services, wanted, limit=AT_ONCE, below=below):
        yield [event_about(*one).printed() for one in found]
        below = found[-1][0].id


def events_csv(services: Services, wanted: Wanted) -> Iterator[str]:
    """Yield the events that match as lines of CSV."""
    yield csv_line(COLUMNS)
    for some in exported_events(services, wanted):
        yield "".join(csv_line([_cell(one[name]) for name in COLUMNS]) for one in some)


def events_json(services: Services, wanted: Wanted) -> Iterator[str]:
    """Yield the events that match as one JSON array."""
    before = "["
    for some in exported_events(services, wanted):
        for one in some:
            yield f"{before}{json.dumps(one, default=stamp, ensure_ascii=False)}"
            before = ",\n"
    yield "[]" if before == "[" else "]\n"


def _cell(value: Any) -> object:
    return stamp(value) if hasattr(value, "astimezone") else value
