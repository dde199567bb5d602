"""The measures of the comparison, their goals, and the run that takes them: rounds of both sides in turn, medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from statistics import median

from tests.bench.costs import Costs, count_costs, processor_ms
from tests.bench.deskbridge import Deskbridge
from tests.bench.errors import BrokenRun
from tests.bench.limits import Limits, flush_ms
from tests.bench.load import post
from tests.bench.memory import resident_mb
from tests.bench.plain import Plain
from tests.bench.rounds import accept, load, one_at_a_time, sync, warm_up
from tests.bench.servers import Servers, servers
from tests.bench.side import THREADS, WORKERS, Side
from tests.bench.workload import Batch, batch

DEFAULT_GOALS = {0.0: 2.5, 20.0: 2.5, 100.0: 3.5}
"""By the tracker's latency in milliseconds, with each side's default number of calls at once."""

ALIKE_GOALS = {20.0: 1.7, 100.0: 1.05}
"""The same with as many calls on both sides."""

ARRAY, WARM = 50, 200
CALLS = 2.0
LOADED_IN_S, STILL_MS, STILL_S = 10.0, 30.0, 0.3
"""All are started when they use less processor time than STILL_MS within STILL_S, or after so many seconds at most."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        rounds: of each side for each measure.
        accept_s: seconds of posting in a round.
        tickets: how many are synced in a round, by the tracker's latency in milliseconds: of fewer, much of a round is
            its beginning and its end.
        of_eight_calls: the same where workers make eight calls each, whose rounds take longer all the same.
        single: events that are sent one at a time.
        settle_s: seconds of work before the rounds of each latency, which are not measured: until as many calls are
            made as the tracker takes, and it was tried once whether fewer would do.
        counted: how many are synced where it is counted what one costs.
        accept_rate: events per second that no side accepts one by one; requests for so many are prepared.
        accept_array_rate: the same for arrays.
    """

    rounds: int
    accept_s: float
    tickets: Mapping[float, int]
    of_eight_calls: Mapping[float, int]
    single: int
    settle_s: Mapping[float, float]
    counted: int
    accept_rate: int = 2500
    accept_array_rate: int = 12000


TICKETS = {0.0: 2400, 20.0: 1200, 100.0: 700}
OF_EIGHT_CALLS = {0.0: 1200, 20.0: 1000, 100.0: 600}
SETTLE_S = {0.0: 4.0, 20.0: 4.0, 100.0: 10.0}
FULL = Size(
    rounds=3,
    accept_s=2,
    tickets=TICKETS,
    of_eight_calls=OF_EIGHT_CALLS,
    single=40,
    settle_s=SETTLE_S,
    counted=300,
)
QUICK = Size(
    rounds=1,
    accept_s=0.5,
    tickets=dict.fromkeys(TICKETS, 40),
    of_eight_calls=dict.fromkeys(TICKETS, 40),
    single=2,
    settle_s=dict.fromkeys(SETTLE_S, 0.0),
    counted=40,
)


@dataclass
class Measure:
    """One figure of both sides.

    Attributes:
        name: what is measured, with its unit.
        goal: the least that it may be, or the most.
        at_most: whether the goal is the most.
        alone: whether deskbridge's own figure is judged, and not its ratio to the peer's.
        figures: of each round, by side.
        limits: what limited the rounds of deskbridge.
    """

    name: str
    goal: float
    at_most: bool = False
    alone: bool = False
    figures: dict[str, list[float]] = field(default_factory=dict)
    limits: str = ""

    def of(self, side: str) -> float:
        """Return a side's median."""
        return median(self.figures[side])

    def note(self, side: Side, *figures: float) -> None:
        """Keep figures of a side."""
        self.figures.setdefault(type(side).name, []).extend(figures)

    @property
    def judged(self) -> float:
        """What the goal is for: deskbridge's figure, or its ratio to the peer's."""
        own = self.of(Deskbridge.name)
        return own if self.alone else own / self.of(Plain.name)

    @property
    def is_met(self) -> bool:
        """Whether the goal is met."""
        return self.judged <= self.goal if self.at_most else self.judged >= self.goal


@dataclass
class Outcome:
    """What a run found: the measures, and each side's costs of accepting and of forwarding one event."""

    measures: list[Measure] = field(default_factory=list)
    costs: dict[str, tuple[Costs, Costs]] = field(default_factory=dict)

    def measure(self, name: str, goal: float, *, at_most: bool = False, alone: bool = False) -> Measure:
        """Begin a measure."""
        self.measures.append(Measure(name, goal, at_most, alone))
        return self.measures[-1]


