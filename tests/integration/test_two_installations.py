"""Two installations with the same ticket numbers share one Redis database: neither touches what is the other's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.codes.coded import written
from shared.coordination.ahead import Ahead
from shared.coordination.call_limit import CallLimit, Limit
from shared.coordination.doorbell import Doorbell, make_celery
from shared.coordination.keys import INSTALLATIONS, OURS
from shared.coordination.locks import HeldLock, Locks
from shared.coordination.presence import BEAT, CONSOLE, WORKER, Presence
from shared.coordination.throttle import Throttle, turns
from tests.support.bridge import Bridge
from tests.support.events import task_event
from worker.beat import AT_WORK_S, EachInstallation
from worker.bootstrap import backlog

COMMON = {INSTALLATIONS, f"{OURS}alive:{BEAT}"}
"""What every installation of a Redis shares: which there are, and the beat that serves them all."""


@pytest.fixture
def other(stand_in: StandIn, redis_url: str, tmp_path: Path) -> Iterator[Bridge]:
    """Another installation beside `bridge`."""
    made = Bridge(f"sqlite:///{tmp_path}/other.sqlite3", redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


def test_an_installation_has_an_id_of_its_own_that_stays(bridge: Bridge, other: Bridge) -> None:
    assert bridge.redis.whose() != other.redis.whose()
    again = Bridge(
        bridge.settings.database_url.get_secret_value(),
        bridge.settings.redis_url.get_secret_value(),
        "http://x",
        "x",
    )
    assert again.redis.whose() == bridge.redis.whose()
    again.close()


def test_a_ticket_that_both_have_is_locked_by_each_for_itself(bridge: Bridge, other: Bridge) -> None:
    mine, theirs = Locks(bridge.redis, 60), Locks(other.redis, 60)
    (held,) = mine.take_all(["ticket:4711"])
    (also,) = theirs.take_all(["ticket:4711"])
    assert isinstance(held, HeldLock)
    assert isinstance(also, HeldLock)
    assert mine.once("sweep", 60)
    assert theirs.once("sweep", 60)
    bridge.receive(task_event())
    assert other.forward(task_event()) == ["pending"], "only its own lock is in the way"
    theirs.release_all([also])
    other.sync()
    assert other.event(1).state == "done"
    assert bridge.event(1).state == "pending"


def test_a_pause_a_limit_and_what_goes_ahead_are_each_ones_own(bridge: Bridge, other: Bridge) -> None:
    bridge.pause.begin(written("the tracker is away"))
    Ahead(bridge.redis).put([7])
    CallLimit(bridge.redis).decide(Limit(8))
    Throttle(bridge.redis, 0.01, sleep=lambda _: None).wait()
    Presence(bridge.redis).mark(WORKER)
    assert other.pause.current() is None
    assert Ahead(other.redis).take() == []
    assert CallLimit(other.redis).current() is None
    assert turns(other.redis) is None
    assert Presence(other.redis).seen(WORKER) == []


def test_a_ring_reaches_only_the_workers_of_its_own_installation(bridge: Bridge, other: Bridge) -> None:
    assert Doorbell(bridge.settings, bridge.redis.whose).ring([4711])
    assert backlog(make_celery(bridge.settings, bridge.redis.whose())) == 1
    assert backlog(make_celery(other.settings, other.redis.whose())) == 0


def test_a_beat_has_every_installation_swept_that_is_at_work(bridge: Bridge, other: Bridge) -> None:
    """It has no database, so that it belongs to none."""
    beat = EachInstallation(
        bridge.settings, Presence(bridge.redis), app=make_celery(bridge.settings), lazy=True
    )
    for one in (bridge, other):
        Presence(one.redis).mark(WORKER)
    beat.send_task("deskbridge.sweep")
    assert [backlog(make_celery(one.settings, one.redis.whose())) for one in (bridge, other)] == [1, 1]
    bridge.redis.zincrby(INSTALLATIONS, -AT_WORK_S - 1, other.redis.whose())
    beat.send_task("deskbridge.sweep")
    assert [backlog(make_celery(one.settings, one.redis.whose())) for one in (bridge, other)] == [2, 1]


def test_every_key_is_an_installations_own(bridge: Bridge) -> None:
    bridge.forward(task_event())
    bridge.pause.begin(written("the tracker is away"))
    Doorbell(bridge.settings, bridge.redis.whose).ring([4711])
    Throttle(bridge.redis, 10).wait()
    CallLimit(bridge.redis).tell("here", 1, 1, {})
    for kind in (WORKER, BEAT, CONSOLE):
        Presence(bridge.redis).mark(kind)
    Locks(bridge.redis, 60).take_all(["ticket:1"])
    keys = {one.decode() for one in bridge.redis.scan_iter()} - COMMON
    assert len(keys) > 5
    assert not [one for one in keys if bridge.redis.whose() not in one], keys
