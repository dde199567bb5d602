"""Recent latency of calls to the tracker, over all workers: stored in Redis per minute, by Redis' own clock.

Other clients may write to Redis too: values that no worker can have written are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from shared.redis.clock import now
from shared.redis.keys import OURS, is_of_another_type, key_of

KEY = f"{OURS}latency:"
MINUTE_S = 60
KEPT_S = 3 * MINUTE_S
SLOW_S = 2.0
"""Longer call times are reported; a call is abandoned after five seconds."""
DIGITS = 13


def note_calls(redis: Redis, calls: Mapping[str, tuple[int, float]]) -> None:
    """Count calls that have ended, including calls without an answer.

    Args:
        redis: connection with its own time-outs.
        calls: number of calls and their total seconds, by operation.

    Raises:
        RedisError: if a call to Redis fails.
    """
    if not calls:
        return
    key = _key(redis, now(redis))
    count, seconds = sum(one for one, _ in calls.values()), sum(one for _, one in calls.values())
    with redis.pipeline() as pipe:
        pipe.hincrby(key, "count", count)
        pipe.hincrby(key, "us", round(seconds * 1e6))
        pipe.expire(key, KEPT_S)
        if any(isinstance(one, ResponseError) for one in pipe.execute(raise_on_error=False)):
            redis.delete(key)  # another client's value


def seconds_per_call(redis: Redis) -> float | None:
    """Return the average seconds per call in this minute and the last, or None if there were no calls.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if a call to Redis fails.
    """
    at = now(redis)
    found = [_counted(redis, _key(redis, moment)) for moment in (at - MINUTE_S, at)]
    count, micros = (sum(one) for one in zip(*found, strict=True))
    return micros / 1e6 / count if count else None


def _key(redis: Redis, at: float) -> str:
    return key_of(redis, f"{KEY}{int(at // MINUTE_S)}")


def _counted(redis: Redis, key: str) -> tuple[int, int]:
    try:
        told: list[Any] = redis.hmget(key, ["count", "us"])
    except ResponseError as error:
        if not is_of_another_type(error):
            raise
        return 0, 0
    count, micros = (_number(one) for one in told)
    return (count, micros) if count and micros else (0, 0)


def _number(value: Any) -> int:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else 0
