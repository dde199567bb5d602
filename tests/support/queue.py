"""The queues for tests: their names and keys in Redis, their tasks, and messages that a test sends itself."""

from __future__ import annotations

from typing import Any

from celery import Celery
from redis import Redis

from shared.process.settings import Settings
from shared.queue import publisher
from shared.queue.celery_app import make_celery
from shared.queue.names import SYNC_TICKETS, TASKS
from shared.queue.transport import LARGEST_MESSAGE

__all__ = [
    "LARGE",
    "SYNC",
    "TASKS",
    "arguments",
    "celery_app",
    "deliver",
    "queue_key",
    "queue_name",
    "waiting",
]

SYNC = SYNC_TICKETS
LARGE = LARGEST_MESSAGE
"""Maximum length of a message, in characters; a larger one is not ours."""


def queue_name(installation: str) -> str:
    """Return the name of an installation's queue; that of the priority queue ends with `.priority`."""
    return f"deskbridge.{installation}"


def queue_key(installation: str) -> str:
    """Return the key of an installation's queue in Redis."""
    return f"deskbridge:{queue_name(installation)}"


def celery_app(settings: Settings, installation: str) -> Celery:
    """Return the Celery application of an installation's workers."""
    return make_celery(settings, installation)


def arguments(*ticket_ids: int) -> dict[str, Any]:
    """Return the arguments of the task that syncs some tickets."""
    return publisher.arguments(ticket_ids)


def deliver(app: Celery, *ticket_ids: int) -> None:
    """Send a message that names some tickets."""
    app.send_task(SYNC, kwargs=arguments(*ticket_ids))


def waiting(redis: Redis, installation: str) -> int:
    """Return how many messages wait for an installation's workers."""
    key = queue_key(installation)
    return int(redis.llen(key)) + int(redis.llen(f"{key}.priority"))
