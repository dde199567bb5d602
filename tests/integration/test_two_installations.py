"""Two installations with the same ticket numbers share one Redis database without affecting each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.limits import CallLimit
from shared.notices.notice import written
from shared.process.itself import Process
from shared.queue.celery_app import make_celery, waiting
from shared.queue.publisher import Publisher
from shared.redis.call_limits import publish, published
from shared.redis.heartbeat import BEAT, CONSOLE, WORKER, Heartbeats
from shared.redis.keys import INSTALLATIONS, OURS
from shared.redis.locks import HeldLock, Locks
from shared.redis.rate_limit import RateLimiter, rate_limit_in_use
from tests.support.bridge import Bridge
from tests.support.events import task_event
from worker.beat import AT_WORK_S, EachInstallation

COMMON = {INSTALLATIONS, f"{OURS}alive:{BEAT}"}
"""Keys that all installations of a Redis share: their list, and the heartbeat of the beat that serves them all."""


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


def test_a_pause_and_a_limit_are_each_ones_own(bridge: Bridge, other: Bridge) -> None:
    bridge.breaker.begin(written("the tracker is away"))
    publish(bridge.redis, Process.here(), CallLimit(8))
    RateLimiter(bridge.redis, 0.01).next_turn()
    Heartbeats(bridge.redis).mark(WORKER)
    assert other.breaker.current() is None
    assert published(other.redis) == []
    assert rate_limit_in_use(other.redis) is None
    assert Heartbeats(other.redis).seen(WORKER) == []


def test_a_queue_message_reaches_only_the_workers_of_its_own_installation(
    bridge: Bridge, other: Bridge
) -> None:
    assert Publisher(bridge.settings, bridge.redis.whose).notify([4711])
    assert Publisher(bridge.settings, bridge.redis.whose).notify([7], has_priority=True)
    assert waiting(make_celery(bridge.settings, bridge.redis.whose())) == 2
    assert waiting(make_celery(other.settings, other.redis.whose())) == 0


def test_a_beat_has_every_installation_swept_that_is_at_work(bridge: Bridge, other: Bridge) -> None:
    """Beat has no database, so it belongs to no installation."""
    beat = EachInstallation(
        bridge.settings, Heartbeats(bridge.redis), app=make_celery(bridge.settings), lazy=True
    )
    for one in (bridge, other):
        Heartbeats(one.redis).mark(WORKER)
    beat.send_task("deskbridge.sweep")
    assert [waiting(make_celery(one.settings, one.redis.whose())) for one in (bridge, other)] == [1, 1]
    bridge.redis.zincrby(INSTALLATIONS, -AT_WORK_S - 1, other.redis.whose())
    beat.send_task("deskbridge.sweep")
    assert [waiting(make_celery(one.settings, one.redis.whose())) for one in (bridge, other)] == [2, 1]


def test_every_key_is_an_installations_own(bridge: Bridge) -> None:
    bridge.forward(task_event())
    bridge.breaker.begin(written("the tracker is away"))
    Publisher(bridge.settings, bridge.redis.whose).notify([4711])
    RateLimiter(bridge.redis, 10).next_turn()
    publish(bridge.redis, Process.here(), CallLimit(8))
    for kind in (WORKER, BEAT, CONSOLE):
        Heartbeats(bridge.redis).mark(kind)
    Locks(bridge.redis, 60).take_all(["ticket:1"])
    keys = {one.decode() for one in bridge.redis.scan_iter()} - COMMON
    assert len(keys) > 5
    assert not [one for one in keys if bridge.redis.whose() not in one], keys
