"""Why nothing is sent, or only slowly: what explains the others comes first."""

from __future__ import annotations

from shared.diagnosis.other_workers import other_database
from shared.diagnosis.redis_facts import RedisFacts
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.redis.latency import SLOW_S

NOTABLE_S = 2.0
"""A shorter wait for the rate limit is not reported as the reason."""


def obstacle(facts: RedisFacts) -> Notice | None:
    """Return why nothing is sent, or only slowly, at the moment; None if nothing prevents it."""
    if facts.fault:
        return WorkFinding.REDIS_UNUSABLE(because=facts.fault)
    if not facts.works:
        return other_database(facts) or Reason.WORKER_AWAITED(seconds=facts.worker_s)
    if facts.worker_s is None:
        return facts.evicted
    if facts.pause:
        return facts.pause
    limit, seconds = facts.rate_limit, facts.seconds_per_call
    if limit and limit.wait_s > NOTABLE_S:
        return Reason.TURN_AWAITED(rate=limit.rate, seconds=limit.wait_s)
    if seconds and seconds > SLOW_S:
        return ServiceFinding.CALLS_SLOW(seconds=seconds)
    return None
