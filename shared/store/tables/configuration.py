"""The configuration tables: settings, mappings, people, templates, and the cache of the tracker's metadata."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.notices.notice import Notice, from_json
from shared.store.tables.explained import Explained
from shared.store.tables.types import Base, Json, Words


class PluginConfigRecord(Base):
    """The single row with the Redmine settings (SPEC 2.1) and the encrypted API key."""

    __tablename__ = "plugin_config"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    values: Mapped[dict[str, Any]]
    api_key_encrypted: Mapped[str | None] = mapped_column(Text)
    changed_at: Mapped[datetime]


class Basis(Base):
    """The single row with the settings version: it counts changes of the data that requests are built from."""

    __tablename__ = "basis"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    changes: Mapped[int]


class ChangeRecord(Base):
    """An entry of the audit log: what was changed, by whom, and the values before and after; never a secret."""

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
    def notice(self) -> Notice:
        """The action."""
        return Notice(self.code, from_json(self.params))


class ProjectMappingRow(Base):
    """Project mapping: help desk project to tracker project."""

    __tablename__ = "project_link"

    helpdesk_project_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    default_category_id: Mapped[int | None]


class EntityMappingRow(Base):
    """Project mapping: help desk entity to tracker project; matched exactly, never through the entity tree."""

    __tablename__ = "entity_link"

    entity_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    default_category_id: Mapped[int | None]


class UserMap(Base):
    """User mapping made by a person: help desk user to tracker user."""

    __tablename__ = "user_map"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(index=True)


class UserPin(Base):
    """The tracker user that a help desk user first matched by e-mail; a different match waits for a person.

    Attributes:
        is_additional: whether it was an additional address of one of the two: then it holds if no main address matches.
    """

    __tablename__ = "user_pin"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(index=True)
    pinned_at: Mapped[datetime]
    confirmed_at: Mapped[datetime | None]
    is_additional: Mapped[bool | None]


class TrackerUser(Base):
    """Cache of the tracker's active users."""

    __tablename__ = "tracker_user"

    tracker_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    login: Mapped[str] = mapped_column(Words)
    name: Mapped[str] = mapped_column(Words)
    mail: Mapped[str | None] = mapped_column(Words)
    mail_key: Mapped[str | None] = mapped_column(Words, index=True)
    admin: Mapped[bool]


class MembershipKnown(Base):
    """A membership that was ensured before, so that the tracker need not be queried again."""

    __tablename__ = "membership_known"

    tracker_project_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class HelpdeskPerson(Base):
    """A help desk user named in events, with the newest e-mail.

    Attributes:
        is_requester: whether events name the user only as a requester, who need not have an account on the tracker.
    """

    __tablename__ = "helpdesk_user"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    email: Mapped[str | None] = mapped_column(Text)
    seen_at: Mapped[datetime]
    is_requester: Mapped[bool | None]


class MetadataRow(Base):
    """Cache of the tracker's metadata: projects, issue types, statuses and so on, distinguished by `kind`.

    Attributes:
        tracker_project_id: the project that the row belongs to (categories).
    """

    __tablename__ = "metadata_row"
    __table_args__ = (Index("ix_metadata_row_project", "kind", "tracker_project_id"),)

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    tracker_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    tracker_project_id: Mapped[int | None]
    details: Mapped[dict[str, Any]]


class MetadataRun(Explained, Base):
    """One metadata synchronisation: times, number of entries read, differences, and the reason if it failed."""

    __tablename__ = "metadata_run"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime]
    ok: Mapped[bool]
    counts: Mapped[dict[str, Any]]
    differences: Mapped[dict[str, Any]]


class PayloadTemplate(Base):
    """A payload template (SPEC 2.2 "Template store"); at most one per operation is active.

    Attributes:
        version: the newest version.
        active_version: the active version; NULL if the template is not active.
    """

    __tablename__ = "payload_template"
    __table_args__ = (
        UniqueConstraint("operation", "name", name="uq_payload_template_name"),
        Index(
            "uq_payload_template_active",
            "operation",
            unique=True,
            sqlite_where=text("active_version IS NOT NULL"),
            postgresql_where=text("active_version IS NOT NULL"),
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    operation: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(String(100))
    version: Mapped[int]
    active_version: Mapped[int | None]


class TemplateVersion(Base):
    """The text of one version of a payload template; never changed."""

    __tablename__ = "payload_template_version"

    template_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    body: Mapped[str] = mapped_column(Text)


class TemplateChange(Base):
    """A change of a payload template: what was done, when, and by whom."""

    __tablename__ = "payload_template_change"
    __table_args__ = (
        Index("ix_payload_template_change_template", "template_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    template_id: Mapped[int]
    version: Mapped[int]
    what: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]
    who: Mapped[str] = mapped_column(Words)
