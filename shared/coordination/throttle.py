"""The rate limit towards the tracker, over all workers (setting RATE_LIMIT): one slot after the other in Redis."""

from __future__ import annotations

import time
from collections.abc import Callable

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from shared.coordination.clock import now
from shared.coordination.keys import OURS
from shared.process.alive import alive
from shared.telemetry.logs import get_logger

log = get_logger("throttle")
KEY = f"{OURS}throttle"
LONGEST = 40
FURTHEST_S = 3600
SIGN_EVERY_S = 60.0

# The time of the next free slot, by Redis' own clock; returns how long to wait for the slot just taken.
# One that is no number, or further ahead than this key lives, is nobody's.
NEXT_SLOT = """
local now = redis.call('TIME')
local at = tonumber(now[1]) + tonumber(now[2]) / 1000000
local slot = tonumber(redis.call('GET', KEYS[1]) or '0')
if not slot or not (slot > at and slot <= at + 3600) then slot = at end
redis.call('SET', KEYS[1], string.format('%.6f', slot + tonumber(ARGV[1])), 'PX', 3600000)
return string.format('%.6f', slot - at)
"""


def wait_alive(seconds: float) -> None:
    """Wait, and give a sign of life every minute."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, SIGN_EVERY_S))
        alive()


class Throttle:
    """Spaces calls evenly over all workers.

    Args:
        redis: connection with its own time-outs.
        rate: calls per second; 0: no limit.
        sleep: waits so many seconds.
    """

    def __init__(self, redis: Redis, rate: float, sleep: Callable[[float], None] = wait_alive) -> None:
        self._redis, self._next_slot = redis, redis.register_script(NEXT_SLOT)
        self._interval = 1 / rate if rate else 0.0
        self._sleep = sleep

    def wait(self) -> None:
        """Take the next slot and wait for it; without Redis nobody waits."""
        if not self._interval:
            return
        try:
            seconds = float(self._next_slot(keys=[KEY], args=[self._interval]))
        except RedisError as error:
            log.warning("no rate limit for the moment", error=type(error).__name__)
            return
        if seconds > 0:
            self._sleep(seconds)

    def is_used_up(self) -> bool:
        """Tell whether whoever asks now has to wait.

        Raises:
            RedisError: it cannot be asked.
        """
        if not self._interval:
            return False
        try:
            ahead = float(self._redis.getrange(KEY, 0, LONGEST)) - now(self._redis)
        except (ValueError, ResponseError):  # none, or nobody's
            return False
        return 0 < ahead <= FURTHEST_S
