"""What Redis knows about the installation; read once, for every surface that shows a cause."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from redis import Redis
from redis.exceptions import RedisError

from shared.diagnosis import redis_health
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Notice
from shared.redis.circuit_breaker import CircuitBreaker, Paused
from shared.redis.clock import now
from shared.redis.heartbeat import ALIVE_S, BEAT, CONSOLE, MARKED_EVERY_S, WORKER, Heartbeats, ProcessSign
from shared.redis.latency import seconds_per_call
from shared.redis.rate_limit import RateLimitInUse, rate_limit_in_use

MISSED_S = 2.5 * MARKED_EVERY_S
"""A worker without a heartbeat for this time has ended, or is frozen."""
LATELY_S = 120.0
SOON_S = 120.0
"""The start of a process is known to the minute."""


@dataclass(frozen=True, slots=True)
class RedisFacts:
    """What Redis knows about the installation.

    Attributes:
        at: when this was read, by Redis' clock.
        fault: why a test write failed; nothing else is known then. None: Redis works.
        workers: the workers with a heartbeat within a week, newest first; `beats` and `consoles` alike.
        unable: the workers that cannot decrypt the stored API key.
        paused: why the circuit breaker is open; None: it is closed.
        paused_since: when it opened; None: unknown.
        rate_limit: the rate limit in use; None: no call took a slot lately.
        seconds_per_call: the average of the last minutes; None: there were no calls.
        policy: what Redis does when its memory is full; None: unknown.
        evicted: the warning that Redis may have evicted heartbeats and locks; None: no eviction is known.
        keeps_data: whether Redis has its data again after a crash.
        installation: the id of this installation.
        others: the other installations in this Redis, each with the newest heartbeat of a worker.
    """

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    fault: Notice | None = None
    workers: Sequence[ProcessSign] = ()
    beats: Sequence[ProcessSign] = ()
    consoles: Sequence[ProcessSign] = ()
    unable: Sequence[ProcessSign] = ()
    paused: Paused | None = None
    paused_since: datetime | None = None
    rate_limit: RateLimitInUse | None = None
    seconds_per_call: float | None = None
    policy: str | None = None
    evicted: Notice | None = None
    keeps_data: bool = True
    installation: str = "-"
    others: Mapping[str, ProcessSign | None] = field(default_factory=dict)

    @property
    def worker_s(self) -> float | None:
        """Seconds since the newest heartbeat of a worker; None: there is none."""
        return self.workers[0].seconds if self.workers else None

    @property
    def pause(self) -> Notice | None:
        """Why everything is paused, and since when; None if it is not."""
        if self.paused is None:
            return None
        since = f"{self.paused_since:%Y-%m-%d %H:%M} UTC" if self.paused_since else None
        return WorkFinding.EVERYTHING_PAUSED(since=since, because=self.paused.reason)

    @property
    def paused_s(self) -> float:
        """Seconds since the pause began."""
        return (self.at - self.paused_since).total_seconds() if self.paused_since else 0.0

    @property
    def works(self) -> bool:
        """Whether a worker is running, or may be running although Redis evicted its heartbeat."""
        if self.worker_s is None:
            return self.evicted is not None
        return self.worker_s <= ALIVE_S

    def failed_starts(self, signs: Sequence[ProcessSign]) -> list[ProcessSign]:
        """Return the processes that ended lately, soon after their start."""
        lately = [sign for sign in signs if MISSED_S < sign.seconds <= LATELY_S]
        return [sign for sign in lately if self._lived_s(sign) < SOON_S]

    def _lived_s(self, sign: ProcessSign) -> float:
        try:
            started = datetime.strptime(sign.process.since, "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
        except ValueError:
            return math.inf
        return (self.at - started).total_seconds() - sign.seconds


def redis_facts(redis: Redis) -> RedisFacts:
    """Read what Redis knows, after a test write: a Redis that takes no writes keeps only old heartbeats.

    Args:
        redis: connection with its own time-outs.
    """
    heartbeats, breaker = Heartbeats(redis), CircuitBreaker(redis)
    try:
        redis_health.write(redis)
        policy = redis_health.policy(redis)
        installation, others = heartbeats.mine_and_others()
        return RedisFacts(
            at=datetime.fromtimestamp(now(redis), UTC),
            workers=heartbeats.seen(WORKER),
            beats=heartbeats.seen(BEAT),
            consoles=heartbeats.seen(CONSOLE),
            unable=heartbeats.unable(WORKER),
            paused=breaker.current(),
            paused_since=breaker.since(),
            rate_limit=rate_limit_in_use(redis),
            seconds_per_call=seconds_per_call(redis),
            policy=policy,
            evicted=redis_health.evictions(redis, policy),
            keeps_data=redis_health.keeps_data(redis),
            installation=installation,
            others=others,
        )
    except RedisError as error:
        return RedisFacts(fault=redis_health.why_not_written(redis, error))
