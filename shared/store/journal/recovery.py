"""Recovery mode: a backup was restored, so the tracker is searched before anything is created (SPEC 1.5)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from shared.store.tables.journal import JournalEvent, RecoveryMode, TraceStep
from shared.store.tables.ledger import LEDGERS
from shared.store.tables.types import clock, insert_for

THE_ROW = 1
SIGNS_OF_LIFE = (
    JournalEvent.received_at,
    *(model.changed_at for model in LEDGERS),
    TraceStep.at,
)


class Recovery:
    """Reads and changes the mode within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self) -> RecoveryMode | None:
        """Return the mode, or None if it is off."""
        return self._session.get(RecoveryMode, THE_ROW)

    def begin(self, since: datetime) -> None:
        """Switch the mode on; if it is on already, `since` can only move further back."""
        values = {"since": since, "began_at": clock()}
        self._session.execute(
            insert_for(self._session)(RecoveryMode)
            .values(id=THE_ROW, **values)
            .on_conflict_do_update(
                index_elements=["id"], set_={"since": since}, where=RecoveryMode.since > since
            )
        )

    def end(self) -> bool:
        """Switch the mode off; return False if it was off."""
        gone = delete(RecoveryMode).returning(RecoveryMode.id)
        return self._session.scalar(gone) is not None

    def last_activity(self) -> datetime | None:
        """Return the newest time in this database, or None; the backup it was restored from is no older than that."""
        moments = [self._session.scalar(select(func.max(column))) for column in SIGNS_OF_LIFE]
        return max((moment for moment in moments if moment is not None), default=None)
