"""deskbridge and a plain Celery application compared: alternating rounds in one run, on the same servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.bench.costs import count_processor_ms, count_statements, own_ms
from tests.bench.deskbridge import Deskbridge
from tests.bench.errors import BrokenRun
from tests.bench.gates import GATES, OURS, PEER, Results
from tests.bench.load import post
from tests.bench.memory import resident_mb
from tests.bench.plain import Plain
from tests.bench.rounds import accept, first_time_entry, load, one_at_a_time, sync, warm_up
from tests.bench.servers import Servers
from tests.bench.side import THREADS, WORKERS, Side
from tests.bench.workload import batch

ARRAY, WARM = 50, 4 * WORKERS * THREADS
LOADED_IN_S, STILL_MS, STILL_S = 10.0, 30.0, 0.3
"""A side has loaded if it uses less than STILL_MS of processor time in STILL_S, or after LOADED_IN_S."""

SYNC_UNTIL_S = {0: 110, 20: 145, 100: 185}
"""Seconds of the run after which a part starts no new round, by the tracker's latency in milliseconds."""

Gates = dict[Side, list[str]]
"""The gates that each side's figure counts for."""


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        rounds: rounds for each side.
        accept_s: seconds of posting in a round.
        tickets: tickets that deskbridge syncs in a round, by the tracker's latency in milliseconds.
        equal_tickets: the same for a side limited to 2 × 8 calls, which takes longer for the same number.
        settle_s: seconds of unmeasured work, by latency, in which deskbridge finds its concurrency limit.
        alone: events in a round that are sent one at a time.
        counted: tickets in a round that counts processor time or SQL statements.
        accept_rate: requests prepared for each second of posting one by one; a faster side ends its round early.
        accept_array_rate: events prepared for each second of posting in arrays.
    """

    rounds: int
    accept_s: float
    tickets: Mapping[int, int]
    equal_tickets: Mapping[int, int]
    settle_s: Mapping[int, float]
    alone: int
    counted: int
    accept_rate: int = 3000
    accept_array_rate: int = 15000


FULL = Size(
    rounds=3,
    accept_s=1.5,
    tickets={0: 1500, 20: 1000, 100: 480},
    equal_tickets={0: 600, 20: 600, 100: 320},
    settle_s={0: 2, 20: 3, 100: 5},
    alone=30,
    counted=200,
)
QUICK = Size(
    rounds=1,
    accept_s=0.5,
    tickets={0: 40, 20: 40, 100: 40},
    equal_tickets={0: 40, 20: 40, 100: 40},
    settle_s={0: 0, 20: 0, 100: 0},
    alone=2,
    counted=40,
)


class Comparison:
    """Measures every gate except that of the templates.

    Args:
        size: how much is measured.
        servers: servers that both sides share.
        results: receives the figures.
    """

    def __init__(self, size: Size, servers: Servers, results: Results) -> None:
        self._size, self._servers, self._results = size, servers, results
        self._ours, self._plain = Deskbridge(servers), Plain(servers)
        self._equal = Deskbridge(servers, 3)  # makes as many concurrent calls as the peer
        self._sides: list[Side] = [self._ours, self._plain, self._equal]

    def run(self) -> None:
        """Measure everything; if a part breaks, report it and run the others."""
        try:
            with self._part("start of the producers", until_s=25):
                self._start_producers()
            with self._part("accepting events", until_s=65):
                self._accept()
            with self._part("start of the workers", until_s=90):
                self._start_workers()
            for latency_ms, until_s in SYNC_UNTIL_S.items():
                with self._part(f"syncing a backlog, tracker at {latency_ms} ms", until_s):
                    self._sync(latency_ms)
            with self._part("one event alone", until_s=205):
                self._sync_alone()
            with self._part("processor time and SQL of an event", until_s=220):
                self._count()
        finally:
            for side in self._sides:
                side.stop()

    @contextmanager
    def _part(self, name: str, until_s: float) -> Iterator[None]:
        """Run a part; if it breaks, also show the last lines of the processes' logs."""
        with self._results.part(name, until_s):
            try:
                yield
            except BrokenRun as broken:
                logs = "\n".join(side.log_ends() for side in self._sides)
                raise BrokenRun(f"{broken}\n{logs}") from None

    def _start_producers(self) -> None:
        for side in self._sides:
            side.set_up()

        def start(side: Side) -> float:
            side.stop_producers()
            return _seconds(side.start_producer)

        self._measure({self._ours: ["producer"], self._plain: ["producer"]}, start)
        self._equal.start_producer()

    def _accept(self) -> None:
        """Post events while no worker is running that could take a message."""
        for gate, per_request, rate in (
            ("accept", 1, self._size.accept_rate),
            ("accept arrays", ARRAY, self._size.accept_array_rate),
        ):

            def take(side: Side, per_request: int = per_request, rate: int = rate) -> float:
                events = batch(int(rate * self._size.accept_s))
                return accept(side, events, per_request, self._size.accept_s).rate

            for side in (self._ours, self._plain):
                self._only(side)
                accept(side, batch(WARM), per_request, self._size.accept_s)
            self._measure({self._ours: [gate], self._plain: [gate]}, take)

    def _start_workers(self) -> None:
        def start(side: Side) -> float:
            side.stop_workers()
            waiting = batch(1)
            post(side.port, waiting.deliveries(1))
            return _seconds(lambda: first_time_entry(side, self._servers.stand_in, waiting))

        self._measure({self._ours: ["worker"], self._plain: ["worker"]}, start)
        for side in self._sides:
            self._only(side)
            side.start_workers(THREADS if side is self._equal else None)
            _wait_until_loaded(side)
            warm_up(side, self._servers.stand_in, WARM)
            largest = max(resident_mb(one.pid) for one in [*side.producers, *side.workers])
            if side is not self._equal:
                self._note("memory", side, largest)

    def _sync(self, latency_ms: int) -> None:
        """Have the sides sync a backlog in turn; a round of the peer counts for both of our sides."""
        gate, equal = f"sync {latency_ms} ms", f"sync {latency_ms} ms, equal calls"
        gates: Gates = {self._ours: [gate], self._plain: [gate]}
        if equal in GATES:
            gates = {self._ours: [gate], self._plain: [gate, equal], self._equal: [equal]}

        for side in gates:
            if side is not self._plain:
                self._settle(side, latency_ms)
        self._measure(gates, lambda side: self._sync_backlog(side, latency_ms))

    def _settle(self, side: Side, latency_ms: int) -> None:
        """Let deskbridge find its concurrency limit for the tracker's latency."""
        self._only(side)
        ends = time.monotonic() + self._size.settle_s[latency_ms]
        while time.monotonic() < ends:
            self._sync_backlog(side, latency_ms, share=1 / 3)

    def _sync_backlog(self, side: Side, latency_ms: int, share: float = 1) -> float:
        """Return the events per second at which a side syncs a backlog, or part of one."""
        tickets = self._size.tickets if side is self._ours else self._size.equal_tickets
        events = batch(int(tickets[latency_ms] * share))
        load(side, self._servers.stand_in, events)
        self._servers.latency(latency_ms)
        try:
            return sync(side, self._servers.stand_in, events)
        finally:
            self._servers.latency(0)

    def _sync_alone(self) -> None:
        def take(side: Side) -> float:
            return one_at_a_time(side, self._servers.stand_in, self._size.alone)

        self._measure({self._equal: ["alone"], self._plain: ["alone"]}, take)

    def _count(self) -> None:
        def take(side: Side) -> None:
            own_ms, database_ms = count_processor_ms(self._servers, side, self._size.counted)
            self._note("processor", side, own_ms)
            self._note("database", side, database_ms)

        self._settle(self._equal, 0)
        self._in_turn([self._equal, self._plain], take)
        for side in (self._equal, self._plain):
            self._only(side)
            statements, commits = count_statements(self._servers, side, self._size.counted)
            self._note("statements", side, statements)
            self._note("commits", side, commits)

    def _measure(self, gates: Gates, take: Callable[[Side], float]) -> None:
        """Measure some sides in alternating rounds; record each figure under its gates."""

        def take_and_note(side: Side) -> None:
            figure = take(side)
            for gate in gates[side]:
                self._note(gate, side, figure)

        self._in_turn(list(gates), take_and_note)

    def _in_turn(self, sides: Sequence[Side], take: Callable[[Side], object]) -> None:
        """Run the rounds forward, backward, forward, so that a slow minute affects all sides. May run fewer rounds."""
        for number in self._results.numbers(self._size.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                self._only(side)
                take(side)

    def _only(self, side: Side) -> None:
        """Freeze every side but one, and resume that one."""
        for other in self._sides:
            other.freeze()
        side.thaw()

    def _note(self, gate: str, side: Side, figure: float) -> None:
        self._results.note(gate, PEER if side is self._plain else OURS, figure)


def _wait_until_loaded(side: Side) -> None:
    """Wait until newly started processes have loaded everything and use no more processor time."""
    ends = time.monotonic() + LOADED_IN_S
    used, before = own_ms(side), 0.0
    while used - before >= STILL_MS and time.monotonic() < ends:
        time.sleep(STILL_S)
        used, before = own_ms(side), used


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
