"""What dry runs have asked the tracker for: recorded before the call, forgotten only when it is known to be gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import Table, delete, select, update
from sqlalchemy.orm import Session

from shared.notices.notice import Notice
from shared.store.tables.explained import keeping
from shared.store.tables.ledger import DryRunObject
from shared.store.tables.types import clock, insert_for

OBJECTS = cast(Table, DryRunObject.__table__)


class DryRunObjects:
    """Reads and writes the list within one transaction.

    A process that works on a row owns it until `next_attempt_at`, and knows it by its number of attempts: taking it
    over counts one more, so that anyone who had it before changes nothing any more.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def begin(self, kind: str, mark: str, tracker_project_id: int | None, *, lease: float) -> DryRunObject:
        """Record something that is about to be asked for, and own it.

        Args:
            kind: issue or project.
            mark: what it will carry.
            tracker_project_id: where an issue will be; None for a project.
            lease: seconds until another process may work on it.
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
        """Own some rows whose time has come; each is taken over by one caller only.

        Args:
            limit: at most so many.
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

    def put_off(self, row_id: int, attempts: int, seconds: float, reason: Notice) -> None:
        """Give a row back to be tried later, unless another process has taken it over in the meantime.

        Args:
            row_id: the row.
            attempts: its number of attempts as its owner knows it.
            seconds: from now.
            reason: why it is still there, for a person.
        """
        mine = (DryRunObject.id == row_id, DryRunObject.attempts == attempts)
        self._set(*mine, next_attempt_at=clock(seconds), **keeping(reason))

    def gone(self, row_id: int) -> None:
        """Forget a row: what it stands for is known to be gone, or never came to be."""
        self._session.execute(delete(DryRunObject).where(DryRunObject.id == row_id))

    def all(self) -> Sequence[DryRunObject]:
        """Return everything that is not known to be gone, oldest first."""
        return self._session.scalars(select(DryRunObject).order_by(DryRunObject.id)).all()

    def forget_tracker(self) -> None:
        """Forget everything: it is another tracker now."""
        self._session.execute(delete(DryRunObject))

    def _set(self, *where: Any, **values: Any) -> None:
        self._session.execute(update(OBJECTS).where(*where).values(**values))
