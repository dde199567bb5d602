"""`restore begin` and `restore end`: what they print, and what they refuse."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from redis import Redis

from shared.process.itself import Process
from shared.redis import locks as module
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.locks import Locks
from shared.store.journal.installations import installation_id
from shared.values.newest_event import NewestEvent
from tests.support.events import task_event
from tests.unit.cli.conftest import Shell

pytestmark = pytest.mark.promise("OPS-05")
LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture
def redis(shell: Shell) -> Redis:
    """The Redis of the shell's commands."""
    return module.make_redis(None, lambda: "")  # type: ignore[arg-type]


def test_it_stays_on_until_a_person_says_that_nothing_is_missing(shell: Shell) -> None:
    assert "Recovery mode is on" in shell.do("restore", "begin", "--since", LONG_AGO)
    told = shell.fail("restore", "end")
    assert "would get a second issue" in told
    assert "deskbridge reconcile" in told
    assert shell.do("restore", "end", "--nothing-lost") == "Recovery mode is off.\n"


def test_what_is_pending_keeps_it_on(shell: Shell) -> None:
    shell.do("restore", "begin", "--since", LONG_AGO)
    shell.receive(task_event())
    assert "1 event is pending" in shell.fail("restore", "end")


def test_a_worker_that_runs_is_named(shell: Shell, redis: Redis) -> None:
    assert shell.type("restore", "begin").stderr == ""
    Heartbeats(redis).mark(WORKER, Process.here())
    assert "a worker was running 0 seconds ago: stop all workers" in shell.type("restore", "begin").stderr


def test_both_make_redis_forget_what_the_lost_database_had(shell: Shell, redis: Redis) -> None:
    locks = Locks(redis, 60, remembers_days=90)
    for command in ("begin",), ("end", "--nothing-lost"):
        with locks.hold("ticket:1") as held:
            held.newest = NewestEvent(0, 7, 7)
        shell.do("restore", *command)
        assert locks.newest() is None


def test_without_recovery_mode_nothing_lost_confirms_the_database(shell: Shell) -> None:
    assert "This database counts as complete." in shell.do("restore", "end", "--nothing-lost")
    assert shell.do("restore", "end") == "Recovery mode was already off.\n"


def test_to_end_what_was_never_begun_on_a_restored_database_says_that_nothing_is_sent(
    shell: Shell, redis: Redis
) -> None:
    installation_id(shell.store.database)
    with Locks(redis, 60, remembers_days=90).hold("ticket:1") as held:
        held.newest = NewestEvent.of(0, 7, datetime.now(UTC))
    told = shell.fail("restore", "end")
    assert "it was restored from a backup" in told
    assert "deskbridge restore begin" in told
    assert "This database counts as complete." in shell.do("restore", "end", "--nothing-lost")
