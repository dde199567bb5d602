"""The tables of notifications: where they go, and what was sent of each cause."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.notices.notice import Notice, from_json
from shared.store.tables.types import Base, Json


class NotificationRecord(Base):
    """The single row that says where notifications go; the addresses hold secrets and are encrypted.

    Attributes:
        services: the scheme of each address, such as `mailto`: all that is ever shown of it.
        console_url: where browsers reach the console, as far as it was known when the addresses were stored.
        looked_at: when a process last checked whether something is to be sent.
        sent_at: when a service last took a message.
        failed_at, failure: when and why a service did not take the last message; NULL if all took it.
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
        """Why a service did not take the last message; None if all took it."""
        if not isinstance(self.failure, dict) or "code" not in self.failure:
            return None
        return Notice(str(self.failure["code"]), from_json(self.failure.get("params")))


class NotificationCause(Base):
    """A cause that is there, or of which a message was sent within the hour.

    Attributes:
        since: since when it is there; NULL: it is gone.
        sent_at: when a message about it was last sent.
        count: how much of it that message reported.
    """

    __tablename__ = "notification_cause"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime | None]
    sent_at: Mapped[datetime | None]
    count: Mapped[int]
