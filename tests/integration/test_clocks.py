"""A worker whose machine's clock is wrong says so, and its steps are recorded by the database's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from shared.monitoring.clocks import OwnClock
from shared.notices.notice import written
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.store.journal.trace import Step
from tests.support.bridge import Bridge


def test_a_process_says_how_far_its_clock_is_off(
    bridge_on_postgresql: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, redis = bridge_on_postgresql.store.database, bridge_on_postgresql.redis
    assert abs(OwnClock(database).ahead_s() or 0) < 5

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=600)

    monkeypatch.setattr("shared.monitoring.clocks.datetime", Wrong)
    with capture_logs() as lines:
        own = OwnClock(database)
        ahead = own.ahead_s()
        assert own.ahead_s() == ahead, "once a minute"
    assert ahead is not None
    assert abs(ahead - 600) < 5
    assert [one["event"] for one in lines] == ["the clock of this machine is off the database's"]
    Heartbeats(redis).mark(WORKER, ahead_s=ahead)
    assert Heartbeats(redis).seen(WORKER)[0].ahead_s == ahead


def test_what_a_worker_with_a_wrong_clock_did_stands_where_it_happened(bridge_on_postgresql: Bridge) -> None:
    """Each step is recorded by its age, which a wrong clock does not change."""
    ahead = datetime.now(UTC) + timedelta(seconds=600)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shared.store.journal.trace.datetime", SimpleNamespace(now=lambda _: ahead))
        with bridge_on_postgresql.store.transaction() as tx:
            tx.trace.append([Step(4711, written("a step"), at=ahead - timedelta(seconds=2))])
            now = tx.now()
    with bridge_on_postgresql.store.transaction() as tx:
        (step,) = tx.trace.of_ticket(4711)
    assert abs((now - step.at).total_seconds() - 2) < 2
