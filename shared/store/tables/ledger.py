"""The ledger's tables: creations that must take effect exactly once, and their states."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import ColumnElement, Index, Integer, String, inspect, literal_column, text
from sqlalchemy.orm import Mapped, declared_attr, mapped_column, synonym

from shared.notices.kinds import Kind
from shared.store.tables.explained import Explained
from shared.store.tables.types import Base, Json

GONE: ColumnElement[str] = literal_column("'gone'")
"""`LedgerState.GONE` as a literal, as in the index of live rows: a generic plan cannot use a parameter's value."""
OPEN_ROWS = "state <> 'linked'"


class LedgerState(StrEnum):
    """The state of a creation."""

    FREE = "free"
    CLAIMED = "claimed"
    IN_DOUBT = "in_doubt"
    LINKED = "linked"
    ON_HOLD = "on_hold"
    GONE = "gone"


class LedgerRow(Explained, Base):
    """Columns of a creation that must take effect exactly once; the row is claimed before the call.

    Attributes:
        kind: what the row creates.
        key: help desk id of the ticket, ticket task, follow-up or solution; for a document see `document_key`.
        unclear: number of attempts without a clear answer.
        earlier: the bodies of those attempts that differ from `body`; any of them may have taken effect.
        newest_before: the newest tracker id of its series that was known before the first attempt that may have taken
            effect: what that attempt created has a higher id.
        created_on: when the linked object was created, as the tracker says; with the author it identifies the object.
        item_created_at: when the help desk created what the row was claimed for, if the event says so.
    """

    __abstract__ = True
    kind: ClassVar[Kind]

    if TYPE_CHECKING:
        key: Mapped[int]
        ticket_id: Mapped[int]

    state: Mapped[str] = mapped_column(String(12))
    attempt: Mapped[int]
    event_id: Mapped[int | None]
    tracker_project_id: Mapped[int | None]
    issue_id: Mapped[int | None]
    body: Mapped[dict[str, Any] | None]
    authors: Mapped[list[int] | None]
    fingerprint: Mapped[str | None] = mapped_column(String(64), index=True)
    first_claimed_at: Mapped[datetime | None]
    claimed_at: Mapped[datetime | None]
    lease_until: Mapped[datetime | None]
    settle_after: Mapped[datetime | None]
    rounds: Mapped[int]
    tracker_id: Mapped[int | None]
    adopted: Mapped[bool]
    duplicate: Mapped[bool]
    author_id: Mapped[int | None]
    candidates: Mapped[list[int] | None]
    unclear: Mapped[int | None] = mapped_column(Integer)
    earlier: Mapped[list[dict[str, Any]] | None] = mapped_column(Json)
    newest_before: Mapped[int | None]
    created_on: Mapped[datetime | None]
    item_created_at: Mapped[datetime | None]
    changed_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> tuple[Index, ...]:
        """Allow at most one live row per tracker id; index the open rows without the linked ones."""
        live, still_open = text("state <> 'gone'"), text(OPEN_ROWS)
        table = cls.__tablename__
        if "__tablename__" not in vars(cls):  # it shares another class's table
            return ()
        return (
            Index(
                f"uq_{table}_tracker_id",
                "tracker_id",
                unique=True,
                sqlite_where=live,
                postgresql_where=live,
            ),
            Index(f"ix_{table}_open", "state", sqlite_where=still_open, postgresql_where=still_open),
        )


class TicketIssueLink(LedgerRow):
    """One tracker issue per ticket."""

    __tablename__ = "ticket_issue_link"
    kind = Kind.TICKET

    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[int] = synonym("ticket_id")


class TaskTimeLink(LedgerRow):
    """One time entry per ticket task."""

    __tablename__ = "task_time_link"
    kind = Kind.TICKET_TASK

    task_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ticket_id: Mapped[int] = mapped_column(index=True)
    key: Mapped[int] = synonym("task_id")


class NoteLink(LedgerRow):
    """One note per follow-up or solution, in one table, because the tracker numbers both kinds in one series."""

    __tablename__ = "note_link"
    __mapper_args__ = {"polymorphic_on": "of_kind", "polymorphic_abstract": True}  # noqa: RUF012

    item_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    of_kind: Mapped[str] = mapped_column("kind", String(12), primary_key=True)
    ticket_id: Mapped[int] = mapped_column(index=True)
    key: Mapped[int] = synonym("item_id")


class FollowupNote(NoteLink):
    """The note of a follow-up."""

    kind = Kind.FOLLOWUP
    __mapper_args__ = {"polymorphic_identity": str(Kind.FOLLOWUP)}  # noqa: RUF012


class SolutionNote(NoteLink):
    """The note of a solution."""

    kind = Kind.SOLUTION
    __mapper_args__ = {"polymorphic_identity": str(Kind.SOLUTION)}  # noqa: RUF012


class DocumentLink(LedgerRow):
    """One attachment per document of a ticket, whatever item it is attached to; the key contains both ids."""

    __tablename__ = "document_link"
    kind = Kind.DOCUMENT

    item_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ticket_id: Mapped[int] = mapped_column(index=True)
    key: Mapped[int] = synonym("item_id")


MODELS: dict[Kind, type[LedgerRow]] = {
    one.kind: one for one in (TicketIssueLink, TaskTimeLink, FollowupNote, SolutionNote, DocumentLink)
}
"""The model of each kind; kinds that share a table also share a series of tracker ids."""
LEDGERS: tuple[type[LedgerRow], ...] = (TicketIssueLink, TaskTimeLink, NoteLink, DocumentLink)
"""One model per table."""


def own(model: type[LedgerRow]) -> list[ColumnElement[bool]]:
    """Return the conditions that select the rows of one kind within their table."""
    return [NoteLink.of_kind == str(model.kind)] if issubclass(model, NoteLink) else []


def key_column(model: type[LedgerRow]) -> str:
    """Return the name of the column that holds the key."""
    return str(inspect(model).synonyms["key"].name)


class Misattributed(Explained, Base):
    """An object whose author on the tracker is not the intended one, and why.

    Additions are recorded only if they were found after an unclear answer, for their events; they are not listed.
    """

    __tablename__ = "misattributed"
    __table_args__ = (Index("ix_misattributed_at", "at", "kind", "key"),)

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ticket_id: Mapped[int]
    tracker_id: Mapped[int]
    at: Mapped[datetime]


class DryRunObject(Explained, Base):
    """A test object that a dry run requested from the tracker, until it is known to be deleted."""

    __tablename__ = "dry_run_object"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    mark: Mapped[str] = mapped_column(String(64))
    tracker_project_id: Mapped[int | None]
    tracker_id: Mapped[int | None]
    begun_at: Mapped[datetime]
    attempts: Mapped[int]
    next_attempt_at: Mapped[datetime]
