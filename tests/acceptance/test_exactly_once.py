"""200 events for 40 tickets, each three times, shuffled, to 4 workers of 8 threads: nothing lost, nothing twice."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import pytest

from deploy.embedded.redis import RedisServer
from tests.support.bridge import STATUS_MAP
from tests.support.fleet import Fleet
from tests.support.workload import Workload, generate

WORKERS, THREADS = 4, 8
DRAINED_WITHIN_S = 90
SLOW_MS = 400


@pytest.fixture
def fleet(new_fleet: Fleet) -> Fleet:
    """A running fleet over a stand-in tracker of its own, a process as well."""
    return new_fleet.start(workers=WORKERS, threads=THREADS)


def forward(fleet: Fleet, workload: Workload, meanwhile: Callable[[], None] | None = None) -> None:
    """Send the workload, do something meanwhile, wait until all is done, and compare."""
    thread = threading.Thread(target=meanwhile) if meanwhile else None
    if thread:
        thread.start()
    fleet.send(workload.deliveries)
    if thread:
        thread.join()
    took = fleet.wait_until_drained(DRAINED_WITHIN_S)
    state = fleet.stand_in.state()
    differences = workload.differences(state["issues"], state["time_entries"], STATUS_MAP)
    assert not differences, "\n".join([*differences, str(fleet.states()), fleet.logs()])
    assert set(fleet.states()) <= {"done", "skipped", "superseded"}, fleet.states()
    print(f"drained {took:.1f} s after the last event; {fleet.states()}; {fleet.settled()}")


@pytest.mark.slow
def test_every_event_has_exactly_one_effect(fleet: Fleet) -> None:
    forward(fleet, generate(1))


@pytest.mark.slow
def test_killing_a_worker_every_second_loses_nothing(fleet: Fleet) -> None:
    fleet.stand_in.settings(latency_ms=SLOW_MS)

    def kill_some() -> None:
        fleet.wait_until_busy()
        for _ in range(8):
            fleet.workers.pop(0).kill()
            fleet.add_worker(THREADS)
            time.sleep(1)

    forward(fleet, generate(2), kill_some)
    assert fleet.settled(), "no worker was killed in the middle of anything: the test shows nothing"


@pytest.mark.slow
def test_flushing_redis_midway_loses_nothing(fleet: Fleet, redis_server: RedisServer) -> None:
    fleet.stand_in.settings(latency_ms=SLOW_MS)

    def flush() -> None:
        fleet.wait_until_busy()
        for _ in range(4):
            time.sleep(0.7)
            redis_server.flush()

    forward(fleet, generate(3), flush)


@pytest.mark.slow
def test_a_worker_stopped_past_its_leases_and_continued_loses_nothing(fleet: Fleet) -> None:
    fleet.stand_in.settings(latency_ms=SLOW_MS)

    def stop_one() -> None:
        fleet.wait_until_busy()
        for worker in fleet.workers[:2]:
            worker.send_signal(signal.SIGSTOP)
        time.sleep(8)
        for worker in fleet.workers[:2]:
            worker.send_signal(signal.SIGCONT)

    forward(fleet, generate(4), stop_one)
    assert fleet.settled(), "no worker was stopped in the middle of anything: the test shows nothing"
