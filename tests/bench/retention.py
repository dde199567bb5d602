"""A million rows in each table; frequent queries must not read all of them.

Each query is timed over ten thousand rows and over a million, on PostgreSQL, and its plan is checked. The ratio shows
the cost of a hundred times the rows. The sweep, pruning and the lists of events and ticket history must stay fast.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import event, text

from producer.admin.migrations.upgrading import upgrade
from producer.admin.records.transaction import Store, Transaction
from shared.store.tables.database import Database
from shared.store.tables.journal import EventState

FEW, MANY = 10_000, 1_000_000
WORST_RATIO = 10.0
BATCH = 1000
MOST_IN_VAIN = 20_000
"""Rows that a query may read and discard; every tenth event of a million would be more."""
TIMES = 5
AT = "now() - interval '200 days' + i * interval '200 days' / :many"

JOURNAL = """
    INSERT INTO journal (delivery_id, digest, event, key, ticket_id, task_id, occurred_at, clamped, sequence,
        received_at, payload, state, code, attempts, next_attempt_at, ended_at)
    SELECT 'delivery-' || i, repeat('a', 64), 'ticket_task.updated', 'ticket-task:' || i / 3, i / 10, i / 3,
        {at}, false, 0, {at}, '{"event": "' || repeat('lorem ipsum ', 30) || '"}',
        state, 'because', 0, CASE WHEN state = 'pending' AND i % 2 = 0 THEN now() + interval '1 hour' END,
        CASE WHEN state <> 'pending' THEN {at} END
    FROM (SELECT i, CASE WHEN i % 2000 = 0 THEN 'failed' WHEN i % 500 = 1 THEN 'pending' WHEN i % 5 = 2 THEN 'skipped'
        WHEN i % 5 = 3 THEN 'superseded' ELSE 'done' END AS state
        FROM generate_series(:first, :last) i) one""".replace("{at}", AT)
TRACE = """
    INSERT INTO trace_step (ticket_id, at, code, params, call)
    SELECT i / 10, {at}, 'it_happened', '{}', '{"body": "' || repeat('lorem ', 20) || '"}'
    FROM generate_series(:first, :last) i""".replace("{at}", AT)
LEDGER = """
    INSERT INTO {table} ({key}, state, attempt, event_id, tracker_project_id, body, fingerprint, first_claimed_at,
        claimed_at, lease_until, settle_after, rounds, tracker_id, adopted, duplicate, author_id, code, changed_at)
    SELECT {values}, state, 1, i, 1, '{{"issue": {{"subject": "lorem"}}}}', md5(i::text) || md5(i::text), now(), now(),
        now() - interval '1 hour', CASE WHEN state = 'in_doubt' THEN now() - interval '1 minute' END, 0,
        CASE WHEN state = 'linked' THEN i END, false, false, 5, 'created', now()
    FROM (SELECT i, CASE i % 5000 WHEN 0 THEN 'in_doubt' WHEN 1 THEN 'claimed' WHEN 2 THEN 'on_hold' ELSE 'linked' END
        AS state FROM generate_series(:first, :last) i) one"""
STATES = """
    INSERT INTO ticket_state (ticket_id, event_id, occurred_at, sequence, status, snapshot, given_event_id, status_due,
        status_attempts)
    SELECT i, i, now(), 0, 2, '{"title": "' || repeat('x', 200) || '"}', i, i % 5000 = 3, 0
    FROM generate_series(:first, :last) i"""
FILLINGS = {
    "journal": JOURNAL,
    "trace_step": TRACE,
    "ticket_issue_link": LEDGER.format(table="ticket_issue_link", key="ticket_id", values="i"),
    "task_time_link": LEDGER.format(table="task_time_link", key="task_id, ticket_id", values="i, i / 3"),
    "ticket_state": STATES,
}
"""By large table; the slowest one to fill comes first."""

AT_ONCE = 2

Question = Callable[[Transaction], object]
Asked = tuple[float, tuple[str, ...]]
T = TypeVar("T")
QUESTIONS: dict[str, Question] = {
    "sweep: events that are due": lambda tx: tx.journal.due_tickets(2000, older_than=3),
    "sweep: issues to settle": lambda tx: tx.issues.due_tickets(2000, 15),
    "sweep: time entries to settle": lambda tx: tx.times.due_tickets(2000, 15),
    "sweep: statuses that are due": lambda tx: tx.statuses.due_tickets(2000),
    "drain: events of a ticket": lambda tx: tx.journal.due_of([50])[50],
    "drain: equal creations": lambda tx: tx.issues.in_doubt_like("0" * 64),
    "events": lambda tx: tx.journal.find(),
    "events --state failed": lambda tx: tx.journal.find(state=EventState.FAILED),
    "events --state on_hold": lambda tx: tx.journal.find(state=EventState.ON_HOLD),
    "events --ticket": lambda tx: tx.journal.find(ticket_id=50),
    "trace": lambda tx: tx.trace.of_ticket(50),
    "held": lambda tx: [*tx.issues.waiting_for_a_person(), *tx.times.waiting_for_a_person()],
    "prune: a batch of events": lambda tx: tx.journal.prune(90, BATCH),
    "prune: a batch of the trace": lambda tx: tx.trace.prune(90, BATCH),
    "prune: no event is old": lambda tx: tx.journal.prune(500, BATCH),
    "prune: no step is old": lambda tx: tx.trace.prune(500, BATCH),
}


@dataclass(frozen=True)
class Figure:
    """The figures of one query.

    Attributes:
        few_ms: milliseconds over FEW rows.
        many_ms: milliseconds over all rows.
        scans: large tables that are read in full, and numbers of rows that are read and discarded.
    """

    question: str
    few_ms: float
    many_ms: float
    scans: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """How many times longer the query takes over many rows."""
        return self.many_ms / self.few_ms

    @property
    def is_met(self) -> bool:
        """Whether the query stays fast."""
        return not self.scans and self.ratio <= WORST_RATIO


def measure(database: Database, many: int) -> list[Figure]:
    """Fill an empty database and run every query, over few and over many rows."""
    upgrade(database)
    return figures(*growing(database, many, lambda: ask(database)))


def growing(database: Database, many: int, take: Callable[[], T]) -> tuple[T, T]:
    """Fill a database's large tables; return what `take` returns over few rows, and over many."""
    fill(database, 1, min(FEW, many), many)
    few = take()
    fill(database, FEW + 1, many, many)
    return few, take()


