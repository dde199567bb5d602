"""The cost of one event, measured from outside: SQL statements, commits, processor time."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2

from deploy.embedded.ports import HOST
from tests.bench.errors import BrokenRun
from tests.bench.rounds import QUERY, load, sync
from tests.bench.servers import Servers
from tests.bench.side import Side
from tests.bench.workload import Batch, batch

LOGGED = re.compile(r"^(\w+) LOG:  statement: (\w+)")
FLUSHED_AFTER_S = 0.3
CALLS = 2
"""Calls to the tracker for each event; with another number the sides would not be comparable."""


def count_processor_ms(servers: Servers, side: Side, size: int) -> tuple[float, float]:
    """Sync a backlog; return processor ms per event: of the side's processes, and of PostgreSQL.

    Raises:
        BrokenRun: if the side did not make two calls per event.
    """
    events = _load(servers, side, size)
    own, database = own_ms(side), database_ms(servers)
    sync(side, servers.stand_in, events)
    time.sleep(FLUSHED_AFTER_S)
    calls = sum(f"{one['path']}?{one['query']}" != QUERY for one in servers.stand_in.requests())
    if calls != CALLS * size:
        raise BrokenRun(f"{side.name} made {calls / size:g} calls per event, not {CALLS}")
    return (own_ms(side) - own) / size, (database_ms(servers) - database) / size


def count_statements(servers: Servers, side: Side, size: int) -> tuple[float, float]:
    """Sync a backlog; return the SQL statements and the commits per event.

    BEGIN, COMMIT and ROLLBACK count as statements. Logging slows PostgreSQL down, so nothing else is measured then.
    """
    events = _load(servers, side, size)
    with _logged_statements(servers):
        before = _statements(servers, side)
        sync(side, servers.stand_in, events)
        time.sleep(FLUSHED_AFTER_S)
        made = _statements(servers, side) - before
    return made.total() / size, made["COMMIT"] / size


def _load(servers: Servers, side: Side, size: int) -> Batch:
    events = batch(size)
    load(side, servers.stand_in, events)
    time.sleep(FLUSHED_AFTER_S)
    return events


@contextmanager
def _logged_statements(servers: Servers) -> Iterator[None]:
    """Have PostgreSQL log every statement; its counters do not distinguish statements from commits."""
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
    time.sleep(FLUSHED_AFTER_S)  # every backend reloads it before its next statement


def _statements(servers: Servers, side: Side) -> Counter[str]:
    """Return how many statements a side has sent, by their first word."""
    lines = servers.postgres.log.read_text(errors="replace").splitlines()
    logged = [match for line in lines if (match := LOGGED.match(line)) and match[1] == side.name]
    return Counter(match[2].upper() for match in logged)


def own_ms(side: Side) -> float:
    """Return the processor time that a side's processes have used, in milliseconds."""
    return sum(processor_ms(child.pid) for child in [*side.producers, *side.workers])


def database_ms(servers: Servers) -> float:
    """Return the processor time that PostgreSQL's processes have used, in milliseconds."""
    return sum(map(processor_ms, _children(servers.postgres.child.pid)))


def processor_ms(pid: int) -> float:
    """Return the processor time that a process has used, in milliseconds; 0 if the system does not report it."""
    stat = _stat(pid)
    return (int(stat[11]) + int(stat[12])) * 1000 / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [child for child in found if (stat := _stat(child)) and int(stat[1]) == pid]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on, or an empty list if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
