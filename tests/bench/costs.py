"""What one event costs, counted from outside: SQL, commits, Redis commands, calls to the tracker, processor time."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg2

from deploy.embedded.ports import HOST
from tests.bench.load import post
from tests.bench.rounds import QUERY, sync
from tests.bench.servers import Servers
from tests.bench.side import Side
from tests.bench.workload import batch

LOGGED = re.compile(r"^(\w+) LOG:  statement: (\w+)")
FLUSHED_AFTER_S = 0.3
OWN_REDIS = ("config", "info", "llen", "scan", "type", "hello", "client", "select")


@dataclass(frozen=True)
class Costs:
    """What one event costs in one phase.

    Attributes:
        statements: SQL statements, BEGIN, COMMIT and ROLLBACK included.
        commits: those that were COMMIT.
        redis: Redis commands, those inside of scripts and the workers' idle polling included.
        calls: HTTP calls to the tracker.
        processor_ms: processor time in milliseconds of the side's own processes.
        database_ms: the same of PostgreSQL's processes.
        kinds: SQL statements by their first word.
    """

    statements: float
    commits: float
    redis: float
    calls: float
    processor_ms: float
    database_ms: float
    kinds: dict[str, float]


@dataclass(frozen=True)
class _Reading:
    statements: Counter[str]
    redis: int
    calls: int
    processor_ms: float
    database_ms: float

    def costs(self, before: _Reading, events: int) -> Costs:
        statements = self.statements - before.statements
        return Costs(
            statements.total() / events,
            statements["COMMIT"] / events,
            (self.redis - before.redis) / events,
            (self.calls - before.calls) / events,
            (self.processor_ms - before.processor_ms) / events,
            (self.database_ms - before.database_ms) / events,
            {kind: count / events for kind, count in statements.most_common()},
        )


def count_costs(servers: Servers, side: Side, size: int, per_request: int) -> tuple[Costs, Costs]:
    """Count two untimed rounds: events posted one by one or in arrays, then forwarded.

    Statements are counted in one of their own: PostgreSQL takes time to log them, and more for those over many rows.

    Args:
        servers: what both sides share.
        side: warmed up; the other one is frozen.
        size: how many events.
        per_request: 1, or the length of the arrays that are posted.

    Returns:
        Costs of accepting an event, and of forwarding it.
    """
    plain = _one_round(servers, side, size, per_request)
    with _logged_statements(servers):
        logged = _one_round(servers, side, size, per_request)
    accepted, synced = (
        replace(one, statements=told.statements, commits=told.commits, kinds=told.kinds)
        for one, told in zip(plain, logged, strict=True)
    )
    return accepted, synced


def _one_round(servers: Servers, side: Side, size: int, per_request: int) -> tuple[Costs, Costs]:
    events = batch(size)
    servers.latency(0.0)
    servers.stand_in.forget()
    side.freeze_workers()
    start = _read(servers, side)
    post(side.port, events.deliveries(per_request))
    side.wait_until_notified()
    loaded = _read(servers, side)
    sync(side, servers.stand_in, events)
    done = _read(servers, side)
    return loaded.costs(start, size), done.costs(loaded, size)


@contextmanager
def _logged_statements(servers: Servers) -> Iterator[None]:
    """Have PostgreSQL log every statement: exact, and it tells sent from committed, unlike its counters."""
    _reload(servers, "ALTER SYSTEM SET log_statement = 'all'")
    try:
        yield
    finally:
        _reload(servers, "ALTER SYSTEM RESET log_statement")


def _reload(servers: Servers, statement: str) -> None:
    port = servers.postgres.port
    connection = psycopg2.connect(host=HOST, port=port, user="postgres", dbname="postgres", connect_timeout=5)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.execute("SELECT pg_reload_conf()")
    finally:
        connection.close()
    time.sleep(FLUSHED_AFTER_S)  # every backend takes it over before its next statement


def _read(servers: Servers, side: Side) -> _Reading:
    time.sleep(FLUSHED_AFTER_S)
    lines = servers.postgres.log.read_text(errors="replace").splitlines()
    logged = [match for line in lines if (match := LOGGED.match(line)) and match[1] == side.name]
    stats = side.redis.info("commandstats")
    redis = sum(
        values["calls"]
        for name, values in stats.items()
        if name.removeprefix("cmdstat_").partition("|")[0] not in OWN_REDIS
    )
    calls = [one for one in servers.stand_in.requests() if f"{one['path']}?{one['query']}" != QUERY]
    processor = sum(processor_ms(child.pid) for child in [*side.producers, *side.workers])
    database = sum(map(processor_ms, children(servers.postgres.child.pid)))
    return _Reading(Counter(match[2].upper() for match in logged), redis, len(calls), processor, database)


def processor_ms(pid: int) -> float:
    """Return the processor time that a process has used; 0 where the system does not tell (not Linux)."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) * 1000 / os.sysconf("SC_CLK_TCK") if stat else 0.0


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [child for child in found if (stat := _stat(child)) and int(stat[1]) == pid]


def _stat(pid: int) -> list[str]:
    """Return what /proc tells of a process, from its state on; nothing where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
