"""Tables of the administration: accounts, sessions, sign-in links, API tokens, and projects that a form asked for."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from shared.store.tables import registry
from shared.store.tables.explained import Explained
from shared.store.tables.types import Base

DIGEST = String(64)


class ConsoleAccount(Base):
    """A user who may sign in to the console."""

    __tablename__ = "console_account"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    password_hash: Mapped[str | None] = mapped_column(Text)
    right: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class ConsoleSession(Base):
    """A signed-in user, by the SHA-256 of the cookie."""

    __tablename__ = "console_session"

    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    account_id: Mapped[int] = mapped_column(index=True)
    began_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    ends_at: Mapped[datetime]


class SignInLink(Base):
    """A link that signs a user in once, by the SHA-256 of its code."""

    __tablename__ = "console_sign_in_link"

    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    account_id: Mapped[int]
    ends_at: Mapped[datetime]


class ApiToken(Base):
    """A bearer token of the API, by its SHA-256; it may do no more than its owner, if it has one."""

    __tablename__ = "api_token"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    digest: Mapped[str] = mapped_column(DIGEST, unique=True)
    right: Mapped[str] = mapped_column(String(16))
    owner_id: Mapped[int | None]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]


class ProjectClaim(Explained, Base):
    """A tracker project that a form asked for: claimed before the call, so that no repetition creates a second one."""

    __tablename__ = "project_claim"

    identifier: Mapped[str] = mapped_column(String(100), primary_key=True)
    link_kind: Mapped[str] = mapped_column(String(8))
    helpdesk_id: Mapped[int]
    state: Mapped[str] = mapped_column(String(12))
    attempt: Mapped[int]
    settle_after: Mapped[datetime | None]
    tracker_project_id: Mapped[int | None]
    changed_at: Mapped[datetime]


TABLES = registry.TABLES
"""All tables: these and the shared ones."""
