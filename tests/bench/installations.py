"""`python -m tests.bench.installations [--json]`: whether several installations behave as one does, several times.

Each has its own database, its own numbers of Redis and its own tracker, which is nothing but latency; they share the
machine, and so what it can do. What an event costs must stay as it is: the sizing of many rests on it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace

from rich.console import Console

from deploy.sandbox.tracker.control import StandIn
from tests.bench.costs import children, processor_ms
from tests.bench.deskbridge import Deskbridge
from tests.bench.report import Row, show
from tests.bench.rounds import load, sync, warm_up
from tests.bench.servers import STAND_IN, Servers, servers
from tests.bench.workload import batch

COUNTS = (1, 4)
TICKETS, LATENCY_MS = 300, 100.0
"""Tickets of each installation, and what each of its tracker's answers takes."""

OPENING = 300
"""So many before, unmeasured, until each has opened up."""

WORST_RATIO = 1.15


@dataclass(frozen=True)
class Figure:
    """What so many installations did.

    Attributes:
        installations: so many, side by side.
        rate: events per second, of all of them.
        processor_ms: per event, of their own processes.
        database_ms: per event, of PostgreSQL's.
    """

    installations: int
    rate: float
    processor_ms: float
    database_ms: float


def measure() -> list[Figure]:
    """Take the figures, of one installation first.

    Raises:
        BrokenRun: one of them lost or doubled something.
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


def rows(figures: list[Figure]) -> list[Row]:
    """Return the lines of the table."""
    one = figures[0]
    found = []
    for many in figures[1:]:
        ratio = (many.processor_ms + many.database_ms) / (one.processor_ms + one.database_ms)
        name = f"{many.installations} installations: processor and PostgreSQL, ms per event (before: one)"
        ours, alone = many.processor_ms + many.database_ms, one.processor_ms + one.database_ms
        limits = f"{many.rate:.0f} events/s in all, one alone {one.rate:.0f}: they share the processors"
        goal, ok = f"≤ {WORST_RATIO:g}", ratio <= WORST_RATIO
        found.append(Row("sizing", name, f"{ours:.1f}", f"{alone:.1f}", f"{ratio:.2f}", goal, ok, limits))
    return found


def main() -> int:
    """Measure, print, and return 1 where the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.installations", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    figures = measure()
    found = rows(figures)
    if parser.parse_args().json:
        document = {"rows": [asdict(row) for row in found], "figures": [asdict(one) for one in figures]}
        print(json.dumps(document, indent=2))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else 160))
    return 1 if any(row.ok is False for row in found) else 0


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
    """Have all of them forward as many tickets at the same time, and some unmeasured before."""
    figure = Figure(0, 0, 0, 0)
    for tickets in (OPENING, TICKETS):
        loaded = [batch(tickets) for _ in sides]
        for (side, stand_in), events in zip(sides, loaded, strict=True):
            stand_in.settings(latency_ms=0.0)
            load(side, stand_in, events)
            stand_in.settings(latency_ms=LATENCY_MS)
        processor, database, began = _processor(sides), _database(shared), time.monotonic()
        with ThreadPoolExecutor(len(sides)) as pool:
            list(
                pool.map(
                    lambda one: sync(*one),
                    [(*one, events) for one, events in zip(sides, loaded, strict=True)],
                )
            )
        took, count = time.monotonic() - began, tickets * len(sides)
        used, of_database = _processor(sides) - processor, _database(shared) - database
        figure = Figure(len(sides), count / took, used / count, of_database / count)
    return figure


def _processor(sides: list[tuple[Deskbridge, StandIn]]) -> float:
    return sum(processor_ms(child.pid) for side, _ in sides for child in [*side.producers, *side.workers])


def _database(shared: Servers) -> float:
    return sum(map(processor_ms, children(shared.postgres.child.pid)))


if __name__ == "__main__":
    sys.exit(main())
