"""Small factories of help desk events for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from shared.events.event import Event
from shared.events.stored import stored

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ALICE = {"id": 7, "email": "alice@example.test"}
BOB = {"id": 8, "email": "Bob@Example.test"}
SUPPORT_ENTITY = 3
DONE = 2

_deliveries = count(1)


def moment(minutes: float) -> str:
    """Return a help desk time, minutes after the start of the tests' day."""
    return (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def ticket(ticket_id: int = 4711, **changes: Any) -> dict[str, Any]:
    """Return a ticket's snapshot."""
    return {
        "id": ticket_id,
        "title": f"Printer {ticket_id} on fire",
        "content": "<p>It <b>burns</b></p>",
        "status": 2,
        "entity_id": SUPPORT_ENTITY,
        "project_id": None,
        "technician": ALICE,
        **changes,
    }


def task(task_id: int = 512, **changes: Any) -> dict[str, Any]:
    """Return a ticket task's snapshot: Done, an hour and a half, logged by alice."""
    return {
        "id": task_id,
        "content": f"<p>Extinguished {task_id}</p>",
        "state": DONE,
        "actiontime": 5400,
        "user": ALICE,
        **changes,
    }


def task_event(
    at: float = 0,
    *,
    of_ticket: dict[str, Any] | None = None,
    of_task: dict[str, Any] | None = None,
    event: str = "ticket_task.updated",
    **extra: Any,
) -> dict[str, Any]:
    """Return a ticket-task event.

    Args:
        at: minutes after the start of the tests' day.
        of_ticket: the ticket's snapshot.
        of_task: the ticket task's snapshot.
        event: name of the event.
        extra: further keys of the event.
    """
    return {
        "event": event,
        "occurred_at": moment(at),
        "ticket": of_ticket or ticket(),
        "task": of_task or task(),
        **extra,
    }


def ticket_event(at: float = 0, *, of_ticket: dict[str, Any] | None = None, **extra: Any) -> dict[str, Any]:
    """Return a ticket update."""
    return {"event": "ticket.updated", "occurred_at": moment(at), "ticket": of_ticket or ticket(), **extra}


def followup(followup_id: int = 77, **changes: Any) -> dict[str, Any]:
    """Return a follow-up of alice."""
    return {"id": followup_id, "content": f"<p>Toner {followup_id} ordered</p>", "user": ALICE, **changes}


def followup_event(
    at: float = 0,
    *,
    of_ticket: dict[str, Any] | None = None,
    of_followup: dict[str, Any] | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """Return the event that a follow-up was added."""
    return {
        "event": "followup.added",
        "occurred_at": moment(at),
        "ticket": of_ticket or ticket(),
        "followup": of_followup or followup(),
        **extra,
    }


def solution_event(
    at: float = 0,
    *,
    of_ticket: dict[str, Any] | None = None,
    of_solution: dict[str, Any] | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """Return the event that a solution was added."""
    return {
        "event": "solution.added",
        "occurred_at": moment(at),
        "ticket": of_ticket or ticket(),
        "solution": of_solution or {"id": 77, "content": "<p>Toner replaced</p>", "user": ALICE},
        **extra,
    }


def document(document_id: int = 91, **changes: Any) -> dict[str, Any]:
    """Return a document of alice that is attached to the ticket."""
    return {
        "id": document_id,
        "name": f"scan-{document_id}.png",
        "mime_type": "image/png",
        "user": ALICE,
        "item": {"type": "Ticket", "id": 4711},
        **changes,
    }


def document_event(
    at: float = 0,
    *,
    of_ticket: dict[str, Any] | None = None,
    of_document: dict[str, Any] | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """Return the event that a document was added."""
    return {
        "event": "document.added",
        "occurred_at": moment(at),
        "ticket": of_ticket or ticket(),
        "document": of_document or document(),
        **extra,
    }


def delivery_id() -> str:
    """Return a delivery id that no other test uses."""
    return f"delivery-{next(_deliveries)}"


def deletion(
    at: float, event: str, ticket_id: int = 4711, task_id: int | None = None, **extra: Any
) -> dict[str, Any]:
    """Return the event of a deletion, or of a restored ticket.

    Args:
        at: minutes after the start of the tests' day.
        event: name of the event.
        ticket_id: the ticket.
        task_id: the ticket task.
        extra: further keys of the event.
    """
    task_of = {} if task_id is None else {"task": {"id": task_id}}
    return {"event": event, "occurred_at": moment(at), "ticket": {"id": ticket_id}, **task_of, **extra}


def stored_event(payload: str) -> Event:
    """Return the event of a journal payload, which must have a snapshot."""
    event = stored(payload)
    assert isinstance(event, Event)
    return event


def on_ticket(event: dict[str, Any], ticket_id: int, task_id: int | None = None) -> dict[str, Any]:
    """Return an event moved to another ticket, and its task to another number."""
    moved = {**event, "ticket": {**event["ticket"], "id": ticket_id}}
    return moved if task_id is None else {**moved, "task": {**event["task"], "id": task_id}}
