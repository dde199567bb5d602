"""The cost of one event stays constant, however many rows are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg2
import pytest
from sqlalchemy import text

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.prepared import HotStatement
from tests.bench.retention import FILLINGS, fill
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import entries
from tests.support.statements import hot_statements, listening

FEW, MANY = 2_000, 30_000
"""PostgreSQL reads a table of a few megabytes completely as soon as that looks as cheap as an index."""

EXPLAINED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
TICKETS = range(1_000_001, 1_000_009)
"""None of these is in the tables yet."""

MOST_LOOKED_AT = 500
"""The most rows that a plan's step may read for these; thousands of others wait, failed or are in flight."""


def others(first: int, last: int, states: tuple[str, str], ledger_state: str) -> str:
    """Return SQL that inserts events of two states in turn, and half as many rows of time entries."""
    return f"""
        INSERT INTO journal (delivery_id, digest, event, key, ticket_id, task_id, occurred_at, clamped, sequence,
            received_at, payload, state, attempts)
        SELECT 'another-' || i, repeat('a', 64), 'ticket_task.updated', 'ticket-task:' || i, i, i, now(), false, 0,
            now(), '{{"lorem": "' || repeat('ipsum ', 200) || '"}}',
            CASE mod(i, 2) WHEN 0 THEN '{states[0]}' ELSE '{states[1]}' END, 0
        FROM generate_series({first}, {last}) i;
        INSERT INTO task_time_link (task_id, ticket_id, state, attempt, body, first_claimed_at, claimed_at, lease_until,
            rounds, adopted, duplicate, changed_at)
        SELECT i, i, '{ledger_state}', 1, '{{"lorem": "' || repeat('ipsum ', 100) || '"}}', now(), now(),
            now() + interval '1 hour', 0, false, false, now()
        FROM generate_series({first}, {(first + last) // 2}) i"""  # noqa: S608 (all of it is written here)


THAT_WAIT = others(2_000_001, 2_010_000, ("pending", "failed"), "claimed")
LAST_LOOKED_AT = {
    "never": (),
    "while they were empty": ("VACUUM ANALYZE",),
    "after they were emptied": (
        THAT_WAIT,
        "DELETE FROM journal",
        "DELETE FROM task_time_link",
        "VACUUM ANALYZE",
    ),
    "when all had ended": (others(3_000_001, 3_030_000, ("done", "done"), "linked"), "VACUUM ANALYZE"),
}
"""The cases of PostgreSQL's last ANALYZE: the statements executed before all these rows were added."""


@pytest.fixture
def bridge_on_postgresql(stand_in: StandIn, redis_url: str, migrated_postgres_url: str) -> Iterator[Bridge]:
    """A deskbridge over a database that never held other rows: PostgreSQL plans by its statistics."""
    made = Bridge(migrated_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


def forward(bridge: Bridge) -> None:
    """Forward each ticket's issue and time entry, and then another status."""
    bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in TICKETS))
    bridge.sync_together(*TICKETS)
    bridge.receive(*(ticket_event(of_ticket=ticket(one, status=5)) for one in TICKETS))
    bridge.sync_together(*TICKETS)


def put_aside(bridge: Bridge) -> None:
    """Apply to some events every other operation than forwarding; no event may be due before."""
    some, reason = range(1, 9), Reason.NO_LINK()
    with bridge.store.transaction() as tx:
        assert tx.journal.have_due(TICKETS) == set()
        tx.journal.end(some, EventState.SKIPPED, reason)
        tx.journal.wait(some, datetime.now(UTC), reason)
        tx.journal.supersede_older(1, reason)
        tx.journal.reschedule(TICKETS[0], 1.0, key="ticket-task:1")
        tx.journal.make_due(TICKETS[0], "ticket-task:1")
        tx.journal.reopen_on_hold(TICKETS[0], reason, "ticket-task:1")


@dataclass
class Asked:
    """Statements sent to the database.

    Attributes:
        said: each statement with its parameters.
        hot: those that PostgreSQL plans once, by their text.
    """

    said: dict[str, Any] = field(default_factory=dict)
    hot: dict[str, HotStatement] = field(default_factory=dict)

    def ways(self, cursor: Any) -> Iterator[tuple[str, str, Any]]:
        """Yield (SQL to run, original text, parameters) per statement, and each hot one again as prepared."""
        for statement, parameters in self.said.items():
            if statement.lstrip().startswith(EXPLAINED):
                yield statement, statement, parameters
        for statement, hot in self.hot.items():
            cursor.execute(hot.prepare)
            yield hot.execution, statement, self.said[statement]


@contextmanager
def asked(bridge: Bridge) -> Iterator[Asked]:
    """Record every statement of a block with its parameters."""
    engine, said = bridge.store.database.engine, dict[str, Any]()

    def note(*arguments: Any) -> None:
        said[arguments[2]] = arguments[3]

    with listening(engine, before_cursor_execute=note), hot_statements() as hot:
        yield Asked(said, hot)


@contextmanager
def asking(bridge: Bridge) -> Iterator[Any]:
    """Yield the cursor of a new connection on which nothing is prepared; its changes are not committed."""
    url = bridge.store.database.engine.url.set(drivername="postgresql")
    with closing(psycopg2.connect(url.render_as_string(hide_password=False))) as connection:
        cursor = connection.cursor()
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        yield cursor


