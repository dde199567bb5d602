"""The unit of work: one database transaction with the repositories that its process uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from shared.store.journal.journal import Journal
from shared.store.journal.producers import Producers
from shared.store.journal.reconciliation import Reconciliation
from shared.store.tables.database import Database
from shared.store.tables.types import clock
from shared.telemetry import metrics

R = TypeVar("R")


class Repository(Generic[R]):
    """A repository of a unit of work, created when it is first used.

    Args:
        make: creates the repository for a transaction.
    """

    def __init__(self, make: Callable[[Session], R]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self._name = name

    def __get__(self, unit: UnitOfWork, owner: type) -> R:
        """Create the repository and cache it in the instance, where Python finds it before this descriptor."""
        made = self._make(unit.session)
        unit.__dict__[self._name] = made
        return made


class UnitOfWork:
    """A database transaction with the repositories that every process has.

    Args:
        session: the transaction.
    """

    journal = Repository(Journal)
    producers = Repository(Producers)
    reconciliation = Repository(Reconciliation)

    def __init__(self, session: Session) -> None:
        self.session = session

    def now(self) -> datetime:
        """Return the database's time, on which leases and retries are based."""
        return self.session.execute(select(clock())).scalar_one()


T = TypeVar("T", bound=UnitOfWork)


@contextmanager
def opened(database: Database, unit_of_work: Callable[[Session], T]) -> Iterator[T]:
    """Open a transaction: it is committed at the end of the block, and rolled back if the block raises.

    Args:
        database: the database.
        unit_of_work: creates the process's unit of work.
    """
    with database.transaction() as session:
        tx = unit_of_work(session)
        yield tx
    for (outcome, code), count in tx.journal.ended.items():
        metrics.ENDED.labels(outcome=outcome, code=code).inc(count)


class Store:
    """Opens transactions on a database.

    Args:
        database: the database.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def transaction(self) -> AbstractContextManager[UnitOfWork]:
        """Open a transaction: it is committed at the end of the block, and rolled back if the block raises."""
        return opened(self.database, UnitOfWork)
