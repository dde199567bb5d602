"""The tables of notifications: where they are sent, and which messages were sent about each cause."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.notices.notice import Notice, from_json
from shared.store.tables.types import Base, Json


class NotificationRecord(Base):
    """The single row with the addresses of notifications, which contain secrets and are encrypted.

    Attributes:
        services: the scheme of each address, such as `mailto`, which is the only part ever shown.
        console_url: where browsers reach the console, if it was known when the addresses were stored.
        looked_at: when a process last checked whether messages must be sent.
        sent_at: when a service last accepted a message.
        failed_at, failure: when and why a service refused the last message; NULL if all accepted it.
    """

    __tablename__ = "notification"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    urls_encrypted: Mapped[str] = mapped_column(Text)
    services: Mapped[Any] = mapped_column(Json)
    console_url: Mapped[str | None] = mapped_column(Text)
    looked_at: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    failure: Mapped[Any] = mapped_column(Json, nullable=True)

    @property
    def why_failed(self) -> Notice | None:
        """Why a service did not accept the last message; None if all accepted it."""
        if not isinstance(self.failure, dict) or "code" not in self.failure:
            return None
        return Notice(str(self.failure["code"]), from_json(self.failure.get("params")))


class NotificationCause(Base):
    """A cause that exists now, or about which a message was sent within the hour.

    Attributes:
        since: since when the cause exists; NULL if it no longer does.
        sent_at: when a message about it was last sent.
        count: the count that this message reported.
    """

    __tablename__ = "notification_cause"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    count: Mapped[int]
