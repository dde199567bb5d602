"""Foreign values in Redis neither end a process nor stop its work."""

from __future__ import annotations

import base64
import json
import math
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from typing import Any

import fakeredis
import pytest
from kombu.common import eventloop
from kombu.compression import compress
from kombu.exceptions import DecodeError
from kombu.message import Message
from pydantic import SecretStr
from redis import Redis

from shared.process.itself import Process
from shared.process.settings import Settings
from shared.queue.celery_app import make_celery
from shared.queue.names import SYNC_TICKETS
from shared.queue.transport import LARGEST_MESSAGE, NOT_READABLE, Channel, checked
from shared.redis.circuit_breaker import KEY as PAUSED
from shared.redis.circuit_breaker import CircuitBreaker
from shared.redis.heartbeat import KEY, MOST_READ, WORKER, Heartbeats
from shared.redis.locks import ONCE, Locks
from tests.support.queue import queue_key
from worker.sweep import Sweep

MIB = 1024 * 1024


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize(
    "stored", ["{", "null", '{"reason": {"code": "down", "params": {}}, "until": 1e12, "length": 5}']
)
def test_a_pause_that_no_worker_wrote_stops_nobody(redis: Redis, stored: str) -> None:
    redis.set(PAUSED, stored)
    assert CircuitBreaker(redis).current() is None
    assert CircuitBreaker(redis).enter().blocked_by is None


@pytest.mark.promise("SEC-50")
@pytest.mark.parametrize("stored", [b"", b"yesterday", b"nan", b"inf", b"\xff"])
def test_a_heartbeat_that_no_process_left_is_none(redis: Redis, stored: bytes) -> None:
    redis.zadd(KEY + WORKER, {stored: time.time(), b"[]": time.time(), b'{"host": 7}': time.time()})
    redis.zadd(KEY + WORKER, {name_of(Process.here()): math.inf})
    assert Heartbeats(redis).seconds_since(WORKER) is None


def name_of(process: Process) -> str:
    return json.dumps(process.told(), sort_keys=True)


def test_many_strange_heartbeat_cost_little_and_hide_none_of_now(redis: Redis) -> None:
    redis.zadd(KEY + WORKER, {f"x{number}": time.time() + 1000 + number for number in range(500)})
    Heartbeats(redis).mark(WORKER)
    assert Heartbeats(redis).seconds_since(WORKER) is not None
    assert len(Heartbeats(redis).seen(WORKER)) <= MOST_READ


def test_a_heartbeat_of_another_type_is_none(redis: Redis) -> None:
    redis.rpush(KEY + WORKER, "x")
    assert Heartbeats(redis).seconds_since(WORKER) is None


def test_a_heartbeat_is_told(redis: Redis) -> None:
    Heartbeats(redis).mark(WORKER)
    since = Heartbeats(redis).seconds_since(WORKER)
    assert since is not None
    assert 0 <= since < 5


def test_a_mark_without_an_end_stops_no_sweep(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sweep, "notify_due", lambda _: 7)
    redis.set(f"{ONCE}sweep", "for ever")
    sweep: Any = Sweep.__new__(Sweep)
    object.__setattr__(sweep, "locks", Locks(redis, 60))
    object.__setattr__(sweep, "settings", Settings())
    assert [sweep.run(), sweep.run(), sweep.run()] == [0, 7, 0]


def received(body: str | bytes, **headers: str) -> Any:
    """Return the message that a worker's channel makes from a value in Redis."""
    make_celery(Settings())
    channel: Any = object.__new__(Channel)
    encoded, encoding = channel.encode_body(body, "base64")
    properties = {"body_encoding": encoding, "delivery_tag": "1", "delivery_info": {}}
    payload = {
        "body": encoded,
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": SYNC_TICKETS, "id": "1", "expires": None, **headers},
        "properties": properties,
    }
    return channel.Message(payload, channel=channel, accept={"application/json"})


def test_a_queue_message_is_read() -> None:
    notify = [[], {"ticket_ids": [2**63 - 1]}, {}]
    message = received(json.dumps(notify))
    assert message.decode() == notify
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
    with pytest.raises(DecodeError):
        message.decode()
    assert peak < 8 * MIB


@pytest.mark.promise("SEC-49")
def test_a_message_of_another_broker_that_is_compressed_is_not_inflated_either() -> None:
    """As if it reached Celery without our check."""
    make_celery(Settings())
    bomb, kind = compress(b"[]", "zlib")  # type: ignore[no-untyped-call]
    message: Any = Message(bomb, headers={"compression": kind}, content_type="application/json")  # type: ignore[no-untyped-call]
    with pytest.raises(DecodeError):
        message.decode()


