"""Four workers of 8 threads apply 200 events for 40 tickets exactly once, each sent three times in random order.

The drill (`make drill`) covers many more kinds of faults, alone and combined.
"""

from __future__ import annotations

import signal
import threading
import time

import pytest

from deploy.embedded.redis import RedisServer
from tests.support.bridge import STATUS_MAP
from tests.support.fleet import Fleet
from tests.support.workload import generate

pytestmark = pytest.mark.promise("OPS-13", "OPS-22")

WORKERS, THREADS = 4, 8
SYNCED_WITHIN_S = 150
SLOW_MS = 400
PAST_ITS_LEASES_S = 8


def trouble(fleet: Fleet, redis_server: RedisServer) -> None:
    """Stop a worker for longer than its leases; meanwhile kill the others and empty Redis."""
    fleet.wait_until_busy()
    stopped, *others = fleet.workers
    stopped.send_signal(signal.SIGSTOP)
    ends = time.monotonic() + PAST_ITS_LEASES_S
    for worker in others:
        worker.kill()
        fleet.add_worker(THREADS)
        redis_server.flush()
        time.sleep(1)
    time.sleep(max(0.0, ends - time.monotonic()))
    stopped.send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_with_workers_killed_and_stopped_redis_emptied_and_two_beats_every_event_has_exactly_one_effect(
    new_fleet: Fleet, redis_server: RedisServer
) -> None:
    fleet, workload = new_fleet.start(workers=WORKERS, threads=THREADS), generate(2)
    second_beat = fleet.add_beat("beat-2")
    fleet.stand_in.settings(latency_ms=SLOW_MS)
    troubling = threading.Thread(target=trouble, args=(fleet, redis_server))
    troubling.start()
    fleet.send(workload.deliveries)
    troubling.join()
    fleet.stand_in.settings(latency_ms=0)
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    state = fleet.stand_in.state()
    differences = workload.differences(state["issues"], state["time_entries"], STATUS_MAP)
    assert not differences, "\n".join([*differences, str(fleet.states()), fleet.logs()])
    assert set(fleet.states()) <= {"done", "skipped", "superseded"}, fleet.states()
    assert fleet.settled(), "no worker was hit in the middle of anything: the test shows nothing"
    assert second_beat.alive, fleet.logs()
