"""Test objects of dry runs: recorded before the call that creates them, removed once they are known to be deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table, delete, select, update
from sqlalchemy.orm import Session

from shared.notices.notice import Notice
from shared.store.tables.explained import reason_columns
from shared.store.tables.ledger import DryRunObject
from shared.store.tables.types import clock, insert_for

OBJECTS = cast(Table, DryRunObject.__table__)


class DryRunObjects:
    """Reads and writes the list within one transaction.

    A process that works on a row owns it until `next_attempt_at`. The number of attempts is its fencing token: each
    takeover increments it, so that the previous owner can no longer put the row off.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def begin(self, kind: str, mark: str, tracker_project_id: int | None, *, lease: float) -> DryRunObject:
        """Record an object that is about to be requested, and own its row.

        Args:
            kind: issue or project.
            mark: text by which the object can be found on the tracker.
            tracker_project_id: project of the issue; None for a project.
            lease: seconds until another process may take the row over.
        """
        values: dict[str, Any] = {
            "kind": kind,
            "mark": mark,
            "tracker_project_id": tracker_project_id,
            "begun_at": clock(),
            "attempts": 0,
            "next_attempt_at": clock(lease),
        }
        statement = insert_for(self._session)(DryRunObject).values(**values).returning(DryRunObject)
        begun: DryRunObject = self._session.scalars(statement).one()
        return begun

    def created(self, row_id: int, tracker_id: int) -> None:
        """Record the tracker's id."""
        self._set(DryRunObject.id == row_id, tracker_id=tracker_id)

    def take_over(self, limit: int, *, lease: float) -> Sequence[DryRunObject]:
        """Take ownership of due rows and return them; only one caller gets each row.

        Args:
            limit: maximum number of rows.
            lease: seconds until another process may take them over.
        """
        is_due = DryRunObject.next_attempt_at <= clock()
        due = select(DryRunObject.id).where(is_due).order_by(DryRunObject.next_attempt_at, DryRunObject.id)
        taken: list[DryRunObject] = []
        for row_id in self._session.scalars(due.limit(limit)).all():
            statement = (
                update(DryRunObject)
                .where(DryRunObject.id == row_id, is_due)
                .values(attempts=DryRunObject.attempts + 1, next_attempt_at=clock(lease))
                .returning(DryRunObject)
                .execution_options(synchronize_session=False, populate_existing=True)
            )
            taken += self._session.scalars(statement).all()
        return taken

    def reschedule(self, row_id: int, attempts: int, seconds: float, reason: Notice) -> None:
        """Give a row back for a later attempt, unless another process has taken it over in the meantime.

        Args:
            row_id: the row.
            attempts: the row's number of attempts when this process took it.
            seconds: delay until the next attempt.
            reason: why the object still exists, shown to people.
        """
        mine = (DryRunObject.id == row_id, DryRunObject.attempts == attempts)
        self._set(*mine, next_attempt_at=clock(seconds), **reason_columns(reason))

    def gone(self, row_id: int) -> None:
        """Delete a row whose object is known to be deleted, or was never created."""
        self._session.execute(delete(DryRunObject).where(DryRunObject.id == row_id))

    def all(self) -> Sequence[DryRunObject]:
        """Return all rows, oldest first."""
        return self._session.scalars(select(DryRunObject).order_by(DryRunObject.id)).all()

    def forget_tracker(self) -> None:
        """Delete all rows, because deskbridge now uses another tracker."""
        self._session.execute(delete(DryRunObject))

    def _set(self, *where: Any, **values: Any) -> None:
        self._session.execute(update(OBJECTS).where(*where).values(**values))
