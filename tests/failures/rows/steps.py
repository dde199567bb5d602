"""Rows about failures that had true words, and no step that heals them."""

from __future__ import annotations

from shared.redis.heartbeat import KEY, WORKER, Heartbeats
from shared.redis.keys import key_of
from shared.store.tables.journal import EventState
from tests.failures.rows.environment import OTHER, others_gone, others_there, waits
from tests.failures.rows.row import Row
from tests.failures.stage import Stage


def on_another_database(stage: Stage) -> None:
    """Start the only worker with the DESKBRIDGE_DATABASE_URL of another installation."""
    others_there(stage)
    stage.bridge.redis.delete(key_of(stage.bridge.redis, KEY + WORKER))


def on_this_database(stage: Stage) -> None:
    """Restart it with the DESKBRIDGE_DATABASE_URL of the other processes."""
    others_gone(stage)
    Heartbeats(stage.bridge.redis).mark(WORKER)


STEPS = [
    Row(
        10,
        "the worker uses another installation's database",
        on_another_database,
        EventState.PENDING,
        doctor="no worker uses this database",
        step="set its DESKBRIDGE_DATABASE_URL as in the other processes, and restart it",
        heal=on_this_database,
        everywhere=f"uses another one (installation {OTHER})",
        arrives=waits,
        never=("o worker is running", "tart a worker", "its own Redis"),
        told_before=True,
    ),
]
"""Numbered as the failures that this table extends."""