def run(size: Size, say: Say) -> Outcome:
    """Take every measure.

    Args:
        size: how much.
        say: is told what is being done.

    Raises:
        BrokenRun: a side lost or doubled something.
    """
    outcome = Outcome()
    with ExitStack() as stack:
        say("starting PostgreSQL, Redis and the stand-in tracker")
        shared = stack.enter_context(servers())
        # the second deskbridge makes as many calls at once as the peer
        ours, plain, alike = Deskbridge(shared), Plain(shared), Deskbridge(shared, 3)
        sides: list[Side] = [ours, plain, alike]
        for side in sides:
            stack.callback(side.stop)
        try:
            _starting_producers(size, shared, [ours, plain], outcome, say)
            _accepting(size, shared, [ours, plain], outcome, say)  # before a worker could take a message
            _starting_workers(size, shared, [ours, plain], outcome, say)
            _starting_alike(shared, alike, plain, say)
            _syncing(size, shared, sides, outcome, say)
            ours.freeze()
            _one_at_a_time(size, shared, [alike, plain], outcome, say)
            _counting(size, shared, [alike, plain], outcome, say)
            return outcome
        except BrokenRun as broken:
            logs = "\n".join(side.log_ends() for side in sides)
            raise BrokenRun(f"{broken}\n{logs}") from None


