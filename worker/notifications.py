"""Notifications to people, which a worker sends if no console is running."""

from __future__ import annotations

from shared.connection.vault import Vault
from shared.notifications.notifier import Notifier
from shared.redis.heartbeat import CONSOLE, GONE_S
from worker.app import Worker


def notify_people(worker: Worker) -> bool:
    """Send due notifications unless a running console does that; return whether this worker checked.

    Args:
        worker: the collaborators of the worker.

    Raises:
        SQLAlchemyError, RedisError: if the database or Redis fails; the next run tries again.
    """
    seen = worker.heartbeats.seconds_since(CONSOLE)
    if seen is not None and seen < GONE_S:
        return False
    vault = Vault(worker.settings.secret_keys)
    Notifier(worker.store, worker.redis, vault, worker.settings).run()
    return True