def ask(database: Database) -> dict[str, Asked]:
    """Run every query; return its milliseconds, and which large tables were read in full."""
    return {name: _ask(database, question) for name, question in QUESTIONS.items()}


def figures(few: dict[str, Asked], many: dict[str, Asked]) -> list[Figure]:
    """Return the figure of each query: over few rows and over many, with what was read over many."""
    return [Figure(name, few[name][0], *asked) for name, asked in many.items()]


def fill(database: Database, first: int, last: int, many: int) -> None:
    """Add the rows with these numbers to every large table, spread over 200 days as if there were `many`."""
    numbers = {"first": first, "last": last, "many": many}

    def one(table: str) -> None:
        used = {name: number for name, number in numbers.items() if f":{name}" in FILLINGS[table]}
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(FILLINGS[table]), used)
            connection.execute(text(f"VACUUM ANALYZE {table}"))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, FILLINGS))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _ask(database: Database, question: Question) -> Asked:
    """Return the fastest of several runs in milliseconds, and which large tables are read in full."""
    store, statements = Store(database), list[tuple[str, Any]]()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        statements.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    quickest = float("inf")
    for _ in range(TIMES):
        statements.clear()
        with store.transaction() as tx:
            started = time.perf_counter()
            question(tx)
            quickest = min(quickest, time.perf_counter() - started)
    event.remove(database.engine, "before_cursor_execute", note)
    return quickest * 1000, _scans(database, statements)


def _scans(database: Database, statements: list[tuple[str, Any]]) -> tuple[str, ...]:
    """Return the large tables that the plans read in full, and numbers of rows that they read and discard."""
    found = set()
    with database.engine.connect() as connection:
        cursor = connection.connection.cursor()
        for statement, parameters in statements:
            cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}", parameters)
            for (line,) in cursor.fetchall():
                found |= {table for table in FILLINGS if f"Seq Scan on {table}" in line}
                if (removed := re.search(r"Rows Removed by Filter: (\d+)", line)) and int(
                    removed[1]
                ) > MOST_IN_VAIN:
                    found.add(f"{removed[1]} rows in vain")
        cursor.close()
        connection.rollback()
    return tuple(sorted(found))