def _starting_producers(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    measure = outcome.measure("producer: start, s", 1.2, at_most=True, alone=True)
    for side in sides:
        side.set_up()

    def start(side: Side) -> float:
        _only(side, sides)
        side.stop_producers()
        return _timed(side.start_producer)

    _each(size, shared, sides, {sides[0]: measure}, say, start)
    measure.limits = f"{processor_ms(sides[0].producers[0].pid) / 1000:.1f} s of processor time"


def _starting_workers(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    """Start a worker, which is there once it has forwarded what waits for it; at the end the others, too."""
    start = outcome.measure("a worker: start to the first event forwarded, s", 1.2, at_most=True, alone=True)
    memory = outcome.measure("resident memory, the largest process, MB", 100, at_most=True, alone=True)

    def first(side: Side) -> float:
        _only(side, sides)
        side.stop_workers()
        waiting = batch(1)
        post(side.port, waiting.deliveries(1))
        return _timed(lambda: _first(shared, side, waiting))

    _each(size, shared, sides, {sides[0]: start}, say, first)
    start.limits = f"{processor_ms(sides[0].workers[0].pid) / 1000:.1f} s of processor time"
    for side in sides:
        say(f"starting {side.name}: {WORKERS} workers of {THREADS} threads")
        _only(side, sides)
        side.start_workers()
        _until_loaded(side)
        warm_up(side, shared.stand_in, 4 * WORKERS * THREADS)
        sizes = {child.name: resident_mb(child.pid) for child in [*side.producers, *side.workers]}
        memory.note(side, max(sizes.values()))
        if side is sides[0]:
            memory.limits = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items())
        side.freeze()


def _until_loaded(side: Side) -> None:
    """Wait until no process of a side works any more: those that were just started have loaded everything then."""
    ends = time.monotonic() + LOADED_IN_S
    while _used_while_waiting(side) >= STILL_MS and time.monotonic() < ends:
        pass


def _used_while_waiting(side: Side) -> float:
    """Return the milliseconds of processor time that a side's processes use within STILL_S."""
    before = sum(processor_ms(one.pid) for one in side.workers)
    time.sleep(STILL_S)
    return sum(processor_ms(one.pid) for one in side.workers) - before


def _first(shared: Servers, side: Side, waiting: Batch) -> None:
    side.start_worker()
    before = time.monotonic()
    while waiting.differences(shared.stand_in.state()):
        if time.monotonic() - before > 60:
            raise BrokenRun(f"{side.name} forwarded nothing after its start")
        time.sleep(0.02)


def _accepting(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    single = outcome.measure("accepted events/s, one by one", 2.5)
    slowest = outcome.measure("accepted one by one, p99 in ms", 25, at_most=True, alone=True)
    arrays = outcome.measure(f"accepted events/s, arrays of {ARRAY}", 8)

    for side in sides:  # what comes first loads what it needs
        _only(side, sides)
        accept(side, batch(WARM), 1, size.accept_s)

    def take(per_request: int, rate: int, measure: Measure) -> Callable[[Side], float]:
        def one(side: Side) -> float:
            _only(side, sides)
            posted = accept(side, batch(int(rate * size.accept_s)), per_request, size.accept_s)
            if measure is single:
                slowest.note(side, posted.p99_ms)
            return posted.rate

        return one

    _each(size, shared, sides, {sides[0]: single}, say, take(1, size.accept_rate, single))
    _each(size, shared, sides, {sides[0]: arrays}, say, take(ARRAY, size.accept_array_rate, arrays))
    slowest.limits = single.limits


def _starting_alike(shared: Servers, alike: Side, plain: Side, say: Say) -> None:
    """Start another deskbridge, which makes as many calls at once as the peer."""
    say(f"starting a deskbridge whose workers make {THREADS} calls each")
    _only(alike, [plain])
    alike.set_up()
    alike.start_producer()
    alike.start_workers(THREADS)
    warm_up(alike, shared.stand_in, 4 * WORKERS * THREADS)
    alike.freeze()


def _syncing(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    """Have each of the three forward in turn; the peer's rounds are for both of ours."""
    ours, plain, alike = sides
    for latency_ms, goal in DEFAULT_GOALS.items():

        def take(side: Side, latency_ms: float = latency_ms) -> float:
            _only(side, sides)
            tickets = size.tickets if side is ours else size.of_eight_calls
            return _sync(shared, side, tickets[latency_ms], latency_ms)

        name = f"synced events/s, tracker answers after {latency_ms:g} ms"
        measures = {ours: outcome.measure(name, goal)}
        if latency_ms in ALIKE_GOALS:
            how = f"{name}, {WORKERS} × {THREADS} calls each"
            measures[alike] = outcome.measure(how, ALIKE_GOALS[latency_ms])
        for side in measures:
            _only(side, sides)
            _settle(size, shared, side, latency_ms)
        _each(size, shared, [ours, plain, *([alike] if alike in measures else [])], measures, say, take)


def _settle(size: Size, shared: Servers, side: Side, latency_ms: float) -> None:
    """Let deskbridge find out how many calls at once the tracker takes: for an hour's backlog that takes seconds."""
    ends = time.monotonic() + size.settle_s[latency_ms]
    while time.monotonic() < ends:
        _sync(shared, side, size.tickets[latency_ms] // 3, latency_ms)


def _one_at_a_time(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    latency = outcome.measure("one event at a time, to its time entry, ms", 1.3, at_most=True)

    def alone(side: Side) -> float:
        _only(side, sides)
        return one_at_a_time(side, shared.stand_in, size.single)

    before = flush_ms(sides[0].engine)
    _each(size, shared, sides, {sides[0]: latency}, say, alone)
    after = flush_ms(sides[0].engine)
    flushes = f"a commit waited {before:.1f} ms for the disk before, {after:.1f} after"
    latency.limits = f"{flushes}; {latency.limits}"


def _counting(size: Size, shared: Servers, sides: list[Side], outcome: Outcome, say: Say) -> None:
    say("counting what one event costs")
    processor = outcome.measure("processor time per synced event, ms", 0.45, at_most=True)
    database = outcome.measure("PostgreSQL's per synced event, ms", 0.6, at_most=True)
    counted = []
    _only(sides[0], sides)
    _settle(size, shared, sides[0], 0.0)
    for posted, per_request in (("in arrays", ARRAY), ("one by one", 1)):
        statements = outcome.measure(
            f"SQL statements per synced event, posted {posted}", 3, at_most=True, alone=True
        )
        commits = outcome.measure(f"commits per synced event, posted {posted}", 0.4, at_most=True, alone=True)
        counted += [statements, commits]
        for side in sides:
            _only(side, sides)
            accepted, synced = count_costs(shared, side, size.counted, per_request)
            if synced.calls != CALLS:
                raise BrokenRun(
                    f"{side.name} makes {synced.calls:g} calls an event: the ratios would compare different work"
                )
            outcome.costs[type(side).name] = accepted, synced
            statements.note(side, synced.statements)
            commits.note(side, synced.commits)
            processor.note(side, synced.processor_ms)
            database.note(side, synced.database_ms)
    own = outcome.costs[Deskbridge.name][1]
    kinds = ", ".join(f"{count:.1f} {kind}" for kind, count in list(own.kinds.items())[:4])
    for measure in (processor, database, *counted):
        measure.limits = f"{kinds}; {own.redis:.0f} Redis commands"


def _only(side: Side, sides: list[Side]) -> None:
    """Let one side alone go on."""
    for other in sides:
        other.freeze()
    side.thaw()


def _each(
    size: Size,
    shared: Servers,
    sides: list[Side],
    measures: dict[Side, Measure],
    say: Say,
    take: Callable[[Side], float],
) -> None:
    """Take rounds in turn, the first side first in one and last in the next, so that a drift hits all alike.

    Args:
        size: how many rounds.
        shared: what the sides share.
        sides: in this order.
        measures: by side of ours; a round of the peer is for each of them.
        say: is told what is being done.
        take: takes one round.
    """
    limits = {side: Limits(shared) for side in measures}
    for number in range(size.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            with limits[side].watch(side) if side in measures else nullcontext():
                figure = take(side)
            for measure in [measures[side]] if side in measures else measures.values():
                measure.note(side, figure)
                say(f"{measure.name}: {type(side).name} {figure:.{digits(figure)}f}")
    for side, measure in measures.items():
        measure.limits = limits[side].told()


def digits(figure: float) -> int:
    """Return how many digits of a figure are shown behind its point."""
    return 0 if figure >= 100 else 1 if figure >= 10 else 2


def _sync(shared: Servers, side: Side, tickets: int, latency_ms: float) -> float:
    events = batch(tickets)
    shared.latency(0.0)
    load(side, shared.stand_in, events)
    shared.latency(latency_ms)
    try:
        return sync(side, shared.stand_in, events)
    finally:
        shared.latency(0.0)


def _timed(start: Callable[[], None]) -> float:
    began = time.monotonic()
    start()
    return time.monotonic() - began
