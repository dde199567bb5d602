"""What beat sends, and when. A second beat is harmless: the sweep and the synchronisation take locks of their own."""

from __future__ import annotations

from typing import Any

from shared.coordination.doorbell import PRUNE, QUEUE, SWEEP, SYNC_METADATA
from shared.settings import Settings

DAY_S = 86400.0


def schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return beat's schedule; a message that nobody took before the next one is due expires."""
    return {
        "sweep": _every(SWEEP, settings.sweep_interval),
        "metadata": _every(SYNC_METADATA, settings.metadata_interval),
        "prune": _every(PRUNE, DAY_S / 24),
    }


def _every(task: str, seconds: float) -> dict[str, Any]:
    return {"task": task, "schedule": seconds, "options": {"queue": QUEUE, "expires": seconds}}
