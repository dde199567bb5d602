"""The events that the peer accepts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, PositiveInt, TypeAdapter, model_validator


class User(BaseModel):
    """A person in the help desk."""

    id: PositiveInt
    email: str | None = None


class Ticket(BaseModel):
    """A ticket."""

    id: PositiveInt
    title: str
    content: str | None = None
    status: int
    entity_id: int
    project_id: PositiveInt | None = None
    technician: User | None = None


class TicketTask(BaseModel):
    """A ticket task; actiontime in seconds."""

    id: PositiveInt
    content: str | None = None
    state: int
    actiontime: int
    user: User | None = None


class Event(BaseModel):
    """An event."""

    event: Literal["ticket_task.added", "ticket_task.updated", "ticket.updated"]
    occurred_at: datetime
    ticket: Ticket
    task: TicketTask | None = None

    @model_validator(mode="after")
    def _has_its_task(self) -> Event:
        if self.event != "ticket.updated" and self.task is None:
            raise ValueError("task is required")
        return self


events = TypeAdapter(Event | list[Event])
