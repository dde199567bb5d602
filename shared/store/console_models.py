"""The console's own tables: who may sign in, who is signed in, the API's tokens, and who changed what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.codes.coded import Coded, from_json
from shared.store.models import Base
from shared.store.types import Json, Words

DIGEST = String(64)


class ConsoleAccount(Base):
    """Somebody who may sign in to the console."""

    __tablename__ = "console_account"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    password_hash: Mapped[str | None] = mapped_column(Text)
    right: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class ConsoleSession(Base):
    """Somebody who is signed in, by the SHA-256 of the cookie."""

    __tablename__ = "console_session"

    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    account_id: Mapped[int] = mapped_column(index=True)
    began_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    ends_at: Mapped[datetime]


class SignInLink(Base):
    """A link that signs somebody in once, by the SHA-256 of its code."""

    __tablename__ = "console_sign_in_link"

    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    account_id: Mapped[int]
    ends_at: Mapped[datetime]


class ApiToken(Base):
    """A bearer token of the API, by its SHA-256."""

    __tablename__ = "api_token"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    digest: Mapped[str] = mapped_column(DIGEST, unique=True)
    right: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class ChangeRecord(Base):
    """Something that somebody changed: what it was before, and what after; never a secret."""

    __tablename__ = "change_record"
    __table_args__ = (Index("ix_change_record_at", "at"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    who: Mapped[str] = mapped_column(Words)
    code: Mapped[str] = mapped_column(String(64))
    params: Mapped[dict[str, Any]] = mapped_column(Json)
    before: Mapped[Any] = mapped_column(Json, nullable=True)
    after: Mapped[Any] = mapped_column(Json, nullable=True)

    @property
    def coded(self) -> Coded:
        """What was done."""
        return Coded(self.code, from_json(self.params))
