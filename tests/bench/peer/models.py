"""The peer's tables."""

from __future__ import annotations

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Base of the peer's tables."""


class ProjectMappingRow(Base):
    """Maps a help desk project to a tracker project."""

    __tablename__ = "project_links"
    helpdesk_project_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    category_id: Mapped[int | None]


class EntityMappingRow(Base):
    """Maps a help desk entity to a tracker project."""

    __tablename__ = "entity_links"
    entity_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    category_id: Mapped[int | None]


class Person(Base):
    """A tracker user."""

    __tablename__ = "people"
    tracker_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    login: Mapped[str]
    email: Mapped[str] = mapped_column(index=True)


class TicketLink(Base):
    """The issue of a ticket."""

    __tablename__ = "ticket_links"
    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    issue_id: Mapped[int]


class TaskLink(Base):
    """The time entry of a ticket task."""

    __tablename__ = "task_links"
    task_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    time_entry_id: Mapped[int]
