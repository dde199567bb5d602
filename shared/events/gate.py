"""The gate of SPEC section 3: a ticket task logs time only while it is Done and has time."""

from __future__ import annotations

from shared.codes.coded import Coded
from shared.codes.reasons import Reason
from shared.events.config import PluginConfig
from shared.events.event import Event


def closed_gate(event: Event, config: PluginConfig) -> Coded | None:
    """Return why an event of a ticket task logs no time, or None where it does: Done and actiontime above 0."""
    task = event.task
    if event.deleted:
        return Reason.DELETED_THERE()
    if task is None or task.state != config.done_state:
        return Reason.NOT_DONE(state=task.state if task else None, done_state=config.done_state)
    if task.actiontime <= 0:
        return Reason.NO_TIME()
    return None
