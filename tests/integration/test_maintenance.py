"""Metadata synchronisation and pruning are due by the age of their last success, whichever process looks first."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.helpdesk.glpi import GlpiLookup
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.queue.names import MAINTENANCE, SWEEP
from shared.redis.keys import key_of
from shared.redis.locks import ONCE, Locks
from shared.store.configuration.metadata import RUNS_KEPT
from shared.store.tables.configuration import MetadataRun
from shared.store.tables.journal import ReconciliationMark, TraceStep
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.glpi_api import GlpiApi, glpi_api
from worker import sweep
from worker.beat import schedule
from worker.maintenance import PRUNED, RECONCILED, compare_with_helpdesk, do_maintenance, prune, sync_metadata
from worker.sweep import Sweep


@pytest.fixture
def worker(bridge: Bridge) -> Any:
    """The parts of a worker's process that its maintenance needs."""
    settings, redis = bridge.settings, bridge.redis
    return SimpleNamespace(
        store=bridge.store,
        settings=settings,
        breaker=bridge.breaker,
        redis=redis,
        locks=Locks(redis, 60),
        connector=Connector(bridge.store, Vault(settings.secret_keys)),
        lookup=None,
        sweep=Sweep(
            bridge.store,
            settings,
            Locks(redis, 60),
            bridge.breaker,
            lambda: 0,
            lambda _: True,
            lambda _: True,
        ),
    )


def age(bridge: Bridge, seconds: float) -> None:
    """Make every recorded run that much older."""
    with bridge.store.database.transaction() as session:
        for run in session.query(MetadataRun):
            run.ended_at -= timedelta(seconds=seconds)


def runs(bridge: Bridge) -> list[bool]:
    """Return whether each recorded run succeeded, newest first."""
    with bridge.store.transaction() as tx:
        return [one.ok for one in tx.metadata.runs(1000)]


def test_the_first_run_is_at_the_start_and_the_next_after_the_interval(bridge: Bridge, worker: Any) -> None:
    assert sync_metadata(worker)
    assert not sync_metadata(worker)
    age(bridge, bridge.settings.metadata_interval - 60)
    assert not sync_metadata(worker)
    age(bridge, 60)
    assert sync_metadata(worker)
    assert runs(bridge) == [True, True]


def test_a_run_that_was_missed_is_caught_up_by_whoever_looks_first(bridge: Bridge, worker: Any) -> None:
    do_maintenance(worker)
    age(bridge, 10 * bridge.settings.metadata_interval)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(do_maintenance, [worker] * 4))
    assert runs(bridge) == [True, True], "one of them did it, and the others saw that"


def test_a_failure_is_not_repeated_at_each_sweep_and_changes_nothing_of_what_is_due(
    bridge: Bridge, stand_in: StandIn, worker: Any
) -> None:
    stand_in.settings(rest_enabled=False)
    assert not sync_metadata(worker)
    assert not sync_metadata(worker)
    assert runs(bridge) == [False]
    stand_in.settings(rest_enabled=True)
    age(bridge, 301)
    assert sync_metadata(worker)


def test_nothing_is_due_while_no_tracker_is_set_up_or_it_is_left_in_peace(
    bridge: Bridge, worker: Any
) -> None:
    bridge.breaker.begin(written("a test"))
    assert not sync_metadata(worker)
    bridge.breaker.end()
    bridge.configure(base_url=None)
    assert not sync_metadata(worker)
    assert runs(bridge) == []


def test_the_last_good_run_is_remembered_however_many_failed_since(bridge: Bridge, worker: Any) -> None:
    assert sync_metadata(worker)
    for _ in range(RUNS_KEPT + 5):
        with bridge.store.transaction() as tx:
            tx.metadata.record_run(tx.now(), counts={}, differences={}, why=Refusal.METADATA_BUSY())
    with bridge.store.transaction() as tx:
        assert tx.metadata.last_good_run() is not None
    assert len(runs(bridge)) == RUNS_KEPT + 1


def test_pruning_is_due_at_the_start_and_then_once_an_hour(bridge: Bridge, worker: Any) -> None:
    assert prune(worker)
    assert not prune(worker)
    assert 0 < bridge.redis.ttl(key_of(bridge.redis, PRUNED)) <= 3600
    bridge.redis.delete(key_of(bridge.redis, PRUNED))
    assert prune(worker)


