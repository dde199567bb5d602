"""What beat sends, and when: the sweep, which also does what is due by its age. A second beat is harmless."""

from __future__ import annotations

from typing import Any

from shared.process.settings import Settings
from shared.queue.publisher import SWEEP


def schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return beat's schedule; a message that nobody took before the next one is due expires."""
    seconds = settings.sweep_interval
    return {"sweep": {"task": SWEEP, "schedule": seconds, "options": {"expires": seconds}}}
