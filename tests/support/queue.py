"""The queue as tests see it: its name and key in Redis, its tasks, and messages that a test sends itself."""

from __future__ import annotations

from typing import Any

from celery import Celery
from redis import Redis

from shared.process.settings import Settings
from shared.queue.messages import LARGEST_MESSAGE, SYNC_TICKET, message_of
from shared.queue.publisher import PRUNE, SWEEP, SYNC_METADATA, make_celery

SYNC = SYNC_TICKET
TASKS = (SYNC, SWEEP, SYNC_METADATA, PRUNE)
LARGE = LARGEST_MESSAGE
"""Characters; a larger message is none of ours."""


def queue_name(installation: str) -> str:
    """Return the name of an installation's queue."""
    return f"deskbridge.{installation}"


def queue_key(installation: str) -> str:
    """Return the key of an installation's queue in Redis."""
    return f"deskbridge:{queue_name(installation)}"


def celery_app(settings: Settings, installation: str) -> Celery:
    """Return the Celery application of an installation's workers."""
    return make_celery(settings, installation)


def arguments(*ticket_ids: int) -> dict[str, Any]:
    """Return the arguments of the task that syncs some tickets."""
    return message_of(ticket_ids)


def deliver(app: Celery, *ticket_ids: int) -> None:
    """Send a message that names some tickets."""
    app.send_task(SYNC, kwargs=arguments(*ticket_ids))


def waiting(redis: Redis, installation: str) -> int:
    """Return how many messages wait for an installation's workers."""
    return int(redis.llen(queue_key(installation)))
