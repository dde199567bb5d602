"""What one event costs stays what it is, however much is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.bench.retention import LARGE, fill
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import entries
from tests.support.statements import listening

FEW, MANY = 2_000, 30_000
"""A table of a few megabytes is read from end to end as soon as that looks no dearer than an index."""

TICKETS = range(1_000_001, 1_000_009)
"""None that is in the tables already."""

ASKED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@pytest.fixture
def bridge_on_postgresql(stand_in: StandIn, redis_url: str, migrated_postgres_url: str) -> Iterator[Bridge]:
    """A deskbridge over a database that has never held anything else: PostgreSQL plans by what it remembers."""
    made = Bridge(migrated_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@contextmanager
def asked(bridge: Bridge) -> Iterator[list[tuple[str, Any]]]:
    """Note every statement of a block with its parameters."""
    engine, said = bridge.store.database.engine, list[tuple[str, Any]]()

    def note(*arguments: Any) -> None:
        said.append((arguments[2], arguments[3]))

    with listening(engine, before_cursor_execute=note):
        yield said


def read_as_a_whole(bridge: Bridge, said: list[tuple[str, Any]]) -> list[str]:
    """Return the statements whose plan reads a large table from one end to the other."""
    found = []
    with bridge.store.database.engine.connect() as connection:
        cursor = connection.connection.cursor()
        for statement, parameters in dict(said).items():
            if not statement.lstrip().startswith(ASKED):
                continue
            cursor.execute(f"EXPLAIN {statement}", parameters)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            if any(f"Seq Scan on {table}" in plan for table in LARGE):
                found.append(f"{statement}\n{plan}")
        cursor.close()
        connection.rollback()
    return found


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_whatever_the_way_of_an_event_asks_of_a_large_table_it_finds_by_an_index(
    bridge_on_postgresql: Bridge, stand_in: StandIn, rows: int
) -> None:
    bridge = bridge_on_postgresql
    fill(bridge.store.database, 1, rows, rows)
    with asked(bridge) as said:
        bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in TICKETS))
        bridge.sync_together(*TICKETS)
        bridge.receive(*(ticket_event(of_ticket=ticket(one, status=5)) for one in TICKETS))
        bridge.sync_together(*TICKETS)
        bridge.receive(task_event(of_ticket=ticket(TICKETS[0]), of_task=task(2_000_000)))
        bridge.sync(TICKETS[0])
    assert len(entries(stand_in)) == len(TICKETS) + 1
    assert read_as_a_whole(bridge, said) == []


def test_a_question_without_an_index_is_seen(bridge_on_postgresql: Bridge) -> None:
    bridge = bridge_on_postgresql
    fill(bridge.store.database, 1, MANY, MANY)
    assert read_as_a_whole(bridge, [("SELECT * FROM ticket_issue_link WHERE reason = %s", ("?",))])
