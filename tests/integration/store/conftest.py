"""The store over SQLite and PostgreSQL: every test of this folder runs over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any

import pytest

from producer.admin.records.transaction import Store
from shared.events.delivery import parse_delivery
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.journal.appending import Accepted
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.ledger_queries import LedgerQueries
from shared.store.ledger.statements import Claim
from shared.store.tables.database import Database
from shared.store.tables.ledger import LedgerRow, LedgerState
from tests.support.databases import empty, make_tables
from tests.support.events import START, delivery_id

Append = Callable[..., list[Accepted]]
BODY = {"issue": {"subject": "a\x00b\ud800€"}}
PRINT = "f" * 64


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def migrated_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A migrated store for the whole session."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/store.sqlite3"
    else:
        url = request.getfixturevalue("postgres_server").create_database(f"store_tests_{token_hex(4)}")
    store = Store(Database(url, pool_size=10))
    make_tables(store.database)
    yield store
    store.database.close()


@pytest.fixture
def store(migrated_store: Store) -> Store:
    """An empty store."""
    empty(migrated_store.database)
    return migrated_store


@pytest.fixture
def append(store: Store) -> Append:
    """Appends events to the journal, each with its own delivery id unless ids are given."""

    def them(*events: dict[str, object], ids: list[str] | None = None) -> list[Accepted]:
        names = ids or [delivery_id() for _ in events]
        deliveries = [parse_delivery(event, name) for event, name in zip(events, names, strict=True)]
        with store.transaction() as tx:
            return tx.journal.append(deliveries, START)

    return them


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


class Book:
    """The ledger of one kind, each step in its own transaction; reasons may be plain texts."""

    def __init__(self, store: Store, kind: Kind) -> None:
        self.store, self.kind = store, kind

    def __getattr__(self, name: str) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            told = [one if is_question or not isinstance(one, str) else written(one) for one in args]
            with self.store.transaction() as tx:
                return getattr(tx.ledger(self.kind), name)(*told, **kwargs)

        assert hasattr(Ledger, name)
        is_question = hasattr(LedgerQueries, name)
        return step

    def take(self, key: int = 1, *, lease: float = 20, fingerprint: str = PRINT) -> int | None:
        """Claim a row; return the attempt's number."""
        claim = Claim(key, key if self.kind is Kind.TICKET else 4711, 7, 11, None, BODY, [5, 1], fingerprint)
        attempt: int | None = self.claim(claim, lease)
        return attempt

    def row(self, key: int = 1) -> LedgerRow:
        found: LedgerRow | None = self.get(key)
        assert found is not None
        return found

    def in_state(self, state: LedgerState, key: int = 1, tracker_id: int = 60) -> int:
        """Bring a new row into a state; return its attempt."""
        attempt = self.take(key)
        assert attempt is not None
        if state is LedgerState.FREE:
            self.free(key, attempt, "refused")
        elif state in (LedgerState.IN_DOUBT, LedgerState.ON_HOLD):
            self.doubt(key, attempt, 0, "lost")
            if state is LedgerState.ON_HOLD:
                self.hold(key, attempt, "who knows", [tracker_id])
        elif state in (LedgerState.LINKED, LedgerState.GONE):
            self.link(key, attempt, tracker_id, 5, "created")
        if state is LedgerState.GONE:
            self.gone(key, tracker_id, "deleted")
        assert self.row(key).state == state
        return attempt


@pytest.fixture
def book(store: Store, kind: Kind) -> Book:
    return Book(store, kind)
