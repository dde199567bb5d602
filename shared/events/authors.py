"""Whose work an event is about, by the settings. Pure."""

from __future__ import annotations

from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.snapshots import HelpdeskUser


def author_of(event: Event, config: PluginConfig) -> HelpdeskUser | None:
    """Return the intended author of the time entry, note or attachment that an event asks for.

    Args:
        event: the event.
        config: the Redmine settings; `task_author` chooses for a ticket task.
    """
    technician = event.task.technician if event.task and config.logs_for_technician else None
    return technician or event.user


def is_requesters(event: Event) -> bool:
    """Return whether an event's text or document is the requester's, who need not have an account on the tracker."""
    ticket, writer = event.ticket, event.user
    if event.addition is None or writer is None or ticket.requester is None:
        return False
    is_technician = ticket.technician is not None and ticket.technician.id == writer.id
    return writer.id == ticket.requester.id and not is_technician
