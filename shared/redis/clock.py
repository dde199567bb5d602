"""Redis' own clock, which all processes share. The script in `rate_limit.py` reads it inside Redis instead."""

from __future__ import annotations

from redis import Redis


def now(redis: Redis) -> float:
    """Return the seconds since the epoch."""
    seconds, micros = redis.time()
    return float(seconds + micros / 1e6)
