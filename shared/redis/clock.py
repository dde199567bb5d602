"""The clock that all processes share: Redis' own. A script reads it inside Redis instead (`rate_limiter.py`)."""

from __future__ import annotations

from redis import Redis


def now(redis: Redis) -> float:
    """Return the seconds since the epoch."""
    seconds, micros = redis.time()
    return float(seconds + micros / 1e6)
