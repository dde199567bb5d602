"""`python -m tests.bench.installations`: whether several installations cost per event what a single one does.

Each has its own database, its own Redis databases and its own mock tracker, which only adds latency. They share one
machine and its capacity. The cost of an event must not change: the sizing of several installations depends on it.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from deploy.sandbox.tracker.control import StandIn
from tests.bench.costs import database_ms, own_ms
from tests.bench.deskbridge import Deskbridge
from tests.bench.rounds import load, sync, warm_up
from tests.bench.servers import STAND_IN, Servers, servers
from tests.bench.workload import batch

COUNTS = (1, 4)
TICKETS, LATENCY_MS = 300, 100.0
"""Tickets of each installation, and the latency of its tracker's answers."""

OPENING = 300
"""Unmeasured tickets before that, until each installation has raised its concurrency limit."""


@dataclass(frozen=True)
class Figure:
    """The result of some installations that ran at the same time.

    Attributes:
        installations: their number.
        rate: events per second, of all installations.
        processor_ms: processor time per event, of their own processes.
        database_ms: processor time per event, of PostgreSQL's processes.
    """

    installations: int
    rate: float
    processor_ms: float
    database_ms: float


def measure() -> list[Figure]:
    """Take the figures, first of a single installation.

    Raises:
        BrokenRun: if an installation lost or duplicated something.
    """
    figures = []
    with ExitStack() as stack:
        shared = stack.enter_context(servers())
        sides: list[tuple[Deskbridge, StandIn]] = []
        for count in COUNTS:
            while len(sides) < count:
                sides.append(_installation(shared, len(sides) + 1, stack))
            figures.append(_together(shared, sides))
    return figures


def main() -> None:
    """Measure and print."""
    for one in measure():
        print(
            f"installations side by side: {one.installations}; {one.processor_ms:.1f} ms of processor time per event "
            f"and {one.database_ms:.1f} ms of PostgreSQL's; {one.rate:.0f} events/s in all"
        )


def _installation(shared: Servers, number: int, stack: ExitStack) -> tuple[Deskbridge, StandIn]:
    stand_in = StandIn(arguments=STAND_IN)
    stack.callback(stand_in.stop)
    side = Deskbridge(replace(shared, stand_in=stand_in.start()), number)
    stack.callback(side.stop)
    side.set_up()
    side.start_producer()
    side.start_workers()
    warm_up(side, stand_in, 50)
    return side, stand_in


def _together(shared: Servers, sides: list[tuple[Deskbridge, StandIn]]) -> Figure:
    """Have every installation forward the same number of tickets at once, after some unmeasured ones."""
    figure = Figure(0, 0, 0, 0)
    for tickets in (OPENING, TICKETS):
        loaded = [batch(tickets) for _ in sides]
        for (side, stand_in), events in zip(sides, loaded, strict=True):
            stand_in.settings(latency_ms=0.0)
            load(side, stand_in, events)
            stand_in.settings(latency_ms=LATENCY_MS)
        processor, database, began = _processor(sides), database_ms(shared), time.monotonic()
        with ThreadPoolExecutor(len(sides)) as pool:
            list(
                pool.map(
                    lambda one: sync(*one),
                    [(*one, events) for one, events in zip(sides, loaded, strict=True)],
                )
            )
        took, count = time.monotonic() - began, tickets * len(sides)
        used, of_database = _processor(sides) - processor, database_ms(shared) - database
        figure = Figure(len(sides), count / took, used / count, of_database / count)
    return figure


def _processor(sides: list[tuple[Deskbridge, StandIn]]) -> float:
    return sum(own_ms(side) for side, _ in sides)


if __name__ == "__main__":
    main()
