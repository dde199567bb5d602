"""Turns GLPI's webhook bodies into events. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from shared.errors import InvalidEvent
from shared.events.delivery import Delivery, parse_delivery
from shared.events.size import fitting
from shared.notices.invalid import Invalid
from shared.values.validation import model_faults

Event = Literal["new", "update", "delete"]
SOURCE = {"helpdesk": "glpi"}
FIRST, NEXT, LAST = 0, 1, 2
"""GLPI's dates have whole seconds; within one, `new` comes first and `delete` last, in whatever order they are sent."""


class Item(StrEnum):
    """What a webhook is about. The body does not name it, so each kind has an address of its own."""

    TICKET = "ticket"
    TICKET_TASK = "ticket-task"
    FOLLOWUP = "followup"
    SOLUTION = "solution"


Content = Annotated[str | None, AfterValidator(fitting)]
"""A rich text. GLPI sends pictures within it as data, which nobody stores: hours must not be lost for a picture."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class _Named(_Shape):
    id: int


class _Called(_Named):
    name: str | None = None


class _Entity(_Called):
    completename: str | None = None


class _Member(_Shape):
    id: int
    role: str
    display_name: str | None = None


class _Ticket(_Shape):
    id: int
    name: str | None
    content: Content = None
    status: _Named
    entity: _Entity
    date_mod: AwareDatetime
    date_creation: str | None = None
    is_deleted: bool | None = None
    urgency: int | None = None
    impact: int | None = None
    priority: int | None = None
    type: int | None = None
    external_id: str | None = None
    category: _Called | None = None
    location: _Called | None = None
    team: list[_Member] = Field(default_factory=list)


class _Task(_Shape):
    id: int
    content: Content = None
    state: int
    duration: int
    user: _Called | None = None
    user_tech: _Called | None = None
    planned_begin: str | None = None
    date: str | None = Field(default=None, description="when it was written")
    date_mod: AwareDatetime
    date_creation: str | None = None
    is_private: bool | None = None
    source_item_id: int | None = Field(
        default=None, description="the ticket that GLPI copied the task from, 0 for none"
    )


class _Note(_Shape):
    id: int
    itemtype: str = Field(description="what it is about: `Ticket`, `Change` or `Problem`")
    content: Content = None
    user: _Called | None = None
    date: str | None = None
    date_creation: str | None = None
    date_mod: AwareDatetime | None = None


class _Followup(_Note):
    is_private: bool


class _Solution(_Note):
    is_private: None = Field(default=None, description="a follow-up has it")


class _TicketBody(_Shape):
    event: Event
    item: _Ticket


class _TaskBody(_Shape):
    event: Event
    item: _Task
    parent_item: Annotated[_Ticket, Field(description="the task's ticket")]


class _NoteBody(_Shape):
    event: Event
    item: _Note
    parent_item: Annotated[
        _Ticket, Field(description="its ticket, or its change or problem, which look alike")
    ]


class _FollowupBody(_NoteBody):
    item: _Followup


class _SolutionBody(_NoteBody):
    item: _Solution


def read(item: Item, body: bytes, delivery_id: str) -> Delivery | None:
    """Translate one delivery.

    GLPI never sends an e-mail address or a project, and a technician only with a ticket. The event's key `incomplete`
    lists what is missing, so that the worker completes it from the help desk.

    Args:
        item: the kind of item, by the webhook's address; a body of another kind is read as that kind.
        body: the request's body, byte for byte.
        delivery_id: the delivery's id.

    Returns:
        The delivery. It is a deletion if a ticket was put in the bin, or a part of it was deleted.
        None if nothing follows from it, such as the solution of a problem.

    Raises:
        InvalidEvent: if the body is invalid; it names every fault by its path in GLPI's body.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidEvent([("(body)", Invalid.JSON_EXPECTED())]) from None
    try:
        return _READERS[item](data, delivery_id)
    except ValidationError as error:
        faults = [(path or "(body)", problem) for path, problem in model_faults(error)]
    # the signature does not cover the address, so a delivery may come to another one; it is read as what it is
    for other in _READERS.keys() - {item}:
        with suppress(ValidationError):
            return _READERS[other](data, delivery_id)
    raise InvalidEvent(faults)