@pytest.mark.promise("SEC-49")
def test_a_message_larger_than_any_message_is_refused_undecoded() -> None:
    def notify(size: int) -> str:
        return json.dumps([[], {"ticket_ids": [1], "more": "x" * size}, {}])

    assert not received(notify(LARGEST_MESSAGE // 2)).errors
    message = received(notify(LARGEST_MESSAGE))
    assert len(message.body) < 10
    with pytest.raises(DecodeError):
        message.decode()


MESSAGE = checked(
    {
        "headers": {"task": SYNC_TICKETS, "id": "1", "expires": None},
        "body": base64.b64encode(b'[[], {"ticket_ids": [7]}, {}]').decode(),
        "properties": {"delivery_tag": "1"},
    }
)


def changed(part: str, **values: Any) -> dict[str, Any]:
    """Return a queue message with other values in one of its parts."""
    return {**MESSAGE, part: {**MESSAGE[part], **values}}


def with_arguments(arguments: Any) -> dict[str, Any]:
    """Return a queue message with other arguments."""
    return {**MESSAGE, "body": base64.b64encode(json.dumps(arguments).encode()).decode()}


@pytest.mark.promise("SEC-47")
@pytest.mark.parametrize(
    "payload",
    [
        *(None, 7, "text", [], {}, {"headers": None}, {**MESSAGE, "headers": []}, {**MESSAGE, "body": None}),
        *({**MESSAGE, "body": "?"}, {**MESSAGE, "properties": None}, changed("headers", task=None)),
        *(changed("headers", task=[]), changed("headers", task="x"), changed("headers", id=None)),
        *(
            changed("headers", id="x" * 5000),
            changed("headers", id="a\nb"),
            changed("headers", expires="soon"),
        ),
        *(
            changed("headers", expires=7),
            changed("headers", expires={}),
            changed("properties", delivery_tag=None),
        ),
        *(changed("properties", delivery_tag={}), with_arguments([]), with_arguments({})),
        *(with_arguments([[], wrong, {}]) for wrong in (None, 7, "x", [7])),
    ],
)
def test_what_is_no_message_becomes_a_message_that_cannot_be_decoded(payload: Any) -> None:
    message = checked(payload)
    assert message["body"] == NOT_READABLE
    assert {part: type(value) for part, value in message["headers"].items()} == {
        part: type(value) for part, value in MESSAGE["headers"].items()
    }
    assert message["properties"]["delivery_tag"]


@pytest.mark.promise("SEC-47")
def test_of_a_queue_message_only_what_one_of_ours_holds_is_kept() -> None:
    hostile = {"callbacks": [{"task": "x"}], "chain": [7], "chord": 7}
    for payload in (
        changed("headers", eta="never", timelimit=["x"], retries="x", stamps=7, compression="zlib"),
        changed("properties", priority={}, delivery_info=7, reply_to="x"),
        with_arguments([[1, 2], {"ticket_ids": [7]}, hostile]),
    ):
        assert checked(payload) == MESSAGE


def from_rabbitmq(payload: dict[str, Any], **more: Any) -> Message:
    """Return a message as the worker's channel to RabbitMQ gives it to Celery."""
    app = make_celery(Settings(broker_url=SecretStr("amqp://127.0.0.1/")))
    with app.connection_for_read() as connection:
        channel = connection.transport.Connection.Channel
    body = base64.b64decode(payload["body"]) if payload["body"] else b""
    arrived = import_module("amqp").Message(
        body, application_headers=payload["headers"], content_type="application/json", **more
    )
    arrived.delivery_info = {"delivery_tag": 1, "routing_key": "deskbridge"}
    taken: Message = channel.Message(arrived, channel=None)
    return taken


@pytest.mark.promise("SEC-47")
@pytest.mark.parametrize(
    "payload",
    [
        {**MESSAGE, "headers": None},
        {**MESSAGE, "body": None},
        changed("headers", task="x"),
        changed("headers", id="a\nb"),
        changed("headers", expires={}),
        with_arguments([]),
        with_arguments([[], 7, {}]),
        with_arguments([[], {"ticket_ids": [1], "more": "x" * LARGEST_MESSAGE}, {}]),
    ],
)
def test_what_is_no_message_from_rabbitmq_cannot_be_decoded(payload: dict[str, Any]) -> None:
    message = from_rabbitmq(payload)
    assert len(message.body) < 10
    with pytest.raises(DecodeError):
        message.decode()  # type: ignore[no-untyped-call]


@pytest.mark.promise("SEC-47")
def test_of_a_message_from_rabbitmq_only_what_one_of_ours_holds_is_kept() -> None:
    for payload in (
        MESSAGE,
        changed("headers", eta="never", timelimit=["x"], retries="x", stamps=7, compression="zlib"),
        with_arguments([[1, 2], {"ticket_ids": [7]}, {"callbacks": [{"task": "x"}], "chord": 7}]),
    ):
        message = from_rabbitmq(payload, priority=9, reply_to="x", expiration="1")
        assert message.headers == MESSAGE["headers"]
        assert message.payload == [[], {"ticket_ids": [7]}, {}]
        assert message.properties.keys() == {
            "application_headers", "content_type", "content_encoding", "correlation_id"
        }  # fmt: skip
        assert message.delivery_tag == 1


@pytest.mark.promise("SEC-47")
@pytest.mark.parametrize("text", ["", "{", "nonsense", b"\xff", "[" * 100_000, "9" * 5000])
def test_what_is_not_json_is_dropped_and_the_next_message_is_taken(redis_url: str, text: str | bytes) -> None:
    settings, taken = Settings(redis_url=SecretStr(redis_url)), list[Any]()
    app = make_celery(settings, "5ac1")
    with closing(Redis.from_url(redis_url)) as written:
        written.lpush(queue_key("5ac1"), text)
        written.lpush(queue_key("5ac1"), json.dumps(MESSAGE))
    with app.connection_for_read() as connection, connection.channel() as channel:
        app.amqp.TaskConsumer(channel, on_message=lambda one: taken.append(one.payload)).consume()
        next(eventloop(connection, limit=1, timeout=10))  # type: ignore[no-untyped-call]
    assert taken == [[[], {"ticket_ids": [7]}, {}]]
