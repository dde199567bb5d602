"""`python -m tests.bench.backpressure`: the tracker is down for an hour while a hundred thousand events arrive.

The hour passes on a simulated clock. Everything else is real: PostgreSQL, Redis, the mock Redmine, the producer's
intake, the sweep, the workers' code in threads. Then the tracker returns with a rate limit, and a few tickets sync.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles
from typing import Any
from unittest.mock import patch

from sqlalchemy import func, select

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from producer.intake.app import append
from producer.intake.deliveries import deliveries
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.redis.circuit_breaker import LONGEST_PAUSE_S
from shared.redis.clock import now
from shared.redis.locks import Locks
from shared.redis.rate_limit import RateLimiter
from shared.store.opening import Store
from shared.store.tables.journal import JournalEvent
from shared.telemetry.logs import configure_logging
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.events import moment, task, ticket
from worker.sweep import Sweep

MANY = 100_000
ARRAY = 500
OF_EACH_TICKET = 5
HOUR_S, SWEPT_EVERY_S = 3600, 10
THREADS = 8
RATE = 40.0
SYNCED = 60
MOST_PROBES = 70
SLOWEST_RATIO = 2.0
MOST_GROWTH_MB = 40.0
SEEDED_ISSUES = 5
ENDED = {"done", "skipped", "superseded"}


@dataclass(frozen=True)
class Figures:
    """The measured figures.

    Attributes:
        events: number of events that arrived while the tracker was down.
        quiet_ms: usual time to accept an array of 500 before the outage.
        paused_ms: the same time in the last quarter of the outage.
        growth_mb: growth of the process's memory, from the first tenth of the outage to its end.
        redis_growth_mb: growth of Redis's memory in the same period.
        probes: number of probes in that hour.
        at_once: highest number of simultaneous probes.
        attempts: attempts used up by the events.
        sweep_ms: duration of a sweep with every event pending, after the circuit breaker's open time.
        calls_per_second: calls to the tracker in each second after it came back.
        wrong: differences between the synced tickets and what is expected.
    """

    events: int
    quiet_ms: float
    paused_ms: float
    growth_mb: float
    redis_growth_mb: float
    probes: int
    at_once: int
    attempts: int
    sweep_ms: float
    calls_per_second: list[int]
    wrong: list[str]

    def missed(self, slowest_ratio: float = SLOWEST_RATIO) -> list[str]:
        """Return the expectations that are not met.

        Args:
            slowest_ratio: how much longer the producer may take while the tracker is down.
        """
        held = {
            f"the producer's latency: {self.paused_ms:.0f} ms, before {self.quiet_ms:.0f} ms": self.paused_ms
            <= slowest_ratio * self.quiet_ms,
            f"memory: {self.growth_mb:.0f} MB more": self.growth_mb <= MOST_GROWTH_MB,
            f"Redis: {self.redis_growth_mb:.1f} MB more": self.redis_growth_mb <= 1,
            f"{self.probes} probes": 0 < self.probes <= MOST_PROBES,
            f"{self.at_once} probed at once": self.at_once == 1,
            f"{self.attempts} attempts were used up": self.attempts == 0,
            f"calls per second: {self.calls_per_second}": max(self.calls_per_second) <= RATE * 1.25,
            f"synced wrongly: {self.wrong[:5]}": not self.wrong,
        }
        return [what for what, holds in held.items() if not holds]


class Clock:
    """The offset of the circuit breaker's clock from Redis's, in seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0


