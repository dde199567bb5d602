"""The rate limiter for calls to the tracker, over all workers (setting RATE_LIMIT): successive time slots in Redis."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from shared.process.alive import SIGN_EVERY_S
from shared.redis.clock import now
from shared.redis.keys import OURS, key_of
from shared.telemetry.logs import get_logger

log = get_logger("throttle")
KEY = f"{OURS}throttle"
LONGEST = 60
FURTHEST_S = 3600
SAID_FROM_S = 30.0
"""A longer wait is logged, at most once a minute."""

# Stores the time of the next free slot, by Redis' own clock, and the seconds between two slots; returns the wait for
# the slot just taken. A stored time that is not a number, or further ahead than the key's expiry, is ignored.
NEXT_SLOT = """
local now = redis.call('TIME')
local at = tonumber(now[1]) + tonumber(now[2]) / 1000000
local slot = tonumber(string.match(redis.call('GET', KEYS[1]) or '', '^%S+') or '0')
if not slot or not (slot > at and slot <= at + 3600) then slot = at end
redis.call('SET', KEYS[1], string.format('%.6f %s', slot + tonumber(ARGV[1]), ARGV[1]), 'PX', 3600000)
return string.format('%.6f', slot - at)
"""
STORED = re.compile(r"(\d{1,12}\.\d{6}) (\d{1,9}\.\d{6})")


@dataclass(frozen=True, slots=True)
class RateLimitInUse:
    """The rate limit that workers applied within the last hour.

    Attributes:
        rate: calls per second over all workers.
        wait_s: seconds that the next call waits for its slot.
    """

    rate: float
    wait_s: float


def rate_limit_in_use(redis: Redis) -> RateLimitInUse | None:
    """Return the rate limit in use, or None if no call took a slot within the last hour.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if a call to Redis fails.
    """
    try:
        stored: bytes | str = redis.getrange(key_of(redis, KEY), 0, LONGEST)
    except ResponseError:  # the key is not a string
        return None
    found = STORED.fullmatch(stored.decode("utf-8", "replace") if isinstance(stored, bytes) else stored)
    if found is None or not float(found[2]):
        return None
    ahead = float(found[1]) - now(redis)
    return (
        RateLimitInUse(1 / float(found[2]), ahead)
        if 0 < ahead <= FURTHEST_S
        else RateLimitInUse(1 / float(found[2]), 0.0)
    )


def discard_slots(redis: Redis) -> None:
    """Discard all assigned slots, because a worker that starts may have another limit, or none.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if Redis is down; the next slot is as far ahead as before.
    """
    redis.delete(key_of(redis, KEY))


class RateLimiter:
    """Spaces calls evenly over all workers.

    Args:
        redis: connection with its own time-outs.
        rate: calls per second; 0 means no limit.
    """

    def __init__(self, redis: Redis, rate: float) -> None:
        self._redis, self._next_slot = redis, redis.register_script(NEXT_SLOT)
        self._interval = 1 / rate if rate else 0.0
        self._rate, self._said_at = rate, float("-inf")

    def next_turn(self) -> float:
        """Take the next slot and return the seconds until then, or 0 if Redis is down."""
        if not self._interval:
            return 0.0
        try:
            seconds = float(self._next_slot(keys=[key_of(self._redis, KEY)], args=[f"{self._interval:.6f}"]))
        except RedisError as error:
            log.warning("no rate limit for the moment", error=type(error).__name__)
            return 0.0
        if seconds > SAID_FROM_S and time.monotonic() - self._said_at > SIGN_EVERY_S:
            self._said_at = time.monotonic()
            log.warning("a call waits for its turn at RATE_LIMIT", rate=self._rate, seconds=round(seconds))
        return seconds
