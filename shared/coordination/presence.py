"""Signs of life in Redis: that a worker and a beat have been at work lately."""

from __future__ import annotations

import math
import threading
import time
from contextlib import suppress

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from shared.coordination.clock import now

KEY = "deskbridge:seen:"
KEPT_S = 86400 * 7
MARKED_EVERY_S = 10
LONGEST = 40
WORKER, BEAT = "worker", "beat"


class Presence:
    """Leaves and reads signs of life.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def mark(self, name: str) -> None:
        """Say that a process is alive now, by Redis' own clock."""
        self._redis.set(KEY + name, f"{now(self._redis):.3f}", ex=KEPT_S)

    def keep_marking(self, name: str) -> None:
        """Leave a sign of life every few seconds from a thread of its own, for as long as the process lives."""

        def mark() -> None:
            while True:
                with suppress(RedisError):  # it says so itself where that matters
                    self.mark(name)
                time.sleep(MARKED_EVERY_S)

        threading.Thread(target=mark, daemon=True, name="presence").start()

    def seconds_since(self, name: str) -> float | None:
        """Return how long ago the last sign of life was, None where there is none."""
        try:
            at = float(self._redis.getrange(KEY + name, 0, LONGEST))
        except (ValueError, ResponseError):  # none, or one that no process of ours wrote
            return None
        return max(0.0, now(self._redis) - at) if math.isfinite(at) else None
