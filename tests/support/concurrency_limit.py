"""What the call limit promises, whichever Redis it stands on: subclassed over a fake and a real one."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest
from redis import Redis

from shared.codes.limits import CallLimitBy
from shared.redis.concurrency_limit import ENOUGH, KEY, KEYS, TURN_KEY, TURN_S, ConcurrencyLimit, Limit

ONE_EACH = {"POST issues": (1, 0.1)}
MANY = {"POST issues": (ENOUGH, 0.8)}
GOOD: dict[str, object] = asdict(Limit(8.0))


class CallLimitContract:
    """Tests of `shared.redis.concurrency_limit`; the subclass provides the fixture `redis`, an empty one."""

    def test_each_worker_gets_the_same_share_as_far_as_it_wants_it(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        calls.tell("a", 8, 8, {})
        calls.tell("b", 2, 8, {})
        told = calls.tell("c", 8, 8, {})
        assert sorted(told.share(one, Limit(9)) for one in "abc") == [2, 3, 4]
        assert told.share("b", Limit(9)) == 2
        assert [told.share(one, Limit(3.9)) for one in "abc"] == [1, 1, 1]
        assert [told.share(one, Limit(64)) for one in "abc"] == [8, 2, 8]

    def test_a_call_that_two_workers_want_goes_round(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        calls.tell("a", 8, 8, {})
        told = calls.tell("b", 3, 8, {})
        shares = [
            [replace(told, now=told.now + second).share(one, Limit(1, CallLimitBy.QUEUEING)) for one in "ab"]
            for second in (0, TURN_S)
        ]
        assert sorted(shares) == [[0, 1], [1, 0]]

    def test_a_worker_that_wants_none_leaves_all_to_the_others(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        calls.tell("a", 8, 8, {})
        calls.tell("a", 0, 8, {})
        told = calls.tell("b", 8, 8, {})
        assert (told.share("a", Limit(8)), told.share("b", Limit(8))) == (0, 8)

    def test_what_all_have_seen_is_decided_on_by_one_of_them_once_it_is_enough(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        assert calls.tell("a", 3, 8, ONE_EACH).seen is None, "too few"
        told = calls.tell("b", 4, 8, MANY)
        assert told.seen is not None
        assert told.seen.calls == {"POST issues": (ENOUGH + 1, 0.9)}
        assert (told.seen.wanted, told.seen.bound) == (3, 16), "wanted all the time"
        assert 0 < told.seen.seconds < 5
        assert calls.tell("a", 3, 8, MANY).seen is None, "somebody has just decided"
        redis.delete(TURN_KEY)
        again = calls.tell("a", 3, 8, {}).seen
        assert again is not None
        assert (again.calls, again.wanted) == (MANY, 7)

    def test_a_limit_is_kept_as_it_was_decided(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        assert calls.current() is None
        took, tried_at = {"POST issues": 0.03}, 1_700_000_000.5
        limit = Limit(7.5, CallLimitBy.QUEUEING, 1.25, 3.75, False, 80.5, took, tried_at, 10.0, False)
        calls.decide(limit)
        assert calls.current() == limit
        assert calls.tell("a", 1, 8, {}).limit == limit

    @pytest.mark.parametrize(
        "value",
        [
            "?",
            "{}",
            "[]",
            "[" * 999,
            '{"calls": 1e999}',
            json.dumps(GOOD | {"took": 3}),
            json.dumps(GOOD | {"calls": 0}),
            json.dumps(GOOD | {"gain": math.nan}),
            json.dumps(GOOD | {"why": "because"}),
            json.dumps(GOOD | {"rate": -1}),
            json.dumps(GOOD | {"kept": 4, "rate": 0}),
            json.dumps(GOOD | {"again_s": 1e9}),
            json.dumps(GOOD | {"took": {"POST issues": 0}}),
        ],
    )
    def test_a_limit_that_no_worker_can_have_written_begins_again(self, redis: Redis, value: str) -> None:
        redis.set(KEY, value)
        assert ConcurrencyLimit(redis).tell("a", 1, 8, {}).limit == Limit()

    @pytest.mark.parametrize("key", KEYS)
    def test_values_of_another_kind_are_dropped(self, redis: Redis, key: str) -> None:
        redis.rpush(key, "x")
        ConcurrencyLimit(redis).tell("a", 2, 8, MANY)
        redis.delete(TURN_KEY)
        told = ConcurrencyLimit(redis).tell("a", 2, 8, MANY)
        assert told.share("a", Limit(8)) == 2
        assert told.seen is not None

    @pytest.mark.parametrize("value", ["?", "nan 3 8", "1 2", "9999999999999 3 3", "-1 3 3", "1e3 1 1"])
    def test_a_worker_that_no_worker_can_have_written_is_forgotten(self, redis: Redis, value: str) -> None:
        redis.hset("deskbridge:calls:workers", "strange", value)
        told = ConcurrencyLimit(redis).tell("a", 2, 8, {})
        assert told.wanted == {"a": 2}

    def test_as_many_calls_are_enough_as_the_limit_asks_for(self, redis: Redis) -> None:
        calls = ConcurrencyLimit(redis)
        calls.decide(Limit(64, CallLimitBy.BOUND, settles=True))
        calls.tell("a", 8, 8, {})
        assert calls.tell("a", 8, 8, {"POST issues": (63, 6.3)}).seen is None
        assert calls.tell("a", 8, 8, ONE_EACH).seen is not None

    @pytest.mark.parametrize("seconds", [None, 10**6])
    def test_a_turn_that_nobody_can_have_taken_is_ended(self, redis: Redis, seconds: int | None) -> None:
        redis.set(TURN_KEY, "somebody's", ex=seconds)
        assert ConcurrencyLimit(redis).tell("a", 1, 8, MANY).seen is not None

    @pytest.mark.parametrize("name", ["n POST issues", "us POST issues", "count", "since", "wanted"])
    def test_counts_that_no_worker_can_have_written_harm_nobody(self, redis: Redis, name: str) -> None:
        redis.hset("deskbridge:calls:seen", name, "?")
        for _ in range(2):
            ConcurrencyLimit(redis).tell("a", 2, 8, MANY)
            redis.delete(TURN_KEY)
        assert ConcurrencyLimit(redis).tell("a", 2, 8, MANY).seen is not None
