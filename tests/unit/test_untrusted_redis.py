"""What somebody else may have put into Redis ends no process and keeps nobody from working."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest
from kombu.compression import compress
from kombu.exceptions import DecodeError
from kombu.transport import redis as transport
from redis import Redis

from shared.coordination.doorbell import LARGEST_RING, SYNC_TICKET, make_celery
from shared.coordination.pause import KEY as PAUSED
from shared.coordination.pause import Pause
from shared.coordination.presence import KEY, WORKER, Presence
from shared.settings import Settings
from worker.sweep import KEY as SWEPT
from worker.sweep import Sweep

MIB = 1024 * 1024


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize("stored", ["{", "null", '{"reason": "down", "until": 1e12, "length": 5}'])
def test_a_pause_that_no_worker_wrote_stops_nobody(redis: Redis, stored: str) -> None:
    redis.set(PAUSED, stored)
    assert Pause(redis).current() is None
    assert Pause(redis).enter().blocked_by is None


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize("stored", [b"", b"yesterday", b"nan", b"inf", b"\xff"])
def test_a_sign_of_life_that_is_no_time_is_none(redis: Redis, stored: bytes) -> None:
    redis.set(KEY + WORKER, stored)
    assert Presence(redis).seconds_since(WORKER) is None


def test_a_sign_of_life_of_another_type_is_none(redis: Redis) -> None:
    redis.rpush(KEY + WORKER, "x")
    assert Presence(redis).seconds_since(WORKER) is None


def test_a_sign_of_life_is_told(redis: Redis) -> None:
    Presence(redis).mark(WORKER)
    since = Presence(redis).seconds_since(WORKER)
    assert since is not None
    assert 0 <= since < 5


def test_a_mark_without_an_end_stops_no_sweep(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sweep, "ring_due", lambda _: 7)
    redis.set(SWEPT, "for ever")
    sweep: Any = Sweep.__new__(Sweep)
    object.__setattr__(sweep, "redis", redis)
    object.__setattr__(sweep, "settings", Settings())
    assert [sweep.run(), sweep.run(), sweep.run()] == [0, 7, 0]


def received(body: str | bytes, **headers: str) -> Any:
    """Return a message as a worker's channel makes it of what Redis holds."""
    make_celery(Settings())
    channel: Any = object.__new__(transport.Channel)
    encoded, encoding = channel.encode_body(body, "base64")
    properties = {"body_encoding": encoding, "delivery_tag": "1", "delivery_info": {}}
    payload = {
        "body": encoded,
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": SYNC_TICKET, "id": "1", **headers},
        "properties": properties,
    }
    return channel.Message(payload, channel=channel, accept={"application/json"})


def test_a_ring_is_read() -> None:
    ring = [[], {"ticket_id": 2**63 - 1}, {}]
    message = received(json.dumps(ring))
    assert message.decode() == ring
    assert not message.errors


@pytest.mark.promise("SEC-49")
@pytest.mark.parametrize("compression", ["zlib", "bzip2", "xz", "application/x-gzip"])
def test_a_message_that_is_compressed_is_refused_before_it_is_inflated(compression: str) -> None:
    bomb, _ = compress(b"[" + b" " * 24 * MIB + b"]", compression)  # type: ignore[no-untyped-call]
    tracemalloc.start()
    try:
        message = received(bomb, compression=compression)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert message.errors, "so that the worker refuses it as one that cannot be decoded"
    assert peak < 8 * MIB


@pytest.mark.promise("SEC-49")
def test_a_message_larger_than_any_ring_is_refused_undecoded() -> None:
    assert received("[" + " " * (LARGEST_RING // 2) + "]").decode() == []
    message = received("[" + " " * LARGEST_RING + "]")
    assert len(message.body) < 10
    with pytest.raises(DecodeError):
        message.decode()