def without_private_text(body: bytes) -> bytes:
    """Return an unreadable body, without the text of its task or follow-up if that is marked as private.

    The setting that allows private texts applies only to readable bodies. A body that is not JSON is unchanged.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return body
    item = data.get("item") if isinstance(data, dict) else None
    if not isinstance(item, dict) or not item.get("is_private"):
        return body
    return json.dumps(data | {"item": item | {"content": None}}).encode()


def _ticket_event(data: Any, delivery_id: str) -> Delivery:
    body = _TicketBody.model_validate(data)
    if body.event == "delete":
        return _deletion("ticket.deleted", body.item.date_mod, {"ticket": {"id": body.item.id}}, delivery_id)
    ticket = _ticket(body.item)
    assigned = [one for one in body.item.team if one.role == "assigned"]
    requesters = [one for one in body.item.team if one.role == "requester" and one.id > 0]
    ticket |= {
        name: _person(some) for name, some in (("technician", assigned), ("requester", requesters)) if some
    }
    incomplete = ["ticket.project_id", *(["ticket.technician.email"] if assigned else [])]
    return _delivery(
        "ticket.updated", body.item.date_mod, body.event, {"ticket": ticket}, incomplete, delivery_id
    )


def _task_event(data: Any, delivery_id: str) -> Delivery:
    body = _TaskBody.model_validate(data)
    item = body.item
    if body.event == "delete":
        ids = {"ticket": {"id": body.parent_item.id}, "task": {"id": item.id}}
        return _deletion("ticket_task.deleted", item.date_mod, ids, delivery_id)
    task = {
        "id": item.id,
        "content": item.content,
        "state": item.state,
        "actiontime": item.duration,
        "user": _user(item.user),
        "technician": _user(item.user_tech),
        "date": (item.planned_begin or item.date or "")[:10] or None,
        "is_private": item.is_private,
        "copied_from_ticket": item.source_item_id or None,
        "created_at": item.date_creation,
    }
    name = "ticket_task.added" if body.event == "new" else "ticket_task.updated"
    parts = {"ticket": _ticket(body.parent_item), "task": task}
    return _delivery(name, item.date_mod, body.event, parts, _lacking("task", task), delivery_id)


def _note_event(kind: Item, shape: type[_NoteBody], data: Any, delivery_id: str) -> Delivery | None:
    body = shape.model_validate(data)
    item = body.item
    if item.itemtype != "Ticket":
        return None
    at = item.date_mod or body.parent_item.date_mod
    if body.event == "delete":
        ids = {"ticket": {"id": body.parent_item.id}, str(kind): {"id": item.id}}
        return _deletion(f"{kind}.deleted", at, ids, delivery_id)
    note = {
        "id": item.id,
        "content": item.content,
        "user": _user(item.user),
        "date": item.date or item.date_creation,
        "is_private": item.is_private if isinstance(item, _Followup) else None,
        "created_at": item.date_creation,
    }
    name = f"{kind}.added" if body.event == "new" else f"{kind}.updated"
    parts = {"ticket": _ticket(body.parent_item), str(kind): note}
    return _delivery(name, at, body.event, parts, _lacking(kind, note), delivery_id)


_READERS: dict[Item, Callable[[Any, str], Delivery | None]] = {
    Item.TICKET: _ticket_event,
    Item.TICKET_TASK: _task_event,
    Item.FOLLOWUP: partial(_note_event, Item.FOLLOWUP, _FollowupBody),
    Item.SOLUTION: partial(_note_event, Item.SOLUTION, _SolutionBody),
}


def _lacking(name: str, part: dict[str, Any]) -> list[str]:
    """Return the fields that GLPI leaves out of a delivery about a part of a ticket."""
    people = [f"{name}.{role}.email" for role in ("user", "technician") if part.get(role)]
    return ["ticket.project_id", "ticket.requester", "ticket.technician", *people]


def _user(user: _Called | None) -> dict[str, Any] | None:
    """Return a person of a part of a ticket, or None: an author by mail may have no account, and so no id."""
    return {"id": user.id, "email": None, "name": user.name} if user and user.id > 0 else None


def _ticket(item: _Ticket) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.name or "",
        "content": item.content,
        "status": item.status.id,
        "entity_id": item.entity.id,
        "entity_name": item.entity.completename or item.entity.name,
        "is_deleted": item.is_deleted,
        "urgency": item.urgency,
        "impact": item.impact,
        "priority": item.priority,
        "type": item.type,
        "external_id": item.external_id,
        "category": _called(item.category),
        "location": _called(item.location),
        "created_at": item.date_creation,
    }


def _called(one: _Called | None) -> dict[str, Any] | None:
    return one.model_dump() if one and one.id > 0 else None


def _person(some: list[_Member]) -> dict[str, Any]:
    """Return the first of some people."""
    return {"id": some[0].id, "email": None, "name": some[0].display_name}


def _deletion(name: str, changed_at: datetime, ids: dict[str, Any], delivery_id: str) -> Delivery:
    """Build the event of a deletion, which comes after all others of its second."""
    return parse_delivery(
        {"event": name, "occurred_at": changed_at.isoformat(), "sequence": LAST, **ids, "source": SOURCE},
        delivery_id,
    )


def _delivery(
    name: str,
    changed_at: datetime,
    event: Event,
    parts: dict[str, Any],
    incomplete: list[str],
    delivery_id: str,
) -> Delivery:
    """Build the event of a snapshot: of the ticket, and of the part that it is about."""
    data = {
        "event": name,
        "occurred_at": changed_at.isoformat(),
        "sequence": FIRST if event == "new" else NEXT,
        "content_format": "html",
        **parts,
        "source": SOURCE | {"webhook_event": event},
        "incomplete": incomplete,
    }
    return parse_delivery(data, delivery_id)
