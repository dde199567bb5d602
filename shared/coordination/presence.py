"""Signs of life in Redis: that a worker and a beat have been at work lately."""

from __future__ import annotations

from redis import Redis

KEY = "deskbridge:seen:"
KEPT_S = 86400 * 7
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
        self._redis.set(KEY + name, f"{self._now():.3f}", ex=KEPT_S)

    def seconds_since(self, name: str) -> float | None:
        """Return how long ago the last sign of life was, None where there is none."""
        at = self._redis.get(KEY + name)
        return max(0.0, self._now() - float(at)) if isinstance(at, (str, bytes)) else None

    def _now(self) -> float:
        seconds, micros = self._redis.time()
        return float(seconds + micros / 1e6)
