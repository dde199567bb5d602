"""The store over SQLite and over PostgreSQL: every test here runs over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import delete

from shared.events import parse_delivery
from shared.store import Store
from shared.store.database import Database
from shared.store.journal import Accepted
from shared.store.migrations import upgrade
from shared.store.models import Base
from tests.support.events import START, delivery_id

Append = Callable[..., list[Accepted]]


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def migrated_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store with its tables, for the whole session."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/store.sqlite3"
    else:
        url = request.getfixturevalue("postgres_server").create_database("store_tests")
    store = Store(Database(url, pool_size=10))
    upgrade(store.database)
    yield store
    store.database.close()


@pytest.fixture
def store(migrated_store: Store) -> Store:
    """A store with nothing in it."""
    with migrated_store.database.transaction() as session:
        for table in Base.metadata.sorted_tables:
            session.execute(delete(table))
    return migrated_store


@pytest.fixture
def append(store: Store) -> Append:
    """Appends events to the journal, each with a delivery id of its own unless one is named."""

    def them(*events: dict[str, object], ids: list[str] | None = None) -> list[Accepted]:
        names = ids or [delivery_id() for _ in events]
        deliveries = [parse_delivery(event, name) for event, name in zip(events, names, strict=True)]
        with store.transaction() as tx:
            return tx.journal.append(deliveries, START)

    return them
