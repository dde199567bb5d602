"""Reads files of events, and splits them into batches that the producer accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from producer.http.sending import NotSent, Ready, ready_event
from shared.errors import InvalidEvent
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal

__all__ = ["NotSent", "batches", "read_events"]

MOST_EVENTS = 100
LARGEST_BATCH = 900 * 1024
"""Bytes of a batch; the producer accepts 1 MiB."""

MOST_FAULTS = 20
Place = tuple[Literal["number", "line"], int]
"""The place of a fault in a file: the number of an event, or of a line."""


def read_events(content: bytes) -> list[Ready]:
    """Read a file of events: JSON lines, or one JSON array, or a single event.

    Raises:
        NotSent: if it is not such a file; every fault is named by its line or number.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise NotSent(Refusal.EVENT_FILE_NOT_TEXT(line=line)) from None
    ready: list[Ready] = []
    faults: list[Notice] = []
    for place, data, fault in _entries(text):
        if fault:
            faults.append(_fault(place, "", Invalid.JSON_FAULTY(error=fault)))
            continue
        try:
            ready.append(ready_event(data))
        except InvalidEvent as invalid:
            faults += [_fault(place, path, problem) for path, problem in invalid.faults]
    if faults:
        more = max(0, len(faults) - MOST_FAULTS) or None
        raise NotSent(Refusal.EVENTS_NOT_SENT(faults=faults[:MOST_FAULTS], more=more))
    return ready


def batches(ready: Sequence[Ready]) -> Iterator[list[Ready]]:
    """Split events into batches that the producer accepts."""
    batch: list[Ready] = []
    size = 0
    for one in ready:
        if batch and (len(batch) == MOST_EVENTS or size + len(one.content) > LARGEST_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.content) + 2
    if batch:
        yield batch


def _entries(text: str) -> Iterator[tuple[Place, Any, str]]:
    """Yield (place, data, fault) for each event of a file."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, list):
        yield from ((("number", number), data, "") for number, data in enumerate(whole, 1))
        return
    if whole is not None:
        yield ("line", 1), whole, ""
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield ("line", number), json.loads(line), ""
        except (ValueError, RecursionError) as error:
            yield ("line", number), None, str(error)


def _fault(place: Place, field: str, problem: Notice) -> Notice:
    """Return what is wrong with one event of a file."""
    kind, number = place
    if kind == "line":
        return Invalid.FAULT_ON_LINE(line=number, field=field or None, problem=problem)
    return Invalid.FAULT_OF_EVENT(number=number, field=field, problem=problem)
