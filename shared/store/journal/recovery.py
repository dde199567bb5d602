"""After a restored backup: the database is recognised, and recovery mode searches the tracker (SPEC 1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, func, literal, select, update
from sqlalchemy.orm import Session

from shared.notices.notice import Notice
from shared.notices.system_refusals import SystemRefusal
from shared.store.tables.database import IDENTITY
from shared.store.tables.journal import InstallationRecord, JournalEvent, RecoveryMode, TraceStep
from shared.store.tables.ledger import LEDGERS
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import Key, clock, insert_for, moment
from shared.values.newest_event import NewestEvent

THE_ROW = 1
SIGNS_OF_LIFE = (*(model.changed_at for model in LEDGERS), TraceStep.at)
"""What workers write: events that arrive after the restore, before anybody says so, are no sign of the backup's age."""

STANDING = select(
    InstallationRecord.epoch,
    InstallationRecord.database,
    moment().label("now"),
    select(JournalEvent.received_at)
    .where(JournalEvent.id == bindparam("event_id", type_=Key))
    .scalar_subquery()
    .label("received_at"),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the database is complete, as far as that can be known.

    Attributes:
        epoch: when a person last confirmed the database; 0: never.
        doubt: why it may lack what was sent to the tracker, so that nothing may be sent; None if nothing is known.
    """

    epoch: int = 0
    doubt: Notice | None = None


class Recovery:
    """Reads and changes the mode within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self) -> RecoveryMode | None:
        """Return the mode, or None if it is off."""
        return self._session.get(RecoveryMode, THE_ROW)

    def begin(self, since: datetime, backup_at: datetime) -> None:
        """Switch the mode on; if it is on already, `since` and `backup_at` can only move further back.

        Args:
            since: how far the searches go back.
            backup_at: when the backup was made.
        """
        row = {"id": THE_ROW, "since": since, "began_at": clock(), "backup_at": backup_at}
        further = {"since": since, "backup_at": backup_at}
        self._session.execute(
            insert_for(self._session)(RecoveryMode)
            .values(row)
            .on_conflict_do_update(index_elements=["id"], set_=further, where=RecoveryMode.since > since)
        )

    def end(self) -> bool:
        """Switch the mode off; return False if it was off."""
        gone = delete(RecoveryMode).returning(RecoveryMode.id)
        return self._session.scalar(gone) is not None

    def last_activity(self) -> datetime | None:
        """Return when a worker last changed this database, or None; the backup it was restored from is no older."""
        moments = [self._session.scalar(select(func.max(column))) for column in SIGNS_OF_LIFE]
        return max((moment for moment in moments if moment is not None), default=None)

    def standing(self, newest: NewestEvent | None, retention_days: float) -> Standing:
        """Compare the database with its own identity, and with the newest event that Redis remembers.

        A promoted standby has the same identity and events. An event that is past its retention may be pruned.

        Args:
            newest: that event; None if Redis has none, because it was emptied, or because nothing was sent for long.
            retention_days: how long the journal keeps events.
        """
        rows = execute_prepared(self._session, STANDING, {"event_id": newest.event_id if newest else 0})
        if not rows:
            return Standing()
        epoch, database, now, received_at = rows[0]
        identity = self._session.connection().info.get(IDENTITY)
        doubt = SystemRefusal.DATABASE_COPIED() if _differ(database, identity) else None
        if newest is not None and newest.epoch > (epoch or 0):
            doubt = SystemRefusal.DATABASE_BEHIND()
        if newest is not None and newest.epoch == (epoch or 0):
            pruned_before = NewestEvent.of(newest.epoch, 0, now - timedelta(days=retention_days)).received_us
            is_same = received_at and NewestEvent.of(newest.epoch, newest.event_id, received_at) == newest
            if not is_same and (received_at or newest.received_us > pruned_before):
                doubt = SystemRefusal.DATABASE_BEHIND()
        return Standing(epoch or 0, doubt)

    def confirm(self, now: datetime) -> None:
        """Record that a person knows this database: its identity, and an epoch from which Redis counts anew."""
        identity = self._session.connection().info.get(IDENTITY)
        values = {
            "epoch": int(now.timestamp()),
            "database": literal(identity, InstallationRecord.database.type),
        }
        self._session.execute(update(InstallationRecord).values(values))


def _differ(recorded: str | None, identity: str | None) -> bool:
    """Return whether two databases are known to differ; SQLite has no identity, and a provider may hide a part."""
    pairs = zip((recorded or "").split("/"), (identity or "").split("/"), strict=False)
    return any(before != now and not {before, now} & {"", "?"} for before, now in pairs)
