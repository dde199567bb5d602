"""From facts to the one cause that every surface shows: what explains the others comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.diagnosis.obstacle import obstacle
from shared.diagnosis.redis_facts import RedisFacts
from shared.diagnosis.waiting import is_delayed, server_error
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Fault
from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.process.itself import Process
from shared.redis.circuit_breaker import Paused
from shared.redis.heartbeat import ProcessSign
from shared.redis.rate_limit import RateLimitInUse
from shared.store.tables.journal import JournalEvent

NOW = datetime(2026, 11, 28, 14, 40, tzinfo=UTC)
AWAY = Fault.TRACKER_UNREACHABLE(method="GET", path="/users.json")
REPLICA = ServiceFinding.REDIS_READ_ONLY(error="READONLY")
EVICTED = ServiceFinding.SIGNS_EVICTED(policy="allkeys-lru", count=3)


def worker(seconds: float, lived_s: float = 3600.0, pid: int = 1) -> ProcessSign:
    """Return a worker by the age of its last heartbeat, and how long it had lived by then."""
    started = NOW - timedelta(seconds=seconds + lived_s)
    return ProcessSign(Process("here", pid, "2.0", f"{started:%Y-%m-%d %H:%M} UTC"), seconds)


RUNS = [worker(3)]


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        pytest.param({"workers": RUNS}, None, id="all is well"),
        pytest.param({}, Reason.WORKER_AWAITED, id="no worker was ever seen"),
        pytest.param(
            {"others": {"0f": worker(3)}},
            ServiceFinding.WORKER_OF_ANOTHER_DATABASE,
            id="another's worker runs",
        ),
        pytest.param({"workers": RUNS, "others": {"0f": worker(3)}}, None, id="a worker of each runs"),
        pytest.param({"workers": [worker(31)]}, Reason.WORKER_AWAITED, id="no worker is alive"),
        pytest.param({"evicted": EVICTED}, ServiceFinding.SIGNS_EVICTED, id="its heartbeat may be evicted"),
        pytest.param(
            {"workers": [worker(31)], "evicted": EVICTED}, Reason.WORKER_AWAITED, id="it is not evicted"
        ),
        pytest.param({"fault": REPLICA}, WorkFinding.REDIS_UNUSABLE, id="Redis explains a missing worker"),
        pytest.param(
            {"workers": RUNS, "paused": Paused(AWAY, 0.0, 5.0), "seconds_per_call": 4.0},
            WorkFinding.EVERYTHING_PAUSED,
            id="a pause explains slow calls",
        ),
        pytest.param(
            {"paused": Paused(AWAY, 0.0, 5.0)}, Reason.WORKER_AWAITED, id="without a worker no pause ends"
        ),
        pytest.param(
            {"workers": RUNS, "rate_limit": RateLimitInUse(0.5, 9.0)},
            Reason.TURN_AWAITED,
            id="the rate limit",
        ),
        pytest.param({"workers": RUNS, "rate_limit": RateLimitInUse(0.5, 1.0)}, None, id="a moment of it"),
        pytest.param({"workers": RUNS, "seconds_per_call": 4.0}, ServiceFinding.CALLS_SLOW, id="slow calls"),
    ],
)
def test_the_cause_that_explains_the_others_is_named(facts: dict[str, Any], cause: Code | None) -> None:
    told = obstacle(RedisFacts(at=NOW, **facts))
    assert (told.code if told else None) == cause


def test_a_pause_says_since_when() -> None:
    facts = RedisFacts(
        at=NOW, workers=RUNS, paused=Paused(AWAY, 0.0, 5.0), paused_since=NOW - timedelta(minutes=3)
    )
    assert facts.pause is not None
    assert sentence(facts.pause).startswith("paused since 2026-11-28 14:37 UTC: ")
    assert facts.paused_s == 180


def test_a_process_that_ends_soon_after_its_start_is_told_from_one_that_runs_or_was_stopped() -> None:
    crashed = [worker(30 + pid, lived_s=5, pid=pid) for pid in range(3)]
    others = [worker(3, lived_s=5), worker(40, lived_s=3600), worker(900, lived_s=5)]
    facts = RedisFacts(at=NOW, workers=[*crashed, *others])
    assert facts.failed_starts(facts.workers) == crashed


@pytest.mark.parametrize(
    ("attempts", "minutes", "delayed"), [(0, 1, False), (0, 3, True), (1, 0, True)], ids=str
)
def test_what_waits_after_an_error_is_delayed_at_once(attempts: int, minutes: int, delayed: bool) -> None:
    oldest = JournalEvent(attempts=attempts, received_at=NOW - timedelta(minutes=minutes))
    assert is_delayed(oldest, NOW) is delayed


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (None, None),
        (Reason.NO_LINK(), None),
        (Fault.OUTCOME_UNKNOWN(method="POST", path="/x", status=500), 500),
        (Fault.OUTCOME_UNKNOWN(method="POST", path="/x", status=302), None),
        (Reason.CREATION_IN_DOUBT(because=Fault.OUTCOME_UNKNOWN(method="POST", path="/x", status=502)), 502),
    ],
    ids=str,
)
def test_the_status_of_a_server_error_is_found_within_a_reason(
    reason: Notice | None, status: int | None
) -> None:
    assert server_error(reason) == status
