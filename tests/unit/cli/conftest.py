"""A command line over a migrated SQLite file, with a broker in memory and an environment of its own."""

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
    """Types commands as a person would.

    Attributes:
        store: what the commands work on.
        notified: tickets that were notified.
    """

    store: Store
    notified: list[int]

    def type(self, *arguments: str, stdin: str | bytes | None = None) -> Result:
        """Run a command."""
        return CliRunner().invoke(app, list(arguments), input=stdin)

    def do(self, *arguments: str, stdin: str | bytes | None = None) -> str:
        """Run a command that succeeds; return its output."""
        result = self.type(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def ask(self, *arguments: str) -> Any:
        """Run a command with --json; return its document."""
        return json.loads(self.do(*arguments, "--json"))

    def ask_stdin(self, *arguments: str, stdin: str) -> Any:
        """Run a command with --json that reads standard input; return its document."""
        return json.loads(self.do(*arguments, "--json", stdin=stdin))

    def fail(self, *arguments: str, code: int = 1, stdin: str | None = None) -> str:
        """Run a command that fails; return its complaint, which is no traceback and leaves stdout empty."""
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
        """Let events end as a worker does, their snapshots folded into the ticket's."""
        from tests.support.events import stored_event

        with self.store.transaction() as tx:
            for row in tx.journal.find(limit=None):
                if row.id in event_ids:
                    tx.statuses.fold_all([(row, stored_event(row.payload))], 15)
            tx.journal.end(event_ids, state, written(reason) if isinstance(reason, str) else reason)

    def skip(self, event_ids: list[int]) -> None:
        """Let events be skipped for want of a link."""
        self.end(event_ids, EventState.SKIPPED, Reason.NO_LINK())

    def states(self) -> dict[int, str]:
        """Return every event's state."""
        with self.store.transaction() as tx:
            return {row.id: row.state for row in tx.journal.find(limit=None)}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Return what sets DESKBRIDGE_ variables; none is set but a database in the test's directory."""
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
    """Return a shell over a migrated database, whose messages are only noted."""
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
