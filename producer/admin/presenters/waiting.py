"""Why an event without a reason of its own waits: no worker, an open circuit breaker, rate limit, slow tracker."""

from __future__ import annotations

from collections.abc import Iterable

from redis import Redis
from redis.exceptions import RedisError

from producer.admin.presenters.evictions import evictions
from producer.admin.presenters.redis_health import refusal
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.system_refusals import SystemRefusal
from shared.redis.circuit_breaker import CircuitBreaker
from shared.redis.heartbeat import ALIVE_S, WORKER, Heartbeats
from shared.redis.latency import SLOW_S, seconds_per_call
from shared.redis.rate_limit import rate_limit_in_use
from shared.store.tables.journal import EventState, JournalEvent

NOTABLE_S = 2.0
"""A shorter wait for the rate limit is not reported as the reason."""


def obstacle(redis: Redis) -> Notice | None:
    """Return why nothing is sent, or only slowly, at the moment; None if nothing prevents it.

    Args:
        redis: connection with its own time-outs.
    """
    try:
        seconds = Heartbeats(redis).seconds_since(WORKER)
        if seconds is None and (lost := evictions(redis)):
            return lost
        if seconds is None or seconds > ALIVE_S:
            return Reason.WORKER_AWAITED(seconds=seconds)
        if paused := CircuitBreaker(redis).current():
            return WorkFinding.EVERYTHING_PAUSED(because=paused.reason)
        found, seconds = rate_limit_in_use(redis), seconds_per_call(redis)
    except RedisError as error:
        return refusal(error) or SystemRefusal.REDIS_DOWN(error=type(error).__name__)
    if found and found.wait_s > NOTABLE_S:
        return Reason.TURN_AWAITED(rate=found.rate, seconds=found.wait_s)
    if seconds and seconds > SLOW_S:
        return ServiceFinding.CALLS_SLOW(seconds=seconds)
    return None


def with_reasons(rows: Iterable[JournalEvent], redis: Redis) -> list[tuple[JournalEvent, Notice | None]]:
    """Return events with their reasons; a pending event without a reason gets the current obstacle.

    Args:
        rows: the events.
        redis: queried only if one of them waits without a reason.
    """
    found = list(rows)
    hindered_by = obstacle(redis) if any(map(is_silent, found)) else None
    return [(row, hindered_by if is_silent(row) else row.notice) for row in found]


def is_silent(row: JournalEvent) -> bool:
    """Return whether an event is pending and has no reason of its own."""
    return row.state == EventState.PENDING and row.notice is None
