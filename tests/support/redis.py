"""The contracts of locks and the circuit breaker with any Redis: subclassed for a fake and a real one."""

from __future__ import annotations

import threading
import time
from typing import Any, ClassVar

import pytest
import structlog
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout

from shared.errors import LockBusy
from shared.notices.notice import written
from shared.redis import circuit_breaker as pause_module
from shared.redis.circuit_breaker import (
    FIRST_PAUSE_S,
    KEY,
    LONGEST_NAMED_S,
    LONGEST_PAUSE_S,
    CircuitBreaker,
)
from shared.redis.locks import LONGEST_HELD_S, PREFIX, HeldLock, Locks
from tests.support.waiting import until

PROBE_KEY = f"{KEY}:probe"
LEASE = 0.4
"""Lease of locks that should expire."""

KEPT_LEASE = 3.0
"""Lease of locks that a thread renews, which may be late on a busy machine."""


class LockContract:
    """Tests of `shared.redis.locks`; the subclass provides the fixture `redis`, an empty Redis."""

    def test_a_held_lock_is_busy_for_others_and_free_afterwards(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        with locks.hold("ticket:1"):
            with pytest.raises(LockBusy), locks.hold("ticket:1"):
                pass
            with locks.hold("ticket:2"):
                pass
        with locks.hold("ticket:1"):
            pass
        assert list(redis.scan_iter(PREFIX + "*")) == []

    def test_asking_for_a_busy_lock_does_not_wait(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        with locks.hold("ticket:1"):
            before = time.monotonic()
            with pytest.raises(LockBusy), locks.hold("ticket:1"):
                pass
            assert time.monotonic() - before < 20, "the lease is a minute"

    def test_an_error_inside_the_block_releases_the_lock_and_goes_on(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        with pytest.raises(ZeroDivisionError), locks.hold("ticket:1"):
            raise ZeroDivisionError
        with locks.hold("ticket:1"):
            pass

    def test_several_locks_are_taken_at_once_as_far_as_they_are_free(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        with locks.hold("ticket:2"):
            one, busy, three, twice = locks.take_all(["ticket:1", "ticket:2", "ticket:3", "ticket:3"])
            assert isinstance(one, HeldLock)
            assert isinstance(three, HeldLock)
            assert isinstance(busy, LockBusy)
            assert isinstance(twice, LockBusy), "never two at once, whoever asks"
            for name in ("ticket:1", "ticket:3"):
                with pytest.raises(LockBusy), locks.hold(name):
                    pass
                assert 0 < redis.pttl(PREFIX + name) <= 60_000
            locks.release_all([one, three])
        assert list(redis.scan_iter(PREFIX + "*")) == []

    def test_no_lock_is_taken_where_a_key_is_there_for_which_none_is(self, redis: Redis) -> None:
        locks, breaker = Locks(redis, 60), CircuitBreaker(redis)
        breaker.begin(written("down"))
        assert locks.take_all_unless(breaker.key, ["ticket:1", "ticket:2"]) is None
        assert list(redis.scan_iter(PREFIX + "*")) == []
        breaker.end()
        taken = locks.take_all_unless(breaker.key, ["ticket:1", "ticket:2"])
        assert taken is not None
        assert [type(one) for one in taken] == [HeldLock, HeldLock]

    def test_a_lock_hangs_on_no_key_but_its_own(self, redis: Redis) -> None:
        """Other applications may use any key in the same Redis; all of ours have one prefix."""
        redis.set("", "another application's")
        with Locks(redis, 60).hold("ticket:1"):
            pass

    def test_of_several_locks_only_those_still_held_are_given_back(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        held = [one for one in locks.take_all(["ticket:1", "ticket:2"]) if isinstance(one, HeldLock)]
        redis.delete(PREFIX + "ticket:2")
        with locks.hold("ticket:2"):
            locks.release_all(held)
            assert list(redis.scan_iter(PREFIX + "*")) == [f"{PREFIX}ticket:2".encode()]

    def test_a_lock_that_was_taken_with_others_is_given_back_alone(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        one, other = locks.take_all(["ticket:1", "ticket:2"])
        assert isinstance(one, HeldLock)
        assert isinstance(other, HeldLock)
        locks.release_all([one])
        assert list(redis.scan_iter(PREFIX + "*")) == [f"{PREFIX}ticket:2".encode()]

    def test_a_lock_that_nobody_renews_ends(self, redis: Redis) -> None:
        locks = Locks(redis, LEASE)
        with locks.hold("ticket:1"):
            time.sleep(LEASE + 0.1)
            with locks.hold("ticket:1"):
                pass

    def test_a_holder_whose_lease_ran_out_does_not_release_another_s_lock(self, redis: Redis) -> None:
        with Locks(redis, LEASE).hold("ticket:1"):
            redis.delete(PREFIX + "ticket:1")
            redis.set(PREFIX + "ticket:1", "somebody else", px=60_000)
        assert redis.get(PREFIX + "ticket:1") == b"somebody else"

    def test_locks_that_are_kept_outlive_their_leases_and_their_holders_only_look(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shared.redis.locks.RENEWED_AFTER", 0.02)
        locks = Locks(redis, KEPT_LEASE, keeps=True)
        with locks.hold("ticket:1") as one, locks.hold("ticket:2") as lost:
            redis.delete(PREFIX + "ticket:2")
            until(lambda: _is_lost(lost))
            time.sleep(KEPT_LEASE + 0.1)
            one.check()
            with pytest.raises(LockBusy), locks.hold("ticket:1"):
                pass

    def test_only_what_is_held_is_kept(self, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
        locks, kept = Locks(redis, LEASE, keeps=True), list[list[str]]()
        monkeypatch.setattr(locks, "renew", lambda held: kept.append([one.name for one in held]))
        with locks.hold("ticket:1"):
            until(lambda: ["ticket:1"] in kept)
        kept.clear()
        until(lambda: len(kept) > 2)
        assert kept[-1] == []

    def test_one_that_nobody_has_looked_at_for_too_long_is_kept_no_more(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its holder hangs; otherwise no one could take the lock as long as that process lives."""
        monkeypatch.setattr("shared.redis.locks.RENEWED_AFTER", 0.02)
        locks = Locks(redis, KEPT_LEASE, keeps=True)
        with locks.hold("ticket:1") as hanging, locks.hold("ticket:2") as other:
            hanging.looked_at -= LONGEST_HELD_S
            until(lambda: hanging not in locks._held)
            until(lambda: _is_lost(hanging))
            until(lambda: not redis.exists(PREFIX + "ticket:1"))
            with locks.hold("ticket:1"):
                other.check()

    def test_one_whose_holder_looks_at_it_is_kept_however_long_it_is_held(self, redis: Redis) -> None:
        locks = Locks(redis, 60)
        with locks.hold("metadata") as held:
            held.looked_at -= LONGEST_HELD_S
            held.check()
            assert locks._kept() == [held]

    def test_locks_are_kept_though_redis_was_away_for_a_moment(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The renewal is repeated soon, not after another third of the lease."""
        monkeypatch.setattr("shared.redis.locks.AGAIN_S", 0.01)
        locks, tried = Locks(redis, 60, keeps=True), list[float]()

        def renew(_held: object) -> None:
            tried.append(time.monotonic())
            raise RedisConnectionError

        monkeypatch.setattr("shared.redis.locks.RENEWED_AFTER", 0.001)
        monkeypatch.setattr(locks, "renew", renew)
        with locks.hold("ticket:1"):
            until(lambda: bool(tried))
            monkeypatch.setattr("shared.redis.locks.RENEWED_AFTER", 1.0)
            until(lambda: len(tried) > 3)

    def test_whoever_cannot_keep_locks_any_more_gives_up(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Otherwise the locks of all later tickets would expire during their syncs."""
        given_up = threading.Event()
        locks = Locks(redis, LEASE, keeps=True, give_up=given_up.set)

        def fail(_held: object) -> None:
            raise SystemExit

        monkeypatch.setattr(locks, "renew", fail)
        with locks.hold("ticket:1"):
            assert given_up.wait(60)

    def test_only_a_lock_that_was_held_can_be_lost(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        locks = Locks(redis, 60)
        taking = locks._taking

        def too_late(**asked: Any) -> list[int]:
            raise RedisTimeout

        monkeypatch.setattr(locks, "_taking", too_late)
        with structlog.testing.capture_logs() as told, pytest.raises(RedisTimeout):
            locks.take_all(["ticket:1"])
        assert told == []
        monkeypatch.setattr(locks, "_taking", taking)
        with structlog.testing.capture_logs() as told, locks.hold("ticket:1"):
            redis.delete(PREFIX + "ticket:1")
        assert [one["event"] for one in told] == ["lock lost before its release"]

    def test_to_look_at_a_lock_that_nobody_renews_says_when_it_has_run_out(self, redis: Redis) -> None:
        with Locks(redis, LEASE).hold("ticket:1") as held:
            time.sleep(LEASE + 0.1)
            with pytest.raises(LockBusy):
                held.check()

    def test_a_lock_without_an_end_is_nobody_s(self, redis: Redis) -> None:
        redis.set(PREFIX + "ticket:1", "for ever")
        locks = Locks(redis, 60)
        with pytest.raises(LockBusy), locks.hold("ticket:1"):
            pass
        with locks.hold("ticket:1"):
            pass

    def test_of_many_threads_one_at_a_time_holds_the_lock(self, redis: Redis) -> None:
        locks, inside, most, done = Locks(redis, 60), [0], [0], [0]

        def work() -> None:
            for _ in range(20):
                try:
                    with locks.hold("ticket:1"):
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        done[0] += 1
                        inside[0] -= 1
                except LockBusy:
                    pass

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1]
        assert done[0] >= 1


def _is_lost(held: HeldLock) -> bool:
    try:
        held.check()
    except LockBusy:
        return True
    return False


class CircuitBreakerContract:
    """Tests of `shared.redis.circuit_breaker`; the subclass provides the fixture `redis`, an empty Redis."""

    clock: ClassVar[float] = 1_000_000.0

    @pytest.fixture(autouse=True)
    def _clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        type(self).clock = 1_000_000.0
        monkeypatch.setattr("shared.redis.circuit_breaker.now", lambda _: type(self).clock)

    def wait(self, seconds: float) -> None:
        type(self).clock += seconds

    def test_without_a_pause_everybody_goes_on(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        assert breaker.current() is None
        permit = breaker.enter()
        assert permit.blocked_by is None
        assert not permit.probing

    def test_a_pause_stops_everybody_and_says_why(self, redis: Redis) -> None:
        CircuitBreaker(redis).begin(written("the tracker is down"))
        blocked = CircuitBreaker(redis).enter().blocked_by
        assert blocked is not None
        assert blocked.reason == written("the tracker is down")
        assert blocked.until == self.clock + FIRST_PAUSE_S

    def test_after_the_pause_one_probes_and_the_others_wait(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        first, second = breaker.enter(), breaker.enter()
        assert first.probing
        assert first.blocked_by is None
        assert second.blocked_by is not None

    def test_a_probe_that_succeeds_lets_everybody_go_on(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        breaker.enter()
        assert breaker.end() is True
        assert breaker.end() is False
        assert breaker.enter().blocked_by is None
        assert list(redis.keys()) == []

    def test_each_failed_probe_doubles_the_pause_up_to_its_bound(self, redis: Redis) -> None:
        breaker, lengths = CircuitBreaker(redis), []
        for _ in range(7):
            lengths.append(breaker.begin(written("down")).until - self.clock)
            self.wait(lengths[-1])
            assert breaker.enter().probing
        assert lengths == [5, 10, 20, 40, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]

    def test_many_who_fail_at_once_pause_no_longer_than_one(self, redis: Redis) -> None:
        for _ in range(8):
            CircuitBreaker(redis).begin(written("down"))
        assert CircuitBreaker(redis).enter().blocked_by is not None
        self.wait(FIRST_PAUSE_S)
        assert CircuitBreaker(redis).enter().probing

    def test_calls_that_were_under_way_when_it_began_make_it_no_longer(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        for _ in range(8):
            begun = breaker.begin(written("down"))
        assert begun.until == self.clock + FIRST_PAUSE_S
        self.wait(FIRST_PAUSE_S)
        assert breaker.begin(written("down")).until == self.clock + 2 * FIRST_PAUSE_S

    def test_after_a_success_the_pause_starts_short_again(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        breaker.begin(written("down"))
        breaker.end()
        assert breaker.begin(written("down")).length == FIRST_PAUSE_S

    def test_the_time_that_the_tracker_named_is_kept(self, redis: Redis) -> None:
        assert CircuitBreaker(redis).begin(written("busy"), 120).until == self.clock + 120

    def test_who_looked_just_before_a_probe_failed_does_not_probe_as_well(
        self, redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        breaker, slow = CircuitBreaker(redis), CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        assert breaker.enter().probing
        seen = [breaker.current()]
        breaker.begin(written("still down"))
        current = slow.current
        monkeypatch.setattr(slow, "current", lambda: seen.pop() if seen else current())
        blocked = slow.enter().blocked_by
        assert blocked is not None
        assert blocked.reason == written("still down")
        self.wait(2 * FIRST_PAUSE_S)
        assert breaker.enter().probing, "nothing is left that would keep the next one from it"

    def test_a_probe_that_had_nothing_to_ask_lets_another_one_probe(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        assert breaker.enter().probing
        breaker.give_up_probe()
        assert breaker.enter().probing

    def test_a_probe_that_never_comes_back_is_forgotten_by_its_lease(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        breaker.enter()
        assert 0 < redis.ttl(PROBE_KEY) <= pause_module.PROBE_LEASE_S

    def test_a_flushed_redis_has_no_pause(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        redis.delete(KEY, PROBE_KEY)
        assert breaker.enter().blocked_by is None

    @pytest.mark.parametrize(
        "stored",
        [
            b"",
            b"null",
            b"[]",
            b"17",
            b"{",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"reason": {"code": "down", "params": {}}, "until": 1000005.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": 1000005.0, "length": 5.0, "more": 1}',
            b'{"reason": "down", "until": 1000005.0, "length": 5.0}',
            b'{"reason": {"code": "down"}, "until": 1000005.0, "length": 5.0}',
            b'{"reason": 7, "until": 1000005.0, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": "soon", "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": true, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": NaN, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": Infinity, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": 1e999, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": 1' + b"0" * 400 + b', "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": 9999999999.0, "length": 5.0}',
            b'{"reason": {"code": "down", "params": {}}, "until": 1000005.0, "length": -1}',
            b'{"reason": {"code": "down", "params": {}}, "until": 1000005.0, "length": 1e300}',
            b'{"reason": {"code": "'
            + b"x" * 1_000_000
            + b'", "params": {}}, "until": 1000005.0, "length": 5.0}',
        ],
        ids=lambda stored: stored[:70].decode(errors="replace"),
    )
    def test_a_pause_that_no_worker_wrote_stops_nobody(self, redis: Redis, stored: bytes) -> None:
        redis.set(KEY, stored)
        breaker = CircuitBreaker(redis)
        assert breaker.current() is None
        assert breaker.enter().blocked_by is None
        assert breaker.begin(written("down")).until == self.clock + FIRST_PAUSE_S, (
            "and the next one is as any first"
        )

    def test_a_pause_of_another_type_stops_nobody(self, redis: Redis) -> None:
        redis.rpush(KEY, "x")
        redis.rpush(PROBE_KEY, "x")
        breaker = CircuitBreaker(redis)
        assert breaker.enter().blocked_by is None
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        assert breaker.enter().probing

    def test_a_probe_without_an_end_stops_nobody(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        breaker.begin(written("down"))
        self.wait(FIRST_PAUSE_S)
        redis.set(PROBE_KEY, "for ever")
        assert breaker.enter().blocked_by is not None
        assert breaker.enter().probing

    def test_the_time_that_the_tracker_named_has_a_bound(self, redis: Redis) -> None:
        breaker = CircuitBreaker(redis)
        assert breaker.begin(written("busy"), 1e9).until == self.clock + LONGEST_NAMED_S
        assert breaker.current() is not None
