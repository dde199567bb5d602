"""What a person waits for goes ahead of a backlog, in whichever process that is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import fakeredis
import pytest
from redis import Redis

from shared.redis.priority import KEY, MOST, TAKEN_AT_ONCE, PriorityTickets
from tests.support.together import at_work, called
from tests.support.waiting import until


@pytest.fixture
def redis() -> Iterator[Redis]:
    with fakeredis.FakeRedis() as connection:
        yield connection


def test_what_goes_ahead_is_given_to_one_worker_each(redis: Redis) -> None:
    PriorityTickets(redis).put(range(1, TAKEN_AT_ONCE + 3))
    first, second = PriorityTickets(redis).take(), PriorityTickets(redis).take()
    assert len(first) == TAKEN_AT_ONCE
    assert sorted(first + second) == list(range(1, TAKEN_AT_ONCE + 3))
    assert PriorityTickets(redis).take() == []


def test_what_is_a_backlog_itself_goes_ahead_of_nothing(redis: Redis) -> None:
    PriorityTickets(redis).put(range(1, MOST + 2))
    PriorityTickets(redis).put([])
    assert PriorityTickets(redis).take() == []


def test_what_nobody_takes_is_forgotten(redis: Redis) -> None:
    PriorityTickets(redis).put([7])
    assert 0 < redis.ttl(KEY) <= 60


@pytest.mark.parametrize("value", [b"?", b"-1", b"0", b"9" * 19, b"\xff", "\u0663".encode()])
def test_what_is_no_ticket_is_left_out(redis: Redis, value: bytes) -> None:
    redis.sadd(KEY, value, 7)
    assert PriorityTickets(redis).take() == [7]


def test_a_value_of_another_kind_is_dropped(redis: Redis) -> None:
    redis.set(KEY, "?")
    assert PriorityTickets(redis).take() == []
    PriorityTickets(redis).put([7])
    assert PriorityTickets(redis).take() == [7]


def test_it_is_begun_before_all_that_wait() -> None:
    begun, begun_to_load = list[int](), list[int]()
    first_is_done = threading.Event()

    def call(ticket_id: int) -> None:
        begun.append(ticket_id)
        assert first_is_done.wait(90)

    async def workflow(ticket_id: int) -> None:
        begun_to_load.append(ticket_id)
        await called(call, ticket_id)

    with at_work(workflow, callers=1) as scheduler:
        scheduler.take(range(1, 26))
        until(lambda: begun == [1])
        scheduler.take_ahead([])
        scheduler.take_ahead([77, 25])
        until(lambda: {77, 25} <= set(begun_to_load))
        first_is_done.set()
        until(lambda: not scheduler.is_at_work)
    assert begun[:3] == [1, 77, 25], "before whatever had begun to load"
    assert sorted(begun) == [*range(1, 26), 77]
