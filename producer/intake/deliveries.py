"""Turns a request's body into validated deliveries. Pure, so that every refusal can be tested without a server."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from producer.http.problems import Problem
from shared.errors import InvalidEvent
from shared.events.delivery import Delivery, parse_delivery
from shared.events.parsing import may_be_deep, may_have_surrogates
from shared.notices.deliveries import Undelivered
from shared.notices.invalid import Faults, Invalid
from shared.notices.notice import Notice
from shared.notices.render import sentence

MOST_EVENTS = 500
MOST_FAULTS = 50
LONGEST_FAULT = 200
BYTE_ORDER_MARK = "\ufeff"
"""Some programs write it before UTF-8; it is no part of the JSON, and RFC 8259, section 8.1, allows ignoring it."""


def deliveries(body: str, webhook_id: str) -> list[Delivery]:
    """Parse one event, or an array of them; an empty array is a test, and has none.

    Args:
        body: the request's body.
        webhook_id: id of the delivery; an event in an array has its own `delivery_id`, or gets `<id>/<index>`.

    Raises:
        Problem: 400 if it is not JSON, 422 if events are invalid, with every fault named by its path.
    """
    data = _decoded(body)
    if not isinstance(data, list):
        return _parsed([(data, webhook_id, "")], body)
    if len(data) > MOST_EVENTS:
        problem = Invalid.EVENT_COUNT_WRONG(most=MOST_EVENTS, got=len(data))
        why = Undelivered.EVENT_MALFORMED(first=problem)
        raise Problem(422, "Not valid events", sentence(problem), why=why)
    return _parsed([_numbered(item, index, webhook_id) for index, item in enumerate(data)], body)


def _numbered(item: Any, index: int, webhook_id: str) -> tuple[Any, str, str]:
    own = item.get("delivery_id") if isinstance(item, dict) else None
    if own is None:
        return item, f"{webhook_id}/{index}", f"[{index}]."
    event = {name: value for name, value in item.items() if name != "delivery_id"}
    return event, own if isinstance(own, str) else "", f"[{index}]."


def _parsed(items: list[tuple[Any, str, str]], source: str) -> list[Delivery]:
    parsed: list[Delivery] = []
    faults: Faults = []
    clean, flat = not may_have_surrogates(source), not may_be_deep(source)
    for data, delivery_id, where in items:
        try:
            parsed.append(parse_delivery(data, delivery_id, clean=clean, flat=flat))
        except InvalidEvent as invalid:
            faults += [(where + path, problem) for path, problem in invalid.faults]
    if faults:
        raise Problem(
            422,
            "Not a valid event",
            "nothing was stored; correct the fields listed in `errors`",
            why=Undelivered.EVENT_MALFORMED(first=_first(faults)),
            faults=faults[:MOST_FAULTS],
        )
    return parsed


def _first(faults: Faults) -> Notice:
    """Return the first fault; its path is cut, since the sender can make it as long as they like."""
    path, problem = faults[0]
    return Invalid.FAULT_OF_FIELD(field=path[:LONGEST_FAULT], problem=problem)


def _decoded(body: str) -> Any:
    try:
        return DECODER.decode(body.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        detail = "the body must be a JSON object or an array of them"
        raise Problem(400, "Not JSON", detail, why=Undelivered.BODY_NOT_JSON()) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse)
