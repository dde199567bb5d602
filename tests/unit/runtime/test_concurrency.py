"""Simulated workers adapt the number of their concurrent calls to the capacity of the tracker."""

from __future__ import annotations

import pytest

from shared.notices.limits import CallLimitBy
from tests.unit.runtime.queueing_tracker import Simulation
from worker.runtime.concurrency import PROBE_EVERY_S, ConcurrencyLimit

REDMINE = {"POST issues": 0.05, "POST time_entries": 0.02}
"""Seconds per call, measured with a real Redmine, whose processes each handle one request at a time."""

MANY = 1000


def capacity(servers: int) -> float:
    """Return how many calls per second so many servers answer, with the simulation's jitter."""
    return servers / (sum(REDMINE.values()) / len(REDMINE) * 1.046)


@pytest.mark.parametrize(("workers", "start"), [(1, 8), (2, 4), (4, 2), (20, 1)])
def test_workers_begin_with_eight_calls_together_and_with_one_each_at_least(workers: int, start: int) -> None:
    limit = ConcurrencyLimit(32)
    limit.share_with(workers)
    assert limit.size == start


def test_a_worker_begins_with_no_more_calls_than_its_ceiling() -> None:
    assert ConcurrencyLimit(4).size == 4


def test_a_worker_that_knows_the_tracker_keeps_its_limit_if_others_come() -> None:
    limit = ConcurrencyLimit(32)
    for _ in range(16):
        limit.add("POST issues", 0.1)
    limit.share_with(8)
    assert limit.size == 8


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("servers", [1, 2, 4, 8, 16, 40])
def test_the_limit_settles_near_what_the_tracker_answers_at_once_and_uses_all_of_it(
    workers: int, servers: int
) -> None:
    simulation = Simulation(servers, REDMINE, workers=workers, ceiling=64 // workers)
    simulation.run(60)
    least = max(servers, workers)
    assert servers * 0.9 < simulation.run(40) < least * 2 + 5
    assert simulation.answered > 0.97 * 40 * capacity(servers)


def test_a_redmine_of_one_process_is_given_few_calls_within_some_hundred() -> None:
    simulation = Simulation(1, REDMINE)
    simulation.run_until_answered(400)
    assert simulation.size <= 3
    assert simulation.limits[0].current.why is CallLimitBy.QUEUEING


@pytest.mark.parametrize("servers", [1, 4, 8])
def test_calls_that_are_on_their_way_through_the_network_do_not_queue(servers: int) -> None:
    simulation = Simulation(servers, REDMINE, network_s=0.1, ceiling=64)
    simulation.run(60)
    busy = servers * (0.1 + 0.035) / 0.035
    assert busy < simulation.run(120) < 1.5 * busy + 4
    assert simulation.answered > 0.95 * 120 * capacity(servers)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_a_tracker_that_scales_is_given_all_calls_that_the_workers_can_make(
    workers: int, seconds: float
) -> None:
    simulation = Simulation(MANY, {"POST issues": seconds}, workers=workers, ceiling=64 // workers)
    simulation.run_until_answered(2000)
    assert simulation.size > 0.9 * 64
    assert CallLimitBy.BOUND in {one.current.why for one in simulation.limits}
    assert simulation.run(500 * seconds) > 0.9 * 64


def test_calls_that_differ_much_are_not_taken_for_a_queue() -> None:
    simulation = Simulation(MANY, {"POST issues": 0.1}, workers=2, jitter=0.8)
    simulation.run(20)
    assert simulation.run(120) > 0.7 * 64


@pytest.mark.parametrize(("slowness", "seconds"), [(10.0, 240), (0.2, 5)])
def test_a_tracker_that_takes_longer_or_less_for_everybody_has_its_calls_back_within_minutes(
    slowness: float, seconds: float
) -> None:
    simulation = Simulation(MANY, {"POST issues": 0.2}, workers=2)
    simulation.run(PROBE_EVERY_S)
    simulation.slowness = slowness
    simulation.run(seconds)
    assert simulation.run(20) > 0.9 * 64


@pytest.mark.parametrize("workers", [1, 2])
def test_a_tracker_that_takes_longer_for_everybody_has_its_calls_back_before_the_next_probe(
    workers: int,
) -> None:
    """With a sixth of the calls, each takes as long as before, so the calls did not queue behind each other."""
    simulation = Simulation(MANY, {"POST issues": 0.02}, workers=workers, ceiling=64 // workers)
    simulation.run(21)
    simulation.slowness = 2.5
    simulation.run(4)  # the next probe
    simulation.slowness = 12.5
    simulation.run(14)
    assert simulation.run(10) > 0.9 * 64


@pytest.mark.slow
def test_a_busy_machine_does_not_take_the_calls_away_for_long() -> None:
    """Every few seconds, all calls take a different time, up to three times as long."""
    simulation = Simulation(MANY, {"POST issues": 0.02}, workers=2)
    simulation.run(5)
    allowed = 0.0
    for second in range(0, 120, 2):
        simulation.slowness = (1.0, 1.5, 1.0, 3.0, 1.2, 2.0)[second // 2 % 6]
        allowed += simulation.run(2) / 60
    assert allowed > 0.4 * 64


@pytest.mark.parametrize(("before", "after"), [(1, 40), (40, 1), (16, 2)])
def test_a_tracker_that_answers_more_or_fewer_than_before_is_given_as_many(before: int, after: int) -> None:
    simulation = Simulation(before, REDMINE, ceiling=64)
    simulation.run(60)
    simulation.now_answers(after)
    simulation.run(90)
    assert after * 0.9 < simulation.run(60) < after * 1.5 + 4


def test_calls_that_fail_halve_the_limit_down_to_one_and_it_recovers() -> None:
    simulation = Simulation(4, REDMINE)
    simulation.run(30)
    before = simulation.size
    simulation.is_away = True
    simulation.run(6)
    assert simulation.size == before // 2
    assert simulation.limits[0].current.why is CallLimitBy.ERRORS
    simulation.run(30)
    assert simulation.size == 1
    simulation.is_away = False
    simulation.run_until_answered(400)
    assert simulation.size >= 4


def test_calls_that_were_begun_together_and_fail_halve_the_limit_once() -> None:
    now = [100.0]
    limit = ConcurrencyLimit(8, lambda: now[0])
    for _ in range(8):
        now[0] += 0.01
        limit.add("lost", 5.0, failed=True)
    assert limit.size == 4


def test_a_limit_that_no_call_waits_for_does_not_grow() -> None:
    simulation = Simulation(MANY, {"POST issues": 0.02})
    simulation.is_backlog = False
    simulation.run(20)
    assert simulation.size == 8
    simulation.is_backlog = True
    simulation.run(20)
    assert simulation.size == 32


def test_calls_that_are_over_in_a_moment_may_wait_for_each_other() -> None:
    """The wait is too short to notice, and the work that tickets share gets cheaper."""
    simulation = Simulation(1, {"POST issues": 0.0005}, network_s=0.001)
    simulation.run(5)
    assert simulation.run(20) > 10


def test_a_probe_is_short_and_changes_neither_the_limit_nor_its_reason() -> None:
    now = [PROBE_EVERY_S * 100]
    limit = ConcurrencyLimit(32, lambda: now[0])

    def answer(calls: int, seconds: float) -> None:
        for _ in range(calls):
            now[0] += seconds / limit.size
            limit.want()
            limit.add("POST issues", seconds)

    answer(24, 0.1)
    assert limit.size == 16
    before = limit.current
    answer(48, 0.2)
    assert (limit.size, limit.current.size) == (1, before.size), "a probe"
    answer(12, 0.2)
    assert limit.size == 32, "as long as ever, so that they did not queue"
    answer(200, 0.3)
    assert limit.size > 1, "the next probe comes a minute later at the earliest"
    now[0] += PROBE_EVERY_S
    answer(1, 0.3)
    assert limit.size <= 2, "and by the clock, for all workers at the same time"


def test_a_probe_that_sees_other_operations_alone_does_not_open_the_limit() -> None:
    now = [PROBE_EVERY_S * 100]
    limit = ConcurrencyLimit(32, lambda: now[0])

    def answer(operation: str, calls: int, seconds: float) -> None:
        for _ in range(calls):
            now[0] += seconds / limit.size
            limit.want()
            limit.add(operation, seconds)

    answer("POST issues", 24, 0.1)
    while limit.size > 1:  # until the next probe
        answer("POST issues", 1, 0.2)
    while limit.size == 1:
        answer("PUT issues", 1, 0.1)
    assert 16 <= limit.size < 32
