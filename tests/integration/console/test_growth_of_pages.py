"""No database query of a page reads a large table as a whole, however many rows it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg2
import pytest
from sqlalchemy import text

from deploy.sandbox.tracker.control import StandIn
from producer.admin.queries import events, searching
from producer.admin.records.rights import Right
from shared.store.tables.database import Database
from tests.bench import organisation, retention
from tests.bench.console import API, PAGES
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import Visitor
from tests.support.bridge import Bridge
from tests.support.statements import listening

MANY = 40_000
WRONG = """
    INSERT INTO misattributed (kind, key, ticket_id, tracker_id, at, code, params)
    SELECT 'ticket', i, i, i, now() - i * interval '1 minute', 'switch_was_ignored', '{}'
    FROM generate_series(1, 2000) i"""
QUESTIONS: dict[str, retention.Question] = {
    "how everything stands": lambda tx: tx.events.counts(),
    "wrong authors": lambda tx: tx.misattributed.count(),
    "what needs a person": lambda tx: tx.events.needs_a_person(),
    "the ticket of an issue": lambda tx: tx.event_subjects.tickets_of_issue(77),
    "the tasks of time entries": lambda tx: tx.known_hours.of_entries([77, 78, 79]),
}
EVENTS = 20_000
LOOKED_THROUGH = 500
MOST_PASSED_OVER = EVENTS // 4
"""The most rows that one step of a plan may read and discard."""

READ_ALL = (
    "/console/doctor",
    "/console/hours",
    "/console/settings/statuses",
    "/api/hours",
    "/api/events?",
    "/api/misattributed",
)
"""Pages that no browser reloads every five seconds, and API lists: they return everything, however long it takes."""

NOT_EXPLAINED = ("INSERT", "UPDATE", "DELETE", "SET", "SAVEPOINT", "RELEASE")


def test_no_page_has_a_large_table_read_as_a_whole(
    migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(migrated_postgres_url)
    retention.fill(database, 1, MANY, MANY)
    with database.engine.begin() as connection:
        connection.execute(text(WRONG))
        connection.execute(text("ANALYZE misattributed"))
    monkeypatch.setattr(retention, "QUESTIONS", QUESTIONS)
    read = {question: tables for question, (_, tables) in retention.ask(database).items() if tables}
    database.close()
    assert read == {}


@pytest.fixture
def bridge(stand_in: StandIn, redis_url: str, migrated_postgres_url: str) -> Iterator[Bridge]:
    """A deskbridge over PostgreSQL with a large organisation's events, tickets and hours, scaled down for tests."""
    made = Bridge(migrated_postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    organisation.fill(made.store.database, EVENTS)
    yield made
    made.close()


def plans(bridge: Bridge, console: Console, visitor: Visitor, address: str) -> Iterator[tuple[str, str]]:
    """Return each statement that a page executes, with its plan."""
    told: list[str] = []

    def note(
        _connection: object, cursor: psycopg2.extensions.cursor, statement: str, given: Any, *_: object
    ) -> None:
        told.append(cursor.mogrify(statement, given).decode())

    with listening(console.app.state.services.store.database.engine, before_cursor_execute=note):
        if address.startswith("/api/"):
            console.get(address)
        else:
            visitor.http.get(visitor.base_url + address, timeout=60, allow_redirects=False)
    with bridge.store.database.engine.connect() as connection:
        for statement in told:
            if not statement.lstrip().startswith(NOT_EXPLAINED):
                explained = connection.exec_driver_sql(
                    f"EXPLAIN (ANALYZE, TIMING OFF) {statement}".replace("%", "%%")
                )
                yield statement, "\n".join(line for (line,) in explained)
        connection.rollback()


def test_every_page_reads_a_part_of_what_a_large_organisation_has(
    bridge: Bridge, console: Console, come_in: ComeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LOOKED_THROUGH", LOOKED_THROUGH)
    monkeypatch.setattr(searching, "NEWEST", LOOKED_THROUGH)
    visitor, found = come_in(Right.ADMINISTRATOR), list[str]()
    console.app.state.services.names.name("user", 1)  # names are read once a minute
    pages = [one.replace("20000", "2000") for one in (*(f"/console{page}" for page in PAGES), *API)]
    for address in (one for one in pages if not one.startswith(READ_ALL)):
        for statement, plan in plans(bridge, console, visitor, address):
            whole = [table for table in organisation.LARGE if f"Seq Scan on {table}" in plan]
            passed = max(map(int, re.findall(r"Rows Removed by Filter: (\d+)", plan)), default=0)
            if whole or passed > MOST_PASSED_OVER:
                found.append(f"{address}: {whole} {passed}\n{statement[:1500]}\n{plan}")
    assert not found, "\n\n".join(found)
