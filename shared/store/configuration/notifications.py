"""The addresses of notifications, and the messages sent about each cause."""

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
        """Return the record with the addresses, or None if no notifications are sent."""
        return self._session.get(NotificationRecord, THE_ROW)

    def put(self, urls_encrypted: str, services: Sequence[str], console_url: str | None) -> None:
        """Replace the addresses and clear the last failure."""
        values = {
            "urls_encrypted": urls_encrypted,
            "services": list(services),
            "console_url": console_url,
            "failed_at": None,
            "failure": None,
        }
        put_row(self._session, NotificationRecord, {"id": THE_ROW}, values)

    def put_rotated(self, urls_encrypted: str) -> None:
        """Store the same addresses, encrypted again."""
        self._session.execute(update(NotificationRecord).values(urls_encrypted=urls_encrypted))

    def remove(self) -> bool:
        """Remove the addresses and causes; return False if there were no addresses."""
        self._session.execute(delete(NotificationCause))
        gone = delete(NotificationRecord).returning(NotificationRecord.id)
        return self._session.scalar(gone) is not None

    def claim(self, every_s: float, after_failure_s: float) -> bool:
        """Claim the next check for this process; return False if no check is due or there are no addresses.

        Args:
            every_s: seconds between two checks.
            after_failure_s: seconds after a failed message until the next check.
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
        """Return all stored causes."""
        return self._session.scalars(select(NotificationCause)).all()

    def remember(self, rows: Mapping[str, Mapping[str, object]]) -> None:
        """Replace all stored causes.

        Args:
            rows: columns of each cause, by its key.
        """
        self._session.execute(delete(NotificationCause).where(NotificationCause.key.not_in(list(rows))))
        for key, values in rows.items():
            put_row(self._session, NotificationCause, {"key": key}, dict(values))

    def sent(self) -> None:
        """Record that a service accepted a message."""
        self._session.execute(update(NotificationRecord).values(sent_at=clock()))

    def failed(self, why: Notice | None) -> None:
        """Record why a service did not accept the last message; None means that all accepted it."""
        values = {"failed_at": clock() if why else None, "failure": notice_json(why) if why else None}
        self._session.execute(update(NotificationRecord).values(**values))