class Gauge:
    """A tracker that is down: counts the calls that are tried, and how many are tried at once."""

    def __init__(self) -> None:
        self.tries = self.at_once = self._now = 0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Take the place of the rate limiter, which runs right before a call."""
        with self._lock:
            self.tries += 1
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        time.sleep(0.01)
        with self._lock:
            self._now -= 1
        return 0.0


class Turns:
    """The rate limiter, with the time at which each call was allowed.

    Args:
        rate_limiter: the real rate limiter.
    """

    def __init__(self, rate_limiter: RateLimiter) -> None:
        self._rate_limiter = rate_limiter
        self.moments: list[float] = []

    def __call__(self) -> float:
        """Reserve the next call; return the seconds to wait for it."""
        seconds = self._rate_limiter.next_turn()
        self.moments.append(time.monotonic() + seconds)
        return seconds

    def per_second(self) -> list[int]:
        """Return how many calls were made in each second."""
        first = min(self.moments)
        counts = [0] * (int(max(self.moments) - first) + 1)
        for at in self.moments:
            counts[int(at - first)] += 1
        return counts


def measure(bridge: Bridge, stand_in: StandIn, events: int, seed: int = 1) -> Figures:
    """Take the tracker down for an hour and bring it back.

    Args:
        bridge: a new installation.
        stand_in: its mock tracker.
        events: number of events that arrive during the outage.
        seed: makes their order reproducible.
    """
    clock, gauge = Clock(), Gauge()
    made = _events(events, random.Random(seed))
    arrays = [made[start : start + ARRAY] for start in range(0, len(made), ARRAY)]
    with _simulated(clock), ThreadPoolExecutor(THREADS) as workers:
        _warm_up(bridge)
        quiet = [_take(bridge, array) for array in _of_other_tickets(arrays[:10])]
        bridge.configure(base_url=f"http://{HOST}:{free_port()}")
        away = _connected(bridge, gauge)
        paused, growth, redis_growth = _an_hour(away, clock, workers, arrays)
        attempts = _attempts(bridge)
        bridge.configure(base_url=stand_in.base_url)
        turns = Turns(RateLimiter(bridge.redis, RATE))
        back = _connected(bridge, turns)
        clock.ahead += 2 * LONGEST_PAUSE_S
        bridge.hurry()
        _age(bridge)
        sweep_ms, wrong = _sync(back, stand_in, workers, made)
    return Figures(
        events,
        _usual(quiet),
        _usual(paused[-max(4, len(paused) // 4) :]),
        growth,
        redis_growth,
        gauge.tries,
        gauge.at_once,
        attempts,
        sweep_ms,
        turns.per_second(),
        wrong,
    )


def _age(bridge: Bridge) -> None:
    """Move the events' times back by the hour, since a sweep leaves events that have just arrived to their message."""
    bridge.age(HOUR_S)


def _usual(milliseconds: list[float]) -> float:
    """Return the lower quartile: the time on a machine that is otherwise idle."""
    return quantiles(milliseconds, n=4)[0]


def _events(count: int, chance: random.Random) -> list[dict[str, Any]]:
    """Make shuffled events, five per ticket; the newest by its time determines the expected result."""
    made = []
    for number in range(count):
        ticket_id, at = number // OF_EACH_TICKET + 1, number % OF_EACH_TICKET
        snapshot = ticket(ticket_id, status=(1, 2, 5, 2, 6)[at], title=f"Ticket {ticket_id}")
        event = {"occurred_at": moment(at), "ticket": snapshot, "delivery_id": f"away-{number}"}
        if at in (1, 3):
            work = task(ticket_id, actiontime=1800 * at, content=f"Task {ticket_id}")
            made.append({**event, "event": "ticket_task.updated", "task": work})
        else:
            made.append({**event, "event": "ticket.updated"})
    chance.shuffle(made)
    return made


