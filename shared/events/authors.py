"""Whose work an event is about, by the settings. Pure."""

from __future__ import annotations

from typing import TypeVar

from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.snapshots import HelpdeskUser

Person = TypeVar("Person")


def author_of(event: Event, config: PluginConfig) -> HelpdeskUser | None:
    """Return the intended author of the time entry, note or attachment that an event asks for.

    Args:
        event: the event.
        config: the Redmine settings; `task_author` chooses for a ticket task.
    """
    return whose_hours(event.user, event.task.technician if event.task else None, config)


def whose_hours(writer: Person | None, technician: Person | None, config: PluginConfig) -> Person | None:
    """Return whose hours a ticket task has, in the form in which the caller knows the two.

    Args:
        writer: the user who wrote the task.
        technician: the user for whom it is planned.
        config: the Redmine settings; `task_author` chooses.
    """
    return (technician if config.logs_for_technician else None) or writer


def is_requesters(event: Event) -> bool:
    """Return whether an event's text or document is the requester's, who needs neither an account nor a membership."""
    ticket, writer = event.ticket, event.user
    if event.addition is None or writer is None or ticket.requester is None:
        return False
    is_technician = ticket.technician is not None and ticket.technician.id == writer.id
    return writer.id == ticket.requester.id and not is_technician
