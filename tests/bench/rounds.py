"""One round of each measure. Every round is verified: a broken run raises an error instead of giving a figure."""

from __future__ import annotations

import http.client
import json
import time
from statistics import median
from urllib.parse import urlsplit

from deploy.sandbox.tracker.control import StandIn
from tests.bench.errors import BrokenRun
from tests.bench.load import Posted, post
from tests.bench.side import Side
from tests.bench.workload import Batch, batch

SYNC_TIMEOUT_S = 60.0
POLL_S = 0.02
LEFT_ALONE_S = 0.02
QUERY = "/time_entries.json?limit=1"


def accept(side: Side, events: Batch, per_request: int, seconds: float) -> Posted:
    """Have a side accept events while its workers are not running.

    Args:
        side: side whose producer is running.
        events: more events than it can accept in that time.
        per_request: 1, or the length of the posted arrays.
        seconds: duration of posting.

    Raises:
        BrokenRun: if it has not stored exactly what it accepted.
    """
    posted = post(side.port, events.deliveries(per_request), seconds=seconds)
    side.wait_until_notified()
    kept = side.accepted()
    side.forget()
    if kept != posted.events:
        raise BrokenRun(f"{side.name} accepted {posted.events} events and has {kept}")
    return posted


def load(side: Side, stand_in: StandIn, events: Batch) -> None:
    """Have a side accept events while its workers are frozen.

    The tracker forgets earlier rounds first: otherwise counting its time entries would take longer in each round.
    """
    stand_in.forget()
    side.freeze_workers()
    post(side.port, events.deliveries(50))
    side.wait_until_notified()


def sync(side: Side, stand_in: StandIn, events: Batch) -> float:
    """Resume the workers; return the events per second until the tracker held every time entry.

    Args:
        side: side that has accepted `events`.
        stand_in: the tracker.
        events: events to sync.

    Raises:
        BrokenRun: if the tracker does not hold each event exactly once, or not in time.
    """
    address = urlsplit(stand_in.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        wanted = _total(connection, stand_in) + len(events.events)
        started = time.monotonic()
        side.thaw()
        while _total(connection, stand_in) < wanted:
            if time.monotonic() - started > SYNC_TIMEOUT_S:
                raise BrokenRun(f"{side.name} did not forward {events.name} in {SYNC_TIMEOUT_S:g} s")
            time.sleep(POLL_S)
        took = time.monotonic() - started
    finally:
        connection.close()
    _wait_until_idle(side)
    if differences := events.differences(stand_in.state()):
        raise BrokenRun(f"{side.name}: {'; '.join(differences)}")
    return len(events.events) / took


def first_time_entry(side: Side, stand_in: StandIn, waiting: Batch) -> None:
    """Start a worker and wait until the tracker holds the time entry of a batch.

    Raises:
        BrokenRun: if it does not in time.
    """
    side.start_worker()
    ends = time.monotonic() + SYNC_TIMEOUT_S
    while waiting.differences(stand_in.state()):
        if time.monotonic() > ends:
            raise BrokenRun(f"{side.name} forwarded nothing after its start")
        time.sleep(POLL_S)


def one_at_a_time(side: Side, stand_in: StandIn, size: int) -> float:
    """Return the milliseconds from posting an event to the request that creates its time entry.

    The tracker records when a request arrives. Polling it all the time would limit the precision to the interval, and
    would take processor time from the measured processes.

    Args:
        side: side with an empty backlog.
        stand_in: the tracker.
        size: number of events, of which the median is returned.

    Raises:
        BrokenRun: if the tracker does not hold each event exactly once, or not in time.
    """
    stand_in.forget()
    events, posted = batch(size), list[float]()
    for number, delivery in enumerate(events.deliveries(1), start=1):
        posted.append(time.monotonic())
        post(side.port, [delivery])
        while len(reached := _time_entries(stand_in)) < number:
            if time.monotonic() - posted[-1] > SYNC_TIMEOUT_S:
                raise BrokenRun(f"{side.name} did not forward an event in {SYNC_TIMEOUT_S:g} s")
    _wait_until_idle(side)
    if differences := events.differences(stand_in.state()):
        raise BrokenRun(f"{side.name}: {'; '.join(differences)}")
    return median((at - began) * 1000 for began, at in zip(posted, reached, strict=True))


def _time_entries(stand_in: StandIn) -> list[float]:
    """Return the arrival times of the requests that created time entries, after a pause without polling."""
    time.sleep(LEFT_ALONE_S)
    return [
        one["at"]
        for one in stand_in.requests()
        if (one["path"], one["status"]) == ("/time_entries.json", 201)
    ]


def warm_up(side: Side, stand_in: StandIn, size: int) -> None:
    """Open every thread's connections and create the memberships, so that no round includes that cost."""
    events = batch(size)
    post(side.port, events.deliveries(50))
    _wait_until_done(side, stand_in, events)


def _wait_until_done(side: Side, stand_in: StandIn, events: Batch) -> None:
    deadline = time.monotonic() + SYNC_TIMEOUT_S
    while differences := events.differences(stand_in.state()):
        if time.monotonic() > deadline:
            raise BrokenRun(f"{side.name}: {'; '.join(differences)}")
        time.sleep(0.1)
    _wait_until_idle(side)


def _wait_until_idle(side: Side) -> None:
    """Wait until no work is left: the last links are stored after the tracker's last answer."""
    deadline = time.monotonic() + SYNC_TIMEOUT_S
    while side.accepted() or side.waiting_messages():
        if time.monotonic() > deadline:
            raise BrokenRun(f"{side.name} still has {side.accepted()} events that the tracker holds already")
        time.sleep(0.05)


def _total(connection: http.client.HTTPConnection, stand_in: StandIn) -> int:
    connection.request("GET", QUERY, headers={"X-Redmine-API-Key": stand_in.api_key})
    return int(json.loads(connection.getresponse().read())["total_count"])
