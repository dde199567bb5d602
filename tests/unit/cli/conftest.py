"""A command line over a migrated SQLite file, with its own environment, a fake Redis and recorded notifications."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from fakeredis import FakeRedis
from typer.testing import CliRunner, Result

from producer.admin.records.transaction import Store
from producer.cli.main import app
from shared.events.delivery import parse_delivery
from shared.notices.notice import Notice, written
from shared.notices.reasons import Reason
from shared.store.tables.database import Database
from shared.store.tables.journal import EventState
from tests.support.databases import make_tables
from tests.support.events import delivery_id

SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@dataclass
class Shell:
    """A shell that runs commands as a person would.

    Attributes:
        store: the store that the commands use.
        notified: ids of the notified tickets.
    """

    store: Store
    notified: list[int]

    def type(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        """Run a command and return its result."""
        return CliRunner().invoke(app, list(arguments), input=stdin)

    def do(self, *arguments: str, stdin: str | bytes | None = None) -> str:
        """Run a command, which must succeed; return its output."""
        result = self.type(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def ask(self, *arguments: str) -> Any:
        """Run a command with --json; return the parsed document."""
        return json.loads(self.do(*arguments, "--json"))

    def ask_stdin(self, *arguments: str, stdin: str) -> Any:
        """Run a command with --json and this standard input; return the parsed document."""
        return json.loads(self.do(*arguments, "--json", stdin=stdin))

    def fail(self, *arguments: str, code: int = 1, stdin: str | None = None) -> str:
        """Run a command, which must fail without a traceback and with an empty stdout; return its stderr."""
        result = self.type(*arguments, stdin=stdin)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return result.stderr

    def receive(self, *events: dict[str, Any]) -> list[int]:
        """Append events as the producer does; return their ids."""
        deliveries = [parse_delivery(event, delivery_id()) for event in events]
        with self.store.transaction() as tx:
            return [one.event_id for one in tx.journal.append(deliveries, datetime.now(UTC))]

    def end(self, event_ids: list[int], state: EventState, reason: str | Notice) -> None:
        """End events as a worker does, and fold their snapshots into the ticket's desired state."""
        from tests.support.events import stored_event

        with self.store.transaction() as tx:
            for row in tx.journal.find(limit=None):
                if row.id in event_ids:
                    tx.statuses.fold_all([(row, stored_event(row.payload))], 15)
            tx.journal.end(event_ids, state, written(reason) if isinstance(reason, str) else reason)

    def skip(self, event_ids: list[int]) -> None:
        """End events as skipped because no mapping exists."""
        self.end(event_ids, EventState.SKIPPED, Reason.NO_LINK())

    def states(self) -> dict[int, str]:
        """Return the state of every event by its id."""
        with self.store.transaction() as tx:
            return {row.id: row.state for row in tx.journal.find(limit=None)}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Return a function that sets DESKBRIDGE_ variables; only a database in the test's directory is set."""
    for name in os.environ:
        if name.startswith("DESKBRIDGE_"):
            monkeypatch.delenv(name)

    def change(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"DESKBRIDGE_{name}", value)

    change(DATABASE_URL=f"sqlite:///{tmp_path}/desk.sqlite3")
    monkeypatch.chdir(tmp_path)
    return change


@pytest.fixture
def shell(
    environment: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Shell]:
    """Return a shell over a migrated database; notifications are only recorded."""
    environment(SECRET_KEYS=Fernet.generate_key().decode(), WEBHOOK_SECRETS=SECRET)
    database = Database(f"sqlite:///{tmp_path}/desk.sqlite3")
    make_tables(database)
    notified: list[int] = []

    def notify(_self: object, ticket_ids: list[int], **_: object) -> bool:
        notified.extend(ticket_ids)
        return True

    monkeypatch.setattr("shared.queue.publisher.Publisher.notify", notify)
    redis = FakeRedis()
    monkeypatch.setattr("shared.redis.locks.make_redis", lambda *_: redis)
    yield Shell(Store(database), notified)
    database.close()
