"""`python -m tests.bench.storm`: whether a storm on one ticket leaves the others unaffected (fairness).

One ticket gets a thousand updates within a second while others log hours; then ten of its events come 1,000 times.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from sqlalchemy import text

from deploy.sandbox.tracker.control import StandIn
from tests.bench.deskbridge import Deskbridge
from tests.bench.errors import BrokenRun
from tests.bench.load import post
from tests.bench.rounds import warm_up
from tests.bench.servers import servers
from tests.bench.workload import Delivery, batch, signed
from tests.support.events import task, task_event, ticket, ticket_event

LATENCY_MS = 20.0
UPDATES, OTHERS, EVERY_S, REDELIVERIES = 1000, 100, 0.03, 10_000
STORMY = 1
"""Id of the ticket with the storm."""

PATIENCE_S = 60.0
WAITED = text("""
    SELECT extract(epoch FROM trace_step.at - journal.received_at) * 1000 AS ms
    FROM trace_step JOIN journal ON journal.ticket_id = trace_step.ticket_id
    WHERE trace_step.code = 'hours_logged' AND journal.ticket_id BETWEEN :first AND :last ORDER BY 1
""")


def measure() -> dict[str, Any]:
    """Take the figures.

    Raises:
        BrokenRun: if something was not forwarded.
    """
    with ExitStack() as stack:
        shared = stack.enter_context(servers())
        side = Deskbridge(shared)
        stack.callback(side.stop)
        side.set_up()
        side.start_producer()
        side.start_workers()
        warm_up(side, shared.stand_in, 100)
        shared.latency(LATENCY_MS)
        # the ticket of the storm has an issue, to which the updates apply
        one = task_event(of_ticket=ticket(STORMY, title="before"), of_task=task(STORMY))
        post(side.port, [signed(one, 1)])
        _wait(side)
        quiet_ms = _others(side)
        storm = _storm()
        before = shared.stand_in.requests()[-1]["n"]
        with ThreadPoolExecutor(1) as pool:
            blowing = pool.submit(post, side.port, storm)
            stormy_ms = _others(side)
            blowing.result()
        puts = sum(one["method"] == "PUT" for one in shared.stand_in.requests(since=before))
        calls = _redelivered(side, shared.stand_in, storm[0])
        return {
            "quiet_p95_ms": quiet_ms,
            "stormy_p95_ms": stormy_ms,
            "puts": puts,
            "calls_of_redeliveries": calls,
        }


def main() -> None:
    """Measure and print."""
    found = measure()
    print(
        f"{UPDATES:,} updates of one ticket: {found['puts']} PUTs; other tickets' time entries take "
        f"{found['stormy_p95_ms']:.0f} ms (95th percentile), before {found['quiet_p95_ms']:.0f} ms"
    )
    print(
        f"{REDELIVERIES:,} redeliveries of one event: {found['calls_of_redeliveries']} calls to the tracker"
    )


def _storm() -> list[Delivery]:
    """Return the updates, ten per request, as a help desk that batches them sends them: each changes the status."""
    made = [
        ticket_event(number / 60, of_ticket=ticket(STORMY, title=f"update {number}", status=1 + number % 3))
        for number in range(1, UPDATES + 1)
    ]
    return [signed(made[start : start + 10], 10) for start in range(0, UPDATES, 10)]


def _others(side: Deskbridge) -> float:
    """Log hours for other tickets, one after the other; return the 95th percentile of their durations in ms."""
    events = batch(OTHERS)
    for delivery in events.deliveries(1):
        post(side.port, [delivery])
        time.sleep(EVERY_S)
    _wait(side)
    idents = [event["ticket"]["id"] for event in events.events]
    with side.engine.connect() as connection:
        waited = connection.scalars(WAITED, {"first": min(idents), "last": max(idents)}).all()
    if len(waited) != OTHERS:
        raise BrokenRun(f"{len(waited)} of {OTHERS} hours were logged")
    return float(waited[int(OTHERS * 0.95)])


def _redelivered(side: Deskbridge, stand_in: StandIn, delivery: Delivery) -> int:
    before = stand_in.requests()[-1]["n"]
    post(side.port, [delivery] * (REDELIVERIES // delivery.events))
    _wait(side)
    return len(stand_in.requests(since=before))


def _wait(side: Deskbridge) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while side.accepted() or side.waiting_messages():
        if time.monotonic() > deadline:
            raise BrokenRun(f"{side.accepted()} events are still pending")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