def _of_other_tickets(arrays: list[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the same events for other tickets, which are not used again."""
    for array in arrays:
        yield [
            {
                **event,
                "delivery_id": f"quiet-{event['delivery_id']}",
                "ticket": {**event["ticket"], "id": event["ticket"]["id"] + 10**9},
            }
            for event in array
        ]


def _warm_up(bridge: Bridge) -> None:
    for event in _of_other_tickets([_events(OF_EACH_TICKET, random.Random(0))]):
        _take(bridge, [{**one, "delivery_id": f"warm-{one['delivery_id']}"} for one in event])


def _take(bridge: Bridge, events: list[dict[str, Any]]) -> float:
    """Accept events as the producer does; return the milliseconds."""
    body = json.dumps(events)
    store = Store(bridge.store.database)
    started = time.perf_counter()
    append(store, deliveries(body, "unnamed"))
    return (time.perf_counter() - started) * 1000


def _connected(bridge: Bridge, rate_limiter: Callable[[], float]) -> Bridge:
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys), rate_limiter)
    bridge.service = replace(bridge.service, connect=connector.connect)
    return bridge


def _an_hour(
    bridge: Bridge, clock: Clock, workers: ThreadPoolExecutor, arrays: list[list[dict[str, Any]]]
) -> tuple[list[float], float, float]:
    """Simulate the hour, in which events arrive and are notified and the sweep runs; return latencies and growth."""
    rounds, took, start = HOUR_S // SWEPT_EVERY_S, [], clock.ahead
    memory, redis_memory = 0.0, 0.0

    def notify(tickets: list[int]) -> bool:
        list(workers.map(bridge.service.sync, tickets))
        return True

    sweep = Sweep(
        bridge.store, bridge.settings, Locks(bridge.redis, 60), bridge.breaker, lambda: 0, notify, notify
    )
    first = next(event for event in arrays[0] if "task" in event)
    _take(bridge, [first])
    notify([first["ticket"]["id"]])  # the worker that runs when the tracker goes down detects that by itself
    for number in range(rounds):
        clock.ahead = start + number * SWEPT_EVERY_S
        for index in range(number * len(arrays) // rounds, (number + 1) * len(arrays) // rounds):
            took.append(_take(bridge, arrays[index]))
            notify([event["ticket"]["id"] for event in arrays[index]])
        sweep.notify_due()
        if number == rounds // 10:
            memory, redis_memory = _memory_mb(), _redis_mb(bridge)
    return took, _memory_mb() - memory, _redis_mb(bridge) - redis_memory


def _attempts(bridge: Bridge) -> int:
    with bridge.store.database.transaction() as session:
        return int(session.scalar(select(func.coalesce(func.sum(JournalEvent.attempts), 0))) or 0)


def _sync(
    bridge: Bridge, stand_in: StandIn, workers: ThreadPoolExecutor, made: list[dict[str, Any]]
) -> tuple[float, list[str]]:
    """Sync some tickets after the tracker is back; return the sweep's duration in ms, and the differences."""
    notified: list[int] = []

    def notify(tickets: list[int]) -> bool:
        notified.extend(tickets)
        return True

    sweep = Sweep(
        bridge.store, bridge.settings, Locks(bridge.redis, 60), bridge.breaker, lambda: 0, notify, notify
    )
    started = time.perf_counter()
    sweep.notify_due()
    sweep_ms = (time.perf_counter() - started) * 1000
    assert len(notified) == 1, "after a pause one ticket probes"
    chosen = sorted({event["ticket"]["id"] for event in made})[:SYNCED]
    assert _prober_ends_the_pause(bridge, chosen)
    list(workers.map(bridge.service.sync, chosen))
    return sweep_ms, _differences(bridge, stand_in, chosen)


def _prober_ends_the_pause(bridge: Bridge, chosen: list[int]) -> bool:
    bridge.service.sync(chosen[0])
    return bridge.breaker.current() is None


def _differences(bridge: Bridge, stand_in: StandIn, chosen: list[int]) -> list[str]:
    """Check that each ticket has one issue with its newest status, one right time entry, and only ended events."""
    state, found = stand_in.state(), []
    with bridge.store.transaction() as tx:
        linked = {ticket_id: row.tracker_id for ticket_id in chosen if (row := tx.issues.get(ticket_id))}
        events = {
            ticket_id: [one.state for one in tx.journal.find(ticket_id=ticket_id)] for ticket_id in chosen
        }
    issues = {one["id"]: one for one in state["issues"] if one["id"] > SEEDED_ISSUES}
    if len(issues) != len(chosen):
        found.append(f"{len(issues)} issues for {len(chosen)} tickets")
    for ticket_id in chosen:
        issue = issues.get(linked.get(ticket_id) or 0)
        hours = [one["hours"] for one in state["time_entries"] if issue and one["issue_id"] == issue["id"]]
        ended = set(events[ticket_id])
        if issue is None or issue["status_id"] != STATUS_MAP[6] or hours != [1.5]:
            found.append(f"ticket {ticket_id}: {issue and issue['status_id']}, {hours}")
        elif not ended <= ENDED:
            found.append(f"ticket {ticket_id}: {sorted(ended)}")
    return found


@contextmanager
def _simulated(clock: Clock) -> Iterator[None]:
    """Give the circuit breaker a clock that can be moved forward."""
    with patch("shared.redis.circuit_breaker.now", lambda redis: now(redis) + clock.ahead):
        yield


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _redis_mb(bridge: Bridge) -> float:
    used: Any = bridge.redis.info("memory")
    return float(used["used_memory"]) / 1024 / 1024


def main() -> int:
    """Measure, print, and return 1 if an expectation is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.backpressure", description=__doc__)
    parser.add_argument("--events", type=int, default=MANY)
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="deskbridge-bench-"))
    directory.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        # log as many lines as a process does, to a file that is not read
        with redirect_stderr(stack.enter_context((directory / "log").open("w"))):
            configure_logging("json", process="bench")
        postgres = PostgresServer(directory / "postgres")
        stack.callback(postgres.destroy)
        redis = RedisServer(directory / "redis")
        stack.callback(redis.destroy)
        stand_in = stack.enter_context(StandIn(in_process=True))
        url = postgres.start().create_database("away")
        bridge = Bridge(url, redis.start().url, stand_in.base_url, stand_in.api_key)
        stack.callback(bridge.close)
        figures = measure(bridge, stand_in, arguments.events)
    missed = figures.missed()
    print(
        f"an hour without a tracker, {figures.events} events: an array of {ARRAY} takes {figures.paused_ms:.0f} ms, "
        f"before {figures.quiet_ms:.0f} ms; {figures.growth_mb:.0f} MB more; {figures.probes} probes; "
        f"a sweep {figures.sweep_ms:.0f} ms{''.join(f'; NO: {what}' for what in missed)}"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
