"""The time until which the help desk has been compared with the journal."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from shared.store.tables.journal import ReconciliationMark
from shared.store.tables.types import clock, put_row

THE_ROW = 1


class Reconciliation:
    """Reads and moves the mark within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self) -> ReconciliationMark | None:
        """Return the last complete run, or None if there was none."""
        return self._session.get(ReconciliationMark, THE_ROW)

    def missed(self, more: int) -> None:
        """Count more events that the journal lacked, until the next complete run."""
        if mark := self.get():
            mark.missing += more

    def ran(self, read_until: datetime, missing: int, hours_since: str | None = None) -> None:
        """Record a complete run.

        Args:
            read_until: time until which everything has been compared (database clock).
            missing: number of events that the journal lacked.
            hours_since: day before which ticket tasks are left out, in this run and later ones.
        """
        values = {
            "read_until": read_until,
            "ran_at": clock(),
            "missing": missing,
            "hours_since": hours_since,
        }
        put_row(self._session, ReconciliationMark, {"id": THE_ROW}, values)
