"""Where notifications go, and what was sent of each cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from shared.notices.notice import Notice, notice_json
from shared.store.tables.notifications import NotificationCause, NotificationRecord
from shared.store.tables.types import clock, moment, put_row

THE_ROW = 1


class Notifications:
    """Reads and writes both tables within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self) -> NotificationRecord | None:
        """Return where notifications go; None: nowhere."""
        return self._session.get(NotificationRecord, THE_ROW)

    def put(self, urls_encrypted: str, services: Sequence[str], console_url: str | None) -> None:
        """Replace the addresses; that an earlier one failed does not count any more."""
        values = {
            "urls_encrypted": urls_encrypted,
            "services": list(services),
            "console_url": console_url,
            "failed_at": None,
            "failure": None,
        }
        put_row(self._session, NotificationRecord, {"id": THE_ROW}, values)

    def put_rotated(self, urls_encrypted: str) -> None:
        """Replace the addresses by the same ones, encrypted again."""
        self._session.execute(update(NotificationRecord).values(urls_encrypted=urls_encrypted))

    def remove(self) -> bool:
        """Remove the addresses; return False if there were none."""
        self._session.execute(delete(NotificationCause))
        gone = delete(NotificationRecord).returning(NotificationRecord.id)
        return self._session.scalar(gone) is not None

    def claim(self, every_s: float, after_failure_s: float) -> bool:
        """Take the next check for this process; return False if another one has checked, or nothing is to be checked.

        Args:
            every_s: how long after the last check the next one is due.
            after_failure_s: how long after a failed sending.
        """
        row = NotificationRecord
        is_due = (
            or_(row.looked_at.is_(None), row.looked_at < moment(-every_s)),
            or_(row.failed_at.is_(None), row.failed_at < moment(-after_failure_s)),
        )
        if self._session.scalar(select(row.id).where(*is_due)) is None:
            return False
        taken = update(row).where(*is_due).values(looked_at=clock()).returning(row.id)
        return self._session.scalar(taken) is not None

    def causes(self) -> Sequence[NotificationCause]:
        """Return what is known of each cause."""
        return self._session.scalars(select(NotificationCause)).all()

    def remember(self, rows: Mapping[str, Mapping[str, object]]) -> None:
        """Replace what is known of the causes.

        Args:
            rows: the columns of each by its key.
        """
        self._session.execute(delete(NotificationCause).where(NotificationCause.key.not_in(list(rows))))
        for key, values in rows.items():
            put_row(self._session, NotificationCause, {"key": key}, dict(values))

    def sent(self) -> None:
        """Note that a message was taken."""
        self._session.execute(update(NotificationRecord).values(sent_at=clock()))

    def failed(self, why: Notice | None) -> None:
        """Note why a service did not take the last message; None: all of them took it."""
        values = {"failed_at": clock() if why else None, "failure": notice_json(why) if why else None}
        self._session.execute(update(NotificationRecord).values(**values))
