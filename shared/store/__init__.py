"""The store: typed tables, one small repository per store, and one way to open a transaction.

with store.transaction() as tx:
    tx.journal.append(...)
    tx.issues.claim(...)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from shared.codes.kinds import Kind
from shared.store.accounts import Accounts
from shared.store.changes import Changes
from shared.store.configs import SHARE, Configs, settle
from shared.store.database import Database
from shared.store.dry_runs import DryRunObjects
from shared.store.event_search import EventSearch
from shared.store.journal import Journal
from shared.store.ledger import Ledger
from shared.store.links import Links
from shared.store.metadata import Metadata
from shared.store.misattributed import MisattributedObjects
from shared.store.people import People
from shared.store.people_search import PeopleSearch
from shared.store.producers import Producers
from shared.store.projects import ProjectClaims
from shared.store.reconciliation import Reconciliation
from shared.store.recovery import Recovery
from shared.store.templates import Templates
from shared.store.tickets import TicketStates
from shared.store.trace import Trace
from shared.store.types import clock, is_on_postgresql
from shared.telemetry import metrics

__all__ = ["Store", "Transaction"]

BRIEFLY_S = 0.5
"""Less than PostgreSQL's deadlock_timeout: of those who wait in a circle it is hardly ever a person who repeats."""

_BRIEFLY = f"SELECT set_config('lock_timeout', '{round(BRIEFLY_S * 1000)}', true)"
BRIEFLY, IN_MEMORY = text(_BRIEFLY), text(f"{_BRIEFLY}, set_config('synchronous_commit', 'off', true)")
BRIEFLY_SETTLED = text(f"{_BRIEFLY}, {SHARE}")


class Transaction:
    """Every repository over one database transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.journal = Journal(session)
        self.issues = Ledger(session, Kind.TICKET)
        self.times = Ledger(session, Kind.TICKET_TASK)
        self.statuses = TicketStates(session)
        self.links = Links(session)
        self.people = People(session)
        self.metadata = Metadata(session)
        self.project_claims = ProjectClaims(session)
        self.dry_runs = DryRunObjects(session)
        self.configs = Configs(session)
        self.templates = Templates(session)
        self.trace = Trace(session)
        self.misattributed = MisattributedObjects(session)
        self.producers = Producers(session)
        self.recovery = Recovery(session)
        self.reconciliation = Reconciliation(session)
        self.accounts = Accounts(session)
        self.changes = Changes(session)
        self.events = EventSearch(session)
        self.helpdesk_users = PeopleSearch(session)

    def ledger(self, kind: Kind) -> Ledger:
        return self.issues if kind is Kind.TICKET else self.times

    def wait_briefly(self, *, lasts: bool = True, settles: bool = False) -> None:
        """Wait for what somebody else holds no longer than BRIEFLY_S; SQLite has one writer, who is done soon.

        Args:
            lasts: whether the commit waits for the disk. It need not for what is found again should PostgreSQL's
                machine die at this moment; whatever commits after it waits for both.
            settles: whether the settings stay as they are until then (`settle`); it lasts.
        """
        if settles:
            settle(self._session, BRIEFLY_SETTLED)
        elif is_on_postgresql(self._session):
            self._session.execute(BRIEFLY if lasts else IN_MEMORY)

    def now(self) -> datetime:
        """Return the database's clock: the one by which leases and retries are told."""
        return self._session.execute(select(clock())).scalar_one()


class Store:
    """Opens transactions on a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction: committed at the end of the block, rolled back when it raises."""
        with self.database.transaction() as session:
            tx = Transaction(session)
            yield tx
        for (outcome, code), count in tx.journal.ended.items():
            metrics.ENDED.labels(outcome=outcome, code=code).inc(count)
