"""The measures, their goals, and the run that takes them: rounds of both sides in turn, medians."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from tests.bench.costs import Costs, count_costs
from tests.bench.deskbridge import Deskbridge
from tests.bench.plain import Plain
from tests.bench.rounds import accept, load, sync, warm_up
from tests.bench.servers import Servers, servers
from tests.bench.side import THREADS, WORKERS, Side
from tests.bench.workload import batch

REALISTIC_MS = 20.0


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        rounds: of each side for each measure.
        accept_s: seconds of posting in a round.
        accept_rate: events per second that no side accepts one by one; requests for so many are prepared.
        accept_array_rate: the same for arrays.
        tickets: how many are synced in a round.
    """

    rounds: int
    accept_s: float
    tickets: int
    accept_rate: int = 2500
    accept_array_rate: int = 12000


FULL = Size(rounds=3, accept_s=2.5, tickets=300)
QUICK = Size(rounds=1, accept_s=0.5, tickets=40)


@dataclass(frozen=True)
class Measure:
    """One figure of both sides.

    Attributes:
        name: what is measured.
        goal: the least ratio of deskbridge to the peer.
        figures: events per second of each round, by side.
    """

    name: str
    goal: float
    figures: dict[str, list[float]] = field(default_factory=dict)

    def of(self, side: str) -> float:
        """Return a side's median."""
        return median(self.figures[side])

    @property
    def ratio(self) -> float:
        """Deskbridge's median over the peer's."""
        return self.of(Deskbridge.name) / self.of(Plain.name)

    @property
    def is_met(self) -> bool:
        """Whether the goal is met."""
        return self.ratio >= self.goal


@dataclass(frozen=True)
class Outcome:
    """What a run found: the measures, and each side's costs of accepting and of forwarding one event."""

    measures: list[Measure]
    costs: dict[str, tuple[Costs, Costs]]


def goals() -> list[Measure]:
    """Return the measures without figures.

    The goals are bounds against regressions.
    """
    return [
        Measure("accepted, one event per request", 0.5),
        Measure("accepted, arrays of 50", 0.5),
        Measure("synced, tracker answers at once", 0.3),
        Measure(f"synced, tracker answers after {REALISTIC_MS:g} ms", 0.5),
    ]


def run(size: Size, say: Callable[[str], None]) -> Outcome:
    """Take every measure.

    Args:
        size: how much.
        say: is told what is being done.

    Raises:
        BrokenRun: a side lost or doubled something.
    """
    single, arrays, at_once, realistic = measures = goals()
    with ExitStack() as stack:
        say("starting PostgreSQL, Redis and the stand-in tracker")
        shared = stack.enter_context(servers())
        sides: list[Side] = [Deskbridge(shared), Plain(shared)]
        for side in sides:
            stack.callback(side.stop)
            side.set_up()
            side.start_producer()
        _each(size, sides, single, say, lambda side: _accept(side, size, 1, size.accept_rate))
        _each(size, sides, arrays, say, lambda side: _accept(side, size, 50, size.accept_array_rate))
        say(f"starting {WORKERS} workers of {THREADS} threads for each side, and warming up")
        for side in sides:
            side.start_workers()
            warm_up(side, shared.stand_in, 4 * WORKERS * THREADS)
            side.freeze()
        _each(size, sides, at_once, say, lambda side: _sync(shared, side, size, 0.0))
        _each(size, sides, realistic, say, lambda side: _sync(shared, side, size, REALISTIC_MS))
        say("counting what one event costs")
        costs = {}
        for side in sides:
            side.thaw()
            costs[side.name] = count_costs(shared, side, min(100, size.tickets))
            side.freeze()
        return Outcome(measures, costs)


def _each(
    size: Size, sides: list[Side], measure: Measure, say: Callable[[str], None], take: Callable[[Side], float]
) -> None:
    """Take rounds in turn, the first side first in one and last in the next, so that a drift hits both alike."""
    for number in range(size.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            figure = take(side)
            measure.figures.setdefault(side.name, []).append(figure)
            say(f"{measure.name}: {side.name} {figure:.0f}/s")


def _accept(side: Side, size: Size, per_request: int, rate: int) -> float:
    return accept(side, batch(int(rate * size.accept_s)), per_request, size.accept_s)


def _sync(shared: Servers, side: Side, size: Size, latency_ms: float) -> float:
    events = batch(size.tickets)
    shared.latency(0.0)
    side.thaw()
    load(side, events)
    shared.latency(latency_ms)
    try:
        return sync(side, shared.stand_in, events)
    finally:
        shared.latency(0.0)
        side.freeze()
