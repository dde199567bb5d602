"""One way to open a transaction, whichever repositories its process works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.store.journal.journal import Journal
from shared.store.tables.database import Database
from shared.store.tables.types import clock
from shared.telemetry import metrics


class Opened:
    """A database transaction with the journal, which every process has."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.journal = Journal(session)

    def now(self) -> datetime:
        """Return the database's clock: the one by which leases and retries are told."""
        return self._session.execute(select(clock())).scalar_one()


T = TypeVar("T", bound=Opened)


@contextmanager
def opened(database: Database, repositories: Callable[[Session], T]) -> Iterator[T]:
    """Open a transaction: committed at the end of the block, rolled back when it raises.

    Args:
        database: the database.
        repositories: makes those of a process.
    """
    with database.transaction() as session:
        tx = repositories(session)
        yield tx
    for (outcome, code), count in tx.journal.ended.items():
        metrics.ENDED.labels(outcome=outcome, code=code).inc(count)