def test_what_one_go_of_pruning_leaves_over_is_not_left_for_an_hour(
    bridge: Bridge, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.forward(task_event())
    with bridge.store.database.transaction() as session:
        for step in session.query(TraceStep):
            step.at -= timedelta(days=bridge.settings.retention_days + 1)
    monkeypatch.setattr(sweep, "MOST_PRUNED", 1)
    monkeypatch.setattr(sweep, "PRUNED_AT_ONCE", 1)
    assert prune(worker)
    assert 0 < bridge.redis.ttl(key_of(bridge.redis, PRUNED)) <= 60


def test_a_mark_of_pruning_that_never_ends_is_dropped(bridge: Bridge, worker: Any) -> None:
    bridge.redis.set(key_of(bridge.redis, PRUNED), "1")
    assert not prune(worker)
    assert prune(worker)


def test_beat_asks_for_the_sweep_and_for_maintenance_and_what_nobody_takes_expires(bridge: Bridge) -> None:
    entries = schedule(bridge.settings)
    assert set(entries) == {SWEEP, MAINTENANCE}
    for name, entry in entries.items():
        assert entry["task"] == name
        assert entry["options"]["expires"] == entry["schedule"] == bridge.settings.sweep_interval


@pytest.fixture
def api(worker: Any) -> Iterator[GlpiApi]:
    """A help desk that the worker can query, with a ticket task done two days ago that no event reported."""
    with glpi_api() as served:
        changed = (datetime.now(UTC) - timedelta(days=2)).isoformat()
        served.ticket(1, changed)
        served.task(1, 10, changed)
        worker.lookup = GlpiLookup(served.access)
        yield served


def days_later(bridge: Bridge, days: float) -> None:
    """Make the last comparison that much older, and let the next process look again."""
    bridge.redis.delete(key_of(bridge.redis, f"{ONCE}{RECONCILED}"))
    with bridge.store.database.transaction() as session:
        for mark in session.query(ReconciliationMark):
            mark.ran_at -= timedelta(days=days)
            mark.read_until -= timedelta(days=days)


def missed(bridge: Bridge) -> int | None:
    with bridge.store.transaction() as tx:
        mark = tx.reconciliation.get()
        return mark.missing if mark else None


def test_the_first_comparison_with_the_helpdesk_only_sets_the_mark(
    bridge: Bridge, worker: Any, api: GlpiApi
) -> None:
    assert not compare_with_helpdesk(worker)
    assert (api.calls, missed(bridge)) == ([], 0)


def test_once_a_day_what_was_missed_is_forwarded_and_counted(
    bridge: Bridge, worker: Any, api: GlpiApi, stand_in: StandIn
) -> None:
    compare_with_helpdesk(worker)
    days_later(bridge, 0.9)
    assert not compare_with_helpdesk(worker)
    days_later(bridge, 2)
    assert compare_with_helpdesk(worker)
    assert missed(bridge) == 1
    bridge.sync(1)
    assert [one["hours"] for one in stand_in.state()["time_entries"]] == [0.5]
    days_later(bridge, 1)
    assert compare_with_helpdesk(worker)
    assert missed(bridge) == 0


def test_a_helpdesk_that_cannot_be_compared_is_tried_again_an_hour_later(
    bridge: Bridge, worker: Any, api: GlpiApi
) -> None:
    compare_with_helpdesk(worker)
    days_later(bridge, 3)
    api.down = True
    assert not compare_with_helpdesk(worker)
    api.down = False
    calls = len(api.calls)
    assert not compare_with_helpdesk(worker)
    assert len(api.calls) == calls
    assert 0 < bridge.redis.ttl(key_of(bridge.redis, f"{ONCE}{RECONCILED}")) <= 3600
    days_later(bridge, 0)
    assert compare_with_helpdesk(worker)
    assert missed(bridge) == 1


@pytest.mark.promise("SEC-86")
def test_maintenance_does_not_wait_for_a_comparison(bridge: Bridge, worker: Any, api: GlpiApi) -> None:
    compare_with_helpdesk(worker)
    days_later(bridge, 3)
    do_maintenance(worker)
    assert api.calls == []


def test_without_a_helpdesk_to_ask_nothing_is_compared(bridge: Bridge, worker: Any) -> None:
    assert not compare_with_helpdesk(worker)
    assert missed(bridge) is None
