"""What the producer does with the tables.

It appends to the journal, leaves its sign, reads what its metrics show, and whether it may keep private texts.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from shared.store.journal.producers import Producers
from shared.store.journal.reconciliation import Reconciliation
from shared.store.opening import Opened, opened
from shared.store.tables.database import Database


class Transaction(Opened):
    """The producer's repositories over one database transaction."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.producers = Producers(session)
        self.reconciliation = Reconciliation(session)


class Store:
    """Opens transactions on a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed at the end of the block, rolled back when it raises."""
        return opened(self.database, Transaction)
