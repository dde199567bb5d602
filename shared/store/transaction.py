"""The store: one small repository per table, over one transaction.

with store.transaction() as tx:
    tx.journal.append(...)
    tx.issues.claim(...)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from functools import partial

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, IntegrityError

from shared.notices.kinds import ADDITIONS, Kind, RowId
from shared.store import opening
from shared.store.configuration.changes import Changes
from shared.store.configuration.configs import SHARE, Configs, lock_shared
from shared.store.configuration.mappings import ProjectMappings
from shared.store.configuration.metadata import Metadata
from shared.store.configuration.notifications import Notifications
from shared.store.configuration.people import People
from shared.store.configuration.templates import Templates
from shared.store.journal.causes import FailureCause, failure_causes
from shared.store.journal.deletions import TicketDeletions
from shared.store.journal.recovery import Recovery
from shared.store.journal.tickets import TicketStates
from shared.store.journal.trace import Trace
from shared.store.ledger.dry_runs import DryRunObjects
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.ledger_queries import undecided_count
from shared.store.ledger.misattributed import MisattributedObjects
from shared.store.opening import Repository, UnitOfWork, opened
from shared.store.related_rows import RelatedRows, related_rows
from shared.store.tables.ledger import LEDGERS, MODELS, LedgerRow
from shared.store.tables.prepared import send_with_next
from shared.store.tables.types import is_on_postgresql

DatabaseFailed = DBAPIError
"""The database rejected a statement or could not be reached; for callers that do not import a driver."""

NotUnique = IntegrityError
"""The write violates a unique constraint: another row already has the value."""

BRIEFLY_S = 0.5
"""Shorter than PostgreSQL's deadlock_timeout: in a deadlock a worker gives up first, and hardly ever a person."""

BRIEFLY = f"SELECT set_config('lock_timeout', '{round(BRIEFLY_S * 1000)}', true)"
IN_MEMORY = f"{BRIEFLY}, set_config('synchronous_commit', 'off', true)"
BRIEFLY_SETTLED = f"{BRIEFLY}, {SHARE}"


class Transaction(UnitOfWork):
    """One database transaction with the repositories of both producer and worker."""

    issues = Repository(partial(Ledger, kind=Kind.TICKET))
    times = Repository(partial(Ledger, kind=Kind.TICKET_TASK))
    statuses = Repository(TicketStates)
    deletions = Repository(TicketDeletions)
    mappings = Repository(ProjectMappings)
    people = Repository(People)
    metadata = Repository(Metadata)
    dry_runs = Repository(DryRunObjects)
    configs = Repository(Configs)
    templates = Repository(Templates)
    trace = Repository(Trace)
    misattributed = Repository(MisattributedObjects)
    recovery = Repository(Recovery)
    changes = Repository(Changes)
    notifications = Repository(Notifications)
    _additions = Repository(lambda session: {kind: Ledger(session, kind) for kind in ADDITIONS})

    def ledger(self, kind: Kind) -> Ledger:
        """Return the ledger of a kind of object."""
        if kind is Kind.TICKET:
            return self.issues
        return self.times if kind is Kind.TICKET_TASK else self._additions[kind]

    def rows_of_ticket(self, ticket_id: int) -> dict[Kind, list[LedgerRow]]:
        """Return all ledger rows of a ticket, by kind, with one statement per table."""
        rows: dict[Kind, list[LedgerRow]] = {kind: [] for kind in MODELS}
        for model in LEDGERS:
            for row in self.session.scalars(select(model).where(model.ticket_id == ticket_id)):
                rows[row.kind].append(row)
        return rows

    def count_undecided(self) -> int:
        """Return the number of creations that wait for a person's decision."""
        return self.session.scalar(select(undecided_count())) or 0

    def failure_causes(self) -> list[FailureCause]:
        """Return the causes of the newest failures, most frequent first."""
        return failure_causes(self.session)

    def related_rows(self, asked: Mapping[int, Collection[RowId]]) -> RelatedRows:
        """Return the rows related to due events; `asked` maps each ticket to the rows that its events concern."""
        return related_rows(self.session, asked)

    def wait_briefly(self, *, durable: bool = True, locks_settings: bool = False) -> None:
        """Wait at most BRIEFLY_S for locks of other sessions; on SQLite the only writer finishes soon anyway.

        Args:
            durable: whether the commit waits for the disk. This is not needed for data that can be derived again if
                PostgreSQL's machine crashes now; a later durable commit also flushes this one.
            locks_settings: whether the settings stay locked until the commit (`lock_shared`), which is then durable.
        """
        if locks_settings:
            lock_shared(self.session, BRIEFLY_SETTLED)
        elif is_on_postgresql(self.session):
            send_with_next(self.session, BRIEFLY if durable else IN_MEMORY)


class Store(opening.Store):
    """Opens transactions on a database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: it is committed at the end of the block, and rolled back if the block raises."""
        return opened(self.database, Transaction)