def read_as_a_whole(bridge: Bridge, what: Asked) -> list[str]:
    """Return the statements whose plan reads a large table completely.

    Both the plan for these parameters and the generic plan are checked.
    """
    found = []
    with asking(bridge) as cursor:
        for way, statement, parameters in what.ways(cursor):
            cursor.execute(f"EXPLAIN {way}", parameters)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            if any(f"Seq Scan on {table}" in plan for table in FILLINGS):
                found.append(f"{way}\n{statement}\n{plan}")
    return found


def most_looked_at(bridge: Bridge, what: Asked) -> dict[str, int]:
    """Return for each statement, as it is and as prepared, the most rows that one step of its plan reads."""
    found = {}
    with asking(bridge) as cursor:
        for way, statement, parameters in what.ways(cursor):
            cursor.execute("SAVEPOINT asked")
            cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {way}", parameters)
            ((((plan,),),),) = (cursor.fetchall(),)
            cursor.execute("ROLLBACK TO SAVEPOINT asked")
            found[f"{way} {statement}"] = max(rows_of(plan["Plan"]))
    return found


def rows_of(step: dict[str, Any]) -> Iterator[int]:
    """Return how many rows each step of a plan reads, over all its loops."""
    yield round(step["Actual Loops"] * (step["Actual Rows"] + step.get("Rows Removed by Filter", 0)))
    for one in step.get("Plans", ()):
        yield from rows_of(one)


def of_other_types(bridge: Bridge, what: Asked) -> list[str]:
    """Return the hot statements whose columns have other types when prepared."""
    types = dict[str, list[list[int]]]()
    with asking(bridge) as cursor:
        for way, statement, parameters in what.ways(cursor):
            cursor.execute("SAVEPOINT asked")
            cursor.execute(way, parameters)
            types.setdefault(statement, []).append([one[1] for one in cursor.description or ()])
            cursor.execute("ROLLBACK TO SAVEPOINT asked")
    assert len(what.hot) > 10
    return [statement for statement in what.hot if types[statement][0] != types[statement][1]]


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_whatever_the_way_of_an_event_asks_of_a_large_table_it_finds_by_an_index(
    bridge_on_postgresql: Bridge, stand_in: StandIn, rows: int
) -> None:
    bridge = bridge_on_postgresql
    fill(bridge.store.database, 1, rows, rows)
    with asked(bridge) as what:
        forward(bridge)
        bridge.receive(task_event(of_ticket=ticket(TICKETS[0]), of_task=task(2_000_000)))
        bridge.sync(TICKETS[0])
    assert len(entries(stand_in)) == len(TICKETS) + 1
    assert read_as_a_whole(bridge, what) == []
    assert of_other_types(bridge, what) == []


@pytest.mark.parametrize("last_looked_at", LAST_LOOKED_AT)
def test_an_event_costs_as_much_however_many_others_wait_failed_or_are_in_flight(
    bridge_on_postgresql: Bridge, last_looked_at: str
) -> None:
    bridge = bridge_on_postgresql
    engine = bridge.store.database.engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for table in ("journal", "task_time_link"):
            connection.exec_driver_sql(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
        for statement in (*LAST_LOOKED_AT[last_looked_at], THAT_WAIT):
            connection.exec_driver_sql(statement)
    with asked(bridge) as what:
        forward(bridge)
        put_aside(bridge)
    looked_at = most_looked_at(bridge, what)
    assert {statement: rows for statement, rows in looked_at.items() if rows > MOST_LOOKED_AT} == {}


def test_hot_statements_are_planned_once(bridge_on_postgresql: Bridge) -> None:
    """Otherwise PostgreSQL would plan those with few rows anew each time, since it expects more rows."""
    store = bridge_on_postgresql.store
    fill(store.database, 1, FEW, FEW)
    for _ in range(15):
        with store.transaction() as tx:
            tx.statuses.record_set([(one, one, 1) for one in range(1, 9)])
    with store.database.transaction() as session:
        planned = session.execute(
            text(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE '%given%'"
            )
        ).all()
    assert planned == [(15, 0)]


def test_a_question_without_an_index_is_seen(bridge_on_postgresql: Bridge) -> None:
    bridge = bridge_on_postgresql
    fill(bridge.store.database, 1, MANY, MANY)
    assert read_as_a_whole(
        bridge, Asked({"SELECT * FROM ticket_issue_link WHERE code = %(it)s": {"it": "?"}})
    )


def test_whatever_the_way_of_an_event_asks_of_a_large_table_sqlite_finds_by_an_index_too(
    bridge: Bridge,
) -> None:
    with asked(bridge) as what:
        forward(bridge)
        put_aside(bridge)
    plans = dict[str, str]()
    with bridge.store.database.engine.connect() as connection:
        for statement, parameters in what.said.items():
            if statement.startswith(EXPLAINED):
                steps = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                plans[statement] = "; ".join(str(step[-1]) for step in steps)
    assert len(plans) > 10
    as_a_whole = re.compile(rf"SCAN ({'|'.join(FILLINGS)})\b")
    assert {statement: plan for statement, plan in plans.items() if as_a_whole.search(plan)} == {}
