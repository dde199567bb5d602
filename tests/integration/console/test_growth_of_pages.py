"""What pages ask the database reads no large table as a whole, however much is kept."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from shared.store.tables.database import Database
from tests.bench import retention

MANY = 40_000
WRONG = """
    INSERT INTO misattributed (kind, key, ticket_id, tracker_id, at, reason, code, params)
    SELECT 'ticket', i, i, i, now() - i * interval '1 minute', 'switch_was_ignored', 'switch_was_ignored', '{}'
    FROM generate_series(1, 2000) i"""
QUESTIONS: dict[str, retention.Question] = {
    "how everything stands": lambda tx: tx.events.standing(),
    "wrong authors": lambda tx: tx.wrong_authors.count(),
    "what needs a person": lambda tx: tx.events.needs_a_person(),
    "the ticket of an issue": lambda tx: tx.event_subjects.tickets_of_issue(77),
    "the tasks of time entries": lambda tx: tx.known_hours.of_entries([77, 78, 79]),
}


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
