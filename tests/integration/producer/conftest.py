"""A running producer over a real database; its broker is a real Redis, or cannot be reached."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from pydantic import SecretStr
from sqlalchemy import delete

from deploy.embedded.ports import free_port
from producer.admin.records.transaction import Store
from producer.intake.app import create_app
from shared.process.settings import Settings
from shared.store.tables.database import Database
from shared.store.tables.journal import JournalEvent
from tests.support.databases import make_tables
from tests.support.events import delivery_id
from tests.support.serving import Served


def secret(word: str) -> str:
    """Return a signing secret."""
    return "whsec_" + base64.b64encode(word.encode().ljust(24, b"-")).decode()


SECRET = secret("the secret")


def sign(body: bytes, webhook_id: str, timestamp: str, with_secret: str = SECRET) -> str:
    """Sign as Standard Webhooks specifies, without the library that the producer uses to verify."""
    key = base64.b64decode(with_secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{webhook_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


class RunningProducer(Served):
    """A producer on a free port, and its journal."""

    def __init__(self, app: Any, store: Store) -> None:
        self.store = store
        super().__init__(app)

    def get(self, path: str) -> requests.Response:
        return self.http.get(self.base_url + path, timeout=30)

    def post(self, body: bytes, **headers: str | None) -> requests.Response:
        """POST a body with these headers and no other custom ones."""
        given = {"Content-Type": "application/json", **headers}
        return self.http.post(self.base_url + "/events", data=body, headers=given, timeout=30)

    def send(
        self,
        data: Any,
        webhook_id: str | None = None,
        *,
        with_secret: str = SECRET,
        age: float = 0,
        stamp: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Sign and POST an event, an array of events, or raw bytes; `stamp` is the time stamp, by default now."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        name, timestamp = webhook_id or delivery_id(), stamp or str(int(time.time() - age))
        signature = sign(body, name, timestamp, with_secret)
        return self.post(
            body,
            **{"webhook-id": name, "webhook-timestamp": timestamp, "webhook-signature": signature},
            **(headers or {}),
        )

    def journal(self) -> list[JournalEvent]:
        """Return the journal's events, oldest first."""
        with self.store.transaction() as tx:
            return list(reversed(tx.journal.find(limit=None)))


Run = Callable[..., RunningProducer]


@contextmanager
def running(directory: Path, **values: Any) -> Iterator[RunningProducer]:
    """Run a producer with these settings; by default it cannot reach its broker."""
    url = values.pop("database_url", f"sqlite:///{directory}/producer.sqlite3")
    no_broker = f"redis://127.0.0.1:{free_port()}/0"
    given = {"webhook_secrets": (SecretStr(SECRET),), "redis_url": SecretStr(no_broker), **values}
    store = Store(Database(url))
    make_tables(store.database)
    producer = RunningProducer(create_app(Settings(database_url=SecretStr(url), **given)), store)
    producer.start()
    try:
        yield producer
    finally:
        producer.stop()
        store.database.close()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs a producer with the test's own settings."""
    with ExitStack() as stack:
        yield lambda **values: stack.enter_context(running(tmp_path, **values))


@pytest.fixture(scope="package")
def shared_producer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProducer]:
    """A producer that requires signatures, shared by all tests that do not change it."""
    with running(tmp_path_factory.mktemp("producer")) as producer:
        yield producer


@pytest.fixture
def producer(shared_producer: RunningProducer) -> RunningProducer:
    """A producer that requires signatures, with an empty journal."""
    with shared_producer.store.database.transaction() as session:
        session.execute(delete(JournalEvent))
    return shared_producer


def refused(answer: requests.Response, status: int) -> dict[str, Any]:
    """Return the problem document of a refusal, in the form of RFC 9457."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["type"]
    assert problem["title"]
    assert problem["status"] == status
    assert problem["code"], "programs read the code"
    return problem
