"""Events as the journal stores them."""

from __future__ import annotations

import json
from typing import Any

from shared.errors import InvalidEvent
from shared.events.event import EMAILS, OTHER_PROJECTS, Deletion, Event, known_facts
from shared.events.parsing import may_be_deep, may_have_surrogates, parse
from shared.notices.invalid import Invalid

LONGEST_NAME = 100


def stored(payload: str, completion: str | None = None) -> Event | Deletion:
    """Return the event of a payload that was validated when it was appended to the journal.

    Args:
        payload: as the journal stores it.
        completion: facts of `incomplete` that were looked up later, as JSON: fact to value; None: none yet.

    Raises:
        InvalidEvent: if the payload is not valid.
    """
    data = stored_data(payload, completion)
    if completion:
        return parse(data, stored=True)
    return parse(data, clean=not may_have_surrogates(payload), flat=not may_be_deep(payload), stored=True)


def stored_data(payload: str, completion: str | None = None) -> Any:
    """Return the JSON data of a payload, completed with facts that were looked up later (see `stored`).

    Raises:
        InvalidEvent: if the payload or the completion is not JSON.
    """
    try:
        data, facts = json.loads(payload), json.loads(completion) if completion else None
    except (ValueError, RecursionError):
        raise InvalidEvent([("(event)", Invalid.JSON_EXPECTED())]) from None
    if not facts or not isinstance(data, dict) or not isinstance(facts, dict):
        return data
    lacking = known_facts(data.get("incomplete"))
    for fact, value in facts.items():
        if fact in (*lacking, OTHER_PROJECTS, *(f"{one}s" for one in EMAILS if one in lacking)):
            *parents, last = fact.split(".")
            place: Any = data
            for name in parents:
                place = place.get(name) if isinstance(place, dict) else None
            if isinstance(place, dict):
                place[last] = value
    return data | {"incomplete": [one for one in lacking if one not in facts]}


def entity_name(payload: str) -> str | None:
    """Return the name of the ticket's entity (`ticket.entity_name`), or None if the event has none."""
    try:
        name = json.loads(payload)["ticket"]["entity_name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name[:LONGEST_NAME] if isinstance(name, str) else None
