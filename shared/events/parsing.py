"""Validation of an event as JSON data."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from shared.errors import InvalidEvent
from shared.events.event import DELETIONS, EVENTS, NOTE_UPDATES, PART_OF, Deletion, Event
from shared.events.snapshots import LARGEST_TICKET, STORED, Document, TextHolder
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.values.characters import LONE_SURROGATE
from shared.values.validation import model_faults

DEEPEST = 20
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
HOLDERS = ("ticket", "task", "followup", "solution")
HANDED_DOWN = {f"{holder}.{name}" for holder in HOLDERS for name in TextHolder.model_fields}


def may_have_surrogates(source: str) -> bool:
    """Return whether a JSON text may contain lone surrogates; if not, the decoded data need not be searched."""
    return ESCAPED_SURROGATE.search(source) is not None


def may_be_deep(source: str) -> bool:
    """Return whether a JSON text may be nested too deeply, because it has more brackets than accepted levels."""
    return source.count("{") + source.count("[") > DEEPEST


def parse(data: object, *, clean: bool = False, flat: bool = False, stored: bool = False) -> Event | Deletion:
    """Validate the JSON data of one event, with a snapshot or of a deletion.

    Args:
        data: the decoded JSON.
        clean: whether it is known to contain no lone surrogates (`may_have_surrogates`).
        flat: whether it is known not to be nested too deeply (`may_be_deep`).
        stored: whether it was accepted before; if so, an unreadable day becomes None.

    Returns:
        The event, without parts that an event of its name is not about.

    Raises:
        InvalidEvent: if it is not valid; names every fault by its path.
    """
    if not isinstance(data, dict):
        raise InvalidEvent([("(event)", Invalid.JSON_OBJECT_EXPECTED())])
    if not flat and _is_deeper(data, DEEPEST):
        raise InvalidEvent([("(event)", Invalid.NESTED_TOO_DEEP(most=DEEPEST))])
    part = _part(data)
    data = {name: value for name, value in data.items() if name == part or name not in PART_OF.values()}
    model = Deletion if _has_no_snapshot(data, part) else Event
    data = data if model is Deletion else _handed_down(data)
    try:
        event = model.model_validate(
            data if clean else _without_surrogates(data), context=STORED if stored else None
        )
    except ValidationError as error:
        faults = [one for one in model_faults(error) if one[0] not in HANDED_DOWN]
        raise InvalidEvent([*faults, *_missing(data, part)]) from None
    if missing := _missing(data, part):
        raise InvalidEvent(missing)
    if event.document and event.ticket.id > LARGEST_TICKET:
        raise InvalidEvent([("ticket.id", Invalid.NUMBER_TOO_LARGE(most=LARGEST_TICKET))])
    return event


def as_stored(data: Any, event: Event | Deletion) -> Any:
    """Return the data of an event as it is stored: no text of a deletion, and no name of a private document."""
    if isinstance(event, Deletion) and event.part:
        return {**data, str(_part(data)): event.part.model_dump(exclude_none=True)}
    if not event.document:
        return data
    kept = {name: value for name, value in data["document"].items() if name in Document.model_fields}
    return {**data, "document": {**kept, "name": None} if kept.get("is_private") else kept}


def parse_event(data: object, *, clean: bool = False, flat: bool = False) -> Event:
    """Validate one event that has a snapshot (`parse`).

    Raises:
        InvalidEvent: if it is not valid, or is a deletion.
    """
    event = parse(data, clean=clean, flat=flat)
    if isinstance(event, Deletion):
        raise InvalidEvent([("event", Invalid.CHOICE_EXPECTED(choices=list(EVENTS)))])
    return event


def _is_deeper(value: dict[str, Any], levels: int) -> bool:
    """Return whether a value is nested deeper than the given levels, without looking any deeper."""
    level: list[Any] = [value]
    for _ in range(levels):
        if not level:
            break
        items = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for some in items for item in some if isinstance(item, (dict, list))]
    return bool(level)


def _handed_down(data: dict[str, Any]) -> dict[str, Any]:
    """Copy text format and URL of the event into its parts, because snapshots are stored without their event."""
    said = {name: data.get(name) for name in TextHolder.model_fields}
    parts = {name: data[name] | said for name in HOLDERS if isinstance(data.get(name), dict)}
    return data | parts


def _part(data: dict[str, Any]) -> str | None:
    """Return the part that an event is about, by its name, or None if it is about the ticket alone."""
    return PART_OF.get(str(data.get("event")).partition(".")[0])


def _has_no_snapshot(data: dict[str, Any], part: str | None) -> bool:
    """Return whether an event is a deletion, or only says that a follow-up or solution is private now."""
    name, about = data.get("event"), data.get(part or "")
    if name not in NOTE_UPDATES or not isinstance(about, dict):
        return name in DELETIONS
    return about.get("is_private") is True and "content" not in about


def _missing(data: dict[str, Any], part: str | None) -> list[tuple[str, Notice]]:
    """Return a fault if an event lacks the part that it is about."""
    if part is None or data.get(part) is not None:
        return []
    is_task = part == "task"
    return [(part, Invalid.TASK_REQUIRED() if is_task else Invalid.PART_REQUIRED(event=data["event"]))]


def _without_surrogates(value: Any, mark: str = "") -> Any:
    """Remove lone surrogates, which are accepted; U+0000 is removed later, when a text is made plain.

    In an e-mail address a mark replaces them, so that it does not become another person's address.
    """
    if isinstance(value, str):
        return LONE_SURROGATE.sub(mark, value)
    if isinstance(value, dict):
        return {
            key: _without_surrogates(item, "\ufffd" if key == "email" else mark)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_surrogates(item, mark) for item in value]
    return value
