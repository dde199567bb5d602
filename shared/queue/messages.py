"""What a worker takes from the queue: of a message only what one of ours may hold, built anew, and else nothing.

Whoever can write to Redis could otherwise end every worker with a message that Celery does not expect, or have it
decode one that inflates to more memory than there is.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kombu.transport import redis, virtual

from shared.telemetry.traceparent import read_of_tickets
from shared.values.ids import is_id

SYNC_TICKET = "deskbridge.sync_ticket"
SWEEP = "deskbridge.sweep"
SYNC_METADATA = "deskbridge.sync_metadata"
PRUNE = "deskbridge.prune"
BY_THE_CLOCK = (SWEEP, SYNC_METADATA, PRUNE)
MOST_TICKETS = 16
"""Tickets of one message: a message costs as much as a few of them, and a worker is not to take all that there are."""

LARGEST_MESSAGE = 64 * 1024
"""Characters; one of ours has some hundreds."""

LONGEST_NAME = 200
NOTHING_READABLE = "Pz8/"
"""To Celery a message that it cannot decode: it is logged and acknowledged."""


class QueueMessage(virtual.Message):
    """A message as a worker takes it from Redis.

    Args:
        payload: what Redis holds.
        options: as for any message.

    Attributes:
        is_readable: whether it says anything.
    """

    def __init__(self, payload: Any, **options: Any) -> None:
        taken = understood(payload)
        super().__init__(taken, **options)  # type: ignore[no-untyped-call]
        self.is_readable = taken["body"] != NOTHING_READABLE


def guard_queue() -> None:
    """Have every message of the queue read as a queue message."""
    redis.Channel.Message = QueueMessage  # type: ignore[assignment]
    # what a worker has taken and leaves, it notifies itself; or else the sweep does
    redis.Channel.do_restore = False
    vars(redis)["loads"] = read  # the name by which the transport calls it


def read(text: str | bytes) -> Any:
    """Return what a text of Redis says, {} where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def understood(payload: Any) -> dict[str, Any]:
    """Return a message of which every part is as Celery expects it.

    Args:
        payload: whatever was in the queue.
    """
    try:
        headers, body = payload["headers"], _body(payload["body"], payload["headers"]["task"])
        task, name, expires = headers["task"], _name(headers["id"]), _date(headers.get("expires"))
        tag = _name(payload["properties"]["delivery_tag"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        task, name, expires, tag, body = SYNC_TICKET, "unreadable", None, str(uuid.uuid4()), NOTHING_READABLE
    nothing = dict.fromkeys(("shadow", "eta", "group", "parent_id"))
    ids = {"lang": "py", "task": task, "id": name, "root_id": name, "argsrepr": "", "kwargsrepr": ""}
    headers = {**nothing, **ids, "expires": expires, "retries": 0, "timelimit": [None, None]}
    return as_in_redis(headers, body, name, tag)


def as_in_redis(headers: Mapping[str, Any], body: str, name: str, tag: str) -> dict[str, Any]:
    """Return a message as kombu keeps it in Redis.

    Args:
        headers: of the message.
        body: what it says (`encoded`).
        name: the message's.
        tag: of its delivery.
    """
    return {
        "body": body,
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": headers,
        "properties": {
            "correlation_id": name,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "deskbridge"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": tag,
        },
    }


def _body(text: str, task: str) -> str:
    if len(text) > LARGEST_MESSAGE:
        raise ValueError("larger than any ring")
    _, given, _ = json.loads(base64.b64decode(text, validate=True))
    named: Mapping[str, Any] = {}
    if task == SYNC_TICKET:
        tickets = [given["ticket_id"], *given.get("others", [])]
        if len(tickets) > MOST_TICKETS or not all(map(is_id, tickets)):
            raise ValueError("no tickets")
        traces = read_of_tickets(given.get("traces"), tickets)
        named = message_of(tickets, traces, if_due=given.get("if_due") is True)
    elif task not in BY_THE_CLOCK:
        raise ValueError("no task of ours")
    return encoded([[], named, {}])


def encoded(body: Sequence[Any]) -> str:
    """Return a message's body as it stands in Redis."""
    return base64.b64encode(json.dumps(body).encode()).decode()


def message_of(
    ticket_ids: Sequence[int], traces: Mapping[int, str] | None = None, *, if_due: bool = False
) -> dict[str, Any]:
    """Return what a queue message says: the first ticket, and the others that share the message.

    Args:
        ticket_ids: the tickets.
        traces: by ticket the traceparent of the message, where a trace is recorded.
        if_due: whether those are left out of which no event is due any more.
    """
    first, *others = ticket_ids
    message: dict[str, Any] = {"ticket_id": first}
    if others:
        message["others"] = others
    if named := {str(one): trace for one in ticket_ids if (trace := (traces or {}).get(one))}:
        message["traces"] = named
    if if_due:
        message["if_due"] = True
    return message


def _name(text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise ValueError("no name")
    return text


def _date(text: Any) -> str | None:
    return None if text is None else datetime.fromisoformat(text).isoformat()
