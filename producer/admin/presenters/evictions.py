"""Whether Redis evicts keys when memory runs out: locks and heartbeats are then unreliable."""

from __future__ import annotations

from redis import Redis
from redis.exceptions import ResponseError

from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Notice

KEEPS_ALL = "noeviction"


def policy(redis: Redis) -> str | None:
    """Return Redis's policy for a full memory, or None if it is unknown (hosted services often forbid CONFIG)."""
    try:
        found = redis.config_get("maxmemory-policy")
    except ResponseError:
        return None
    return found.get("maxmemory-policy") if isinstance(found, dict) else None


def evictions(redis: Redis) -> Notice | None:
    """Return a warning that Redis may have evicted locks and heartbeats, or None if no eviction is known.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if Redis does not report it.
    """
    found = policy(redis)
    if found in (None, KEEPS_ALL):
        return None
    count = int(redis.info("stats").get("evicted_keys", 0))
    return ServiceFinding.SIGNS_EVICTED(policy=found, count=count) if count else None
