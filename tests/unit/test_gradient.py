"""How many calls at once: simulated workers before trackers that answer so many side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.codes.limits import CallLimitBy
from shared.redis.concurrency_limit import LEAST, Limit, Seen
from shared.tracker.meter import LOST
from tests.support.crowd import Crowd
from worker.runtime.gradient import adapted

REDMINE = {"POST issues": 0.05, "POST time_entries": 0.02}
"""Seconds that a call takes at one that was measured; it does one thing at a time."""

MANY = 1000


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.3])
def test_a_tracker_of_pure_latency_is_given_all_within_seconds(workers: int, seconds: float) -> None:
    crowd = Crowd(MANY, {"POST issues": seconds}, workers=workers, each=64 // workers)
    assert crowd.until_open(60) < 6 + 10 * seconds
    assert crowd.work(5).why is CallLimitBy.BOUND
    assert crowd.calls(120) > 0.95 * crowd.bound


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("side_by_side", [1, 2])
def test_a_tracker_that_does_little_at_a_time_is_filled_and_not_flooded(
    workers: int, side_by_side: int
) -> None:
    crowd = Crowd(side_by_side, REDMINE, workers=workers)
    crowd.work(20)
    assert crowd.calls(200) < LEAST + 2.5
    assert crowd.limit.why in (CallLimitBy.QUEUEING, CallLimitBy.OPENING)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("side_by_side", [1, 2, 4, 7, 16, 40])
def test_what_is_made_of_the_tracker_is_no_less_than_with_any_fixed_number(
    workers: int, side_by_side: int
) -> None:
    crowd = Crowd(side_by_side, REDMINE, workers=workers, each=64 // workers, jitter=0.0)
    crowd.work(20)
    assert crowd.rate(200) > 0.95 * side_by_side / (sum(REDMINE.values()) / len(REDMINE))


def test_a_tracker_that_answers_in_a_moment_is_given_so_many_that_it_still_does() -> None:
    """That they wait for each other nobody notices, and what more tickets share costs us less."""
    crowd = Crowd(1, {"POST issues": 0.0005})
    crowd.work(5)
    assert 10 < crowd.calls(5) < 20


def test_as_many_are_tried_at_once_as_are_over_in_half_a_moment() -> None:
    """A burst is over before twice as many were tried five times."""
    seen = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (2000, 2.0)})
    assert adapted(Limit(settles=False), seen).calls > 4 * LEAST
    slower = replace(seen, calls={"POST issues": (2000, 20.0)})
    assert adapted(Limit(settles=False), slower).calls == 2 * LEAST
    few = replace(seen, calls={"POST issues": (20, 0.02)})
    assert adapted(Limit(settles=False), few).calls == 2 * LEAST


def test_fewer_that_are_over_in_a_moment_and_do_as_much_are_no_reason_for_more_that_are_not() -> None:
    limit = Limit(
        4, CallLimitBy.QUEUEING, kept=8, settles=False, tried_at=999, rate=8.0, took={"POST issues": 0.0192}
    )
    seen = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (416, 4.0)})
    assert adapted(limit, seen).calls == 4
    in_a_moment = replace(limit, rate=4.0, took={"POST issues": 0.0096})
    assert adapted(in_a_moment, replace(seen, calls={"POST issues": (416, 2.0)})).calls == 8


@pytest.mark.parametrize("side_by_side", [7, 16, 40])
def test_hardly_more_calls_wait_than_are_answered(side_by_side: int) -> None:
    crowd = Crowd(side_by_side, REDMINE)
    crowd.work(20)
    assert side_by_side * 0.9 < crowd.calls(300) < side_by_side * 1.4 + 3


def test_a_limit_that_chance_made_too_high_is_found_out_soon() -> None:
    """What twice as many did was more by chance; the next trial shows that it is no more, and the one after it less."""
    crowd = Crowd(1, REDMINE)
    crowd.work(20)
    crowd.limit = Limit(12, CallLimitBy.QUEUEING, tried_at=crowd.now, again_s=5, more_next=True)
    assert crowd.calls(60) < 9


def test_calls_that_differ_much_are_not_taken_to_wait() -> None:
    crowd = Crowd(MANY, {"POST issues": 0.1}, jitter=0.8)
    crowd.work(20)
    assert crowd.calls(120) > 0.85 * crowd.bound


@pytest.mark.parametrize(("before", "after"), [(0.02, 0.2), (0.2, 0.02), (0.3, 2.0)])
def test_a_tracker_that_becomes_slower_or_faster_for_everybody_keeps_its_calls(
    before: float, after: float
) -> None:
    crowd = Crowd(MANY, {"POST issues": before})
    crowd.until_open(60)
    crowd.now_take({"POST issues": after})
    assert crowd.calls(120) > 0.8 * crowd.bound


@pytest.mark.parametrize(("before", "after"), [(1, 40), (40, 1)])
def test_a_tracker_that_takes_more_or_fewer_than_before_is_given_as_many(before: int, after: int) -> None:
    crowd = Crowd(before, REDMINE)
    crowd.work(60)
    crowd.takes(after)
    crowd.work(120)
    assert max(LEAST, after * 0.9) <= crowd.calls(120) < after * 1.4 + 4


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_what_was_found_is_tried_at_once_when_many_calls_suddenly_take_much_longer(workers: int) -> None:
    """They did no more at once before, since each took so little; now the line is longer, and they would."""
    crowd = Crowd(16, {"POST issues": 0.02}, workers=workers, each=64 // workers)
    crowd.work(120)
    crowd.takes(MANY)
    crowd.now_take({"POST issues": 0.1})
    assert crowd.until_open(60) < 12


def test_as_long_as_many_calls_take_hardly_longer_more_are_made_and_none_given_up() -> None:
    """No more is done, since our own work takes the time; what more tickets share costs less."""
    took = {"POST issues": 0.02}
    trial = Limit(16, CallLimitBy.QUEUEING, kept=8, settles=False, rate=8, took=took, tried_at=999)
    as_long = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (400, 8.4)})
    more = adapted(trial, as_long)
    assert (more.calls, more.kept, more.why) == (32, 16, CallLimitBy.OPENING)
    fewer = replace(trial, calls=8, kept=16)
    assert adapted(fewer, as_long).calls == 16
    longer = replace(as_long, calls={"POST issues": (400, 16.0)})
    assert adapted(trial, longer).calls == 8
    shorter = replace(as_long, calls={"POST issues": (400, 4.0)})
    found = adapted(fewer, shorter)
    assert found.calls < 16
    after = adapted(replace(found, settles=False), shorter)
    assert not after.more_next, "that they take less because fewer are made is nothing sudden"


def test_neither_few_calls_nor_some_without_an_answer_are_taken_for_our_own_work() -> None:
    took = {"POST issues": 0.1}
    trial = Limit(16, CallLimitBy.QUEUEING, kept=8, settles=False, rate=9, took=took, tried_at=999)
    few = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (90, 9.0)})
    assert adapted(trial, few).calls == 8
    many = replace(few, calls={"POST issues": (100, 10.0)})
    assert adapted(replace(trial, rate=10), many).calls == 32
    lost = replace(few, calls={"POST issues": (100, 10.0), LOST: (1, 5.0)})
    assert adapted(replace(trial, rate=10), lost).calls == 8


@pytest.mark.parametrize(("bound", "rate", "again_s"), [(16, 16, 600), (16, 13, 60), (64, 16, 20)])
def test_where_all_that_may_be_are_needed_fewer_are_hardly_ever_tried(
    bound: int, rate: float, again_s: float
) -> None:
    """Nothing else could be found, and each such trial costs half of what is done meanwhile."""
    took = {"POST issues": 0.1}
    trial = Limit(8, CallLimitBy.BOUND, kept=16, settles=False, rate=rate, took=took, tried_at=999)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=bound, calls={"POST issues": (80, 8.0)})
    found = adapted(trial, seen)
    assert (found.calls, found.again_s) == (16, again_s)
    interrupted = adapted(replace(trial, resumed=True), seen)
    assert (interrupted.calls, interrupted.again_s) == (16, 60 if bound == 16 else 5)


@pytest.mark.parametrize("each_time", [1.3, 1.06, 0.94, 0.77])
def test_but_they_are_as_soon_as_calls_take_longer_than_they_did_then_or_less_long(each_time: float) -> None:
    """Also where it comes little by little."""
    limit = Limit(16, CallLimitBy.BOUND, settles=False, took={"POST issues": 0.1}, tried_at=900, again_s=600)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"POST issues": (80, 8.0)})
    longer = 1.0
    while limit.again_s == 600 and seen.now < 1010:
        longer *= each_time
        seen = replace(seen, now=seen.now + 1, calls={"POST issues": (80, 8 * longer)})
        limit = adapted(limit, seen)
        assert limit.calls == 16
    assert 1.25 < max(longer, 1 / longer) < 1.35
    assert adapted(limit, seen).calls == 8, "what came first was of before and after"


def test_what_other_calls_took_says_nothing_of_those_that_are_made_now() -> None:
    took = {"POST issues": 0.1}
    limit = Limit(16, CallLimitBy.BOUND, settles=False, took=took, tried_at=900, again_s=600)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"PUT issues": (80, 8.0)})
    assert adapted(limit, seen).again_s == 60
    both = replace(seen, calls={"PUT issues": (40, 4.0), "POST issues": (50, 5.0)})
    assert adapted(limit, both).again_s == 600


def test_many_that_suddenly_take_much_longer_are_tried_as_soon_as_others() -> None:
    took = {"POST issues": 0.1}
    limit = Limit(16, CallLimitBy.BOUND, settles=False, took=took, tried_at=999, again_s=600)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"POST issues": (120, 24.0)})
    assert adapted(limit, seen).again_s == 5
    few = replace(seen, calls={"POST issues": (80, 16.0)})
    assert adapted(limit, few).again_s == 60


def test_a_gain_beyond_all_that_calls_could_make_is_somebody_elses_work() -> None:
    took = {"POST issues": 0.1}
    trial = Limit(8, CallLimitBy.BOUND, kept=16, settles=False, rate=24, took=took, tried_at=999)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"POST issues": (80, 8.0)})
    assert adapted(trial, seen).again_s == 60


def test_nor_are_they_left_alone_where_calls_get_no_answer() -> None:
    limit = Limit(16, CallLimitBy.BOUND, settles=False, took={"POST issues": 0.1}, tried_at=900, again_s=600)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"POST issues": (80, 8.0)})
    assert adapted(limit, seen).again_s == 600
    lost = replace(seen, calls={"POST issues": (80, 8.0), LOST: (1, 2.0)})
    assert adapted(limit, lost).again_s == 60


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_tracker_of_pure_latency_is_hardly_ever_tried_with_fewer(workers: int) -> None:
    crowd = Crowd(MANY, {"POST issues": 0.1}, workers=workers, each=64 // workers)
    crowd.until_open(60)
    crowd.work(120)
    tried = {one.tried_at for one in crowd.run(1800)}
    assert len(tried) < 10


@pytest.mark.parametrize("seconds", [0.1, 1.0])
def test_what_begins_to_wait_at_a_tracker_that_took_all_is_seen_soon(seconds: float) -> None:
    crowd = Crowd(MANY, {"POST issues": seconds}, each=8)
    crowd.until_open(60)
    crowd.work(120)
    crowd.takes(4)
    crowd.work(5 + 20 * seconds)
    assert crowd.calls(60) < 8


@pytest.mark.parametrize(("seconds", "again_s"), [(0.16, 5), (0.06, 5), (0.13, 60)])
def test_only_what_takes_much_longer_or_shorter_is_tried_again_at_once(
    seconds: float, again_s: float
) -> None:
    took = {"POST issues": 0.1}
    limit = Limit(
        24, CallLimitBy.QUEUEING, settles=False, took=took, tried_at=999, again_s=60, more_next=False
    )
    seen = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (150, 150 * seconds)})
    found = adapted(limit, seen)
    assert (found.again_s, found.more_next, found.calls) == (again_s, again_s == 5, 24)
    few = replace(seen, seconds=2)
    assert adapted(limit, few).again_s == 60


def test_an_operation_that_takes_long_by_itself_is_not_taken_to_wait() -> None:
    crowd = Crowd(MANY, {"POST issues": 0.02})
    crowd.until_open(60)
    crowd.now_take({"POST issues": 0.02, "GET issues": 0.4})
    assert crowd.calls(120) > 0.8 * crowd.bound


def test_as_long_as_nobody_wants_more_the_limit_does_not_open() -> None:
    crowd = Crowd(MANY, {"POST issues": 0.02}, wanted=1)
    assert crowd.work(20).calls == LEAST
    crowd.wanted = MANY
    assert crowd.until_open(60) < 10


def test_what_twice_as_many_did_is_told() -> None:
    crowd = Crowd(1, REDMINE)
    gains = [one.gain for one in crowd.run(200) if one.why is CallLimitBy.QUEUEING]
    assert 1 <= sum(gains) / len(gains) < 1.3


def test_what_came_while_too_little_was_to_do_says_nothing() -> None:
    trial = Limit(16, CallLimitBy.QUEUEING, kept=8, settles=False, rate=100, took={"POST issues": 0.1})
    some = Seen(now=1000, seconds=1, wanted=20, bound=64, calls={"POST issues": (40, 4.0)})
    assert adapted(trial, some).calls < 16
    assert adapted(trial, replace(some, wanted=15)).calls == 8
    assert adapted(trial, replace(some, wanted=15)).rate == 0
    recent = replace(trial, tried_at=995)
    put_off = adapted(recent, replace(some, wanted=15))
    assert put_off == replace(recent, settles=True, resumed=True), "it goes on with the next calls"
    again = replace(put_off, settles=False, rate=10)
    much = replace(some, calls={"POST issues": (200, 20.0)})
    assert (adapted(again, much).calls, adapted(again, much).why) == (20, CallLimitBy.OPENING)
    no_more = adapted(again, replace(some, calls={"POST issues": (90, 9.0)}))
    assert no_more == replace(again, calls=8, kept=0, settles=True, resumed=False, again_s=5)


def test_calls_that_began_by_the_limit_before_do_not_count() -> None:
    trial = Limit(16, CallLimitBy.QUEUEING, kept=8, settles=True, rate=100, took={"POST issues": 0.1})
    seen = Seen(now=1000, seconds=1, wanted=20, bound=64, calls={"POST issues": (1, 4.0)})
    assert adapted(trial, seen) == replace(trial, settles=False)


def test_as_long_as_the_tracker_waits_for_us_more_calls_are_made_and_none_given_up() -> None:
    limit = Limit(8, CallLimitBy.QUEUEING, settles=False, tried_at=0, more_next=False)
    at_once = Seen(now=1000, seconds=1, wanted=64, bound=64, calls={"POST issues": (400, 0.8)})
    trial = adapted(limit, at_once)
    assert (trial.calls, trial.kept) == (20, 8)
    no_more_done = adapted(replace(trial, settles=False), at_once)
    assert (no_more_done.calls, no_more_done.kept) == (50, 20)
    all_that_may_be = replace(limit, calls=64)
    assert adapted(all_that_may_be, at_once).calls == 64
    busy = replace(at_once, calls={"POST issues": (400, 40.0)})
    assert adapted(all_that_may_be, busy).calls == 32


def test_calls_that_get_no_answer_are_under_way_and_open_nothing() -> None:
    limit = Limit(8, CallLimitBy.QUEUEING, settles=False, tried_at=999)
    answered = Seen(now=1000, seconds=5, wanted=64, bound=64, calls={"GET users": (40, 0.4)})
    assert adapted(limit, answered).calls == 16, "the tracker waits for us"
    hanging = replace(answered, calls={"GET users": (40, 0.4), LOST: (8, 40.0)})
    assert adapted(limit, hanging).calls == 8
    trial = replace(limit, calls=16, kept=8, rate=0.1, took={"GET users": 0.01})
    assert adapted(trial, hanging).calls == 8
    nothing_else = replace(answered, calls={LOST: (8, 40.0)})
    assert adapted(limit, nothing_else).calls == 8
    assert adapted(replace(trial, tried_at=0), nothing_else).calls == 8


def test_what_was_found_for_workers_that_are_gone_is_forgotten() -> None:
    seen = Seen(now=1000, seconds=1, wanted=16, bound=16, calls={"POST issues": (40, 4.0)})
    assert adapted(Limit(64, CallLimitBy.BOUND), seen).calls == 16
    found = adapted(Limit(10, CallLimitBy.QUEUEING, kept=20, rate=1), seen)
    assert (found.calls, found.why) == (16, CallLimitBy.BOUND), "more once they are back"
    found = adapted(Limit(20, CallLimitBy.QUEUEING, kept=10, rate=1), seen)
    assert (found.calls, found.why) == (10, CallLimitBy.QUEUEING)


def test_whoever_comes_back_to_work_first_does_not_take_the_others_for_gone() -> None:
    """Workers with nothing to do tell nothing, so that it knows of itself alone."""
    seen = Seen(now=1000, seconds=15, wanted=8, bound=8, calls={})
    assert adapted(Limit(16, CallLimitBy.BOUND), seen).calls == 16
    assert adapted(Limit(8, CallLimitBy.QUEUEING, kept=16, rate=1), seen).calls == 16
    and_before = replace(seen, wanted=0, calls={"POST issues": (20, 2.0)})
    assert adapted(Limit(16, CallLimitBy.BOUND), and_before).calls == 16


def test_where_workers_have_come_more_calls_are_tried_at_once() -> None:
    took = {"POST issues": 0.1}
    limit = Limit(16, CallLimitBy.BOUND, settles=False, took=took, tried_at=999, again_s=60)
    seen = Seen(now=1000, seconds=1, wanted=64, bound=16, calls={"POST issues": (80, 8.0)})
    assert adapted(limit, seen).calls == 16
    more = adapted(limit, replace(seen, bound=64))
    assert (more.calls, more.kept) == (32, 16)
    just_come = adapted(limit, replace(seen, wanted=16, bound=64))
    assert just_come.calls == 16, "what the new one wants is not known yet"
    assert adapted(replace(limit, why=CallLimitBy.QUEUEING), replace(seen, bound=64)).calls == 16
