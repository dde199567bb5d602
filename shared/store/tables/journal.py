"""The journal's tables: events, desired states, ticket history, and single rows of an installation."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from shared.notices.notice import Notice, from_json
from shared.notices.render import because, sentence
from shared.store.tables.explained import Explained
from shared.store.tables.types import Base, Json

NO_SEQUENCE = -(2**63)
HAS_ENDED = "ended_at IS NOT NULL"
STATUS_DROPPED = "status_dropped"
FIELDS_DUE, FIELDS_KEPT = "fields_due IS NOT NULL", "fields_kept IS NOT NULL"


class EventState(StrEnum):
    """The state of an event."""

    PENDING = "pending"
    ON_HOLD = "on_hold"
    DONE = "done"
    SKIPPED = "skipped"
    SUPERSEDED = "superseded"
    FAILED = "failed"


class JournalEvent(Explained, Base):
    """An accepted event; a queue message only names its ticket."""

    __tablename__ = "journal"
    __table_args__ = (
        UniqueConstraint("delivery_id", "digest", name="uq_journal_delivery"),
        Index("ix_journal_ticket_id", "ticket_id", "state"),
        Index("ix_journal_key", "key"),
        Index("ix_journal_state", "state", "next_attempt_at"),
        Index("ix_journal_received_at", "received_at"),
        Index("ix_journal_event", "event", "id"),
        Index(
            "ix_journal_ended_at", "ended_at", sqlite_where=text(HAS_ENDED), postgresql_where=text(HAS_ENDED)
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    delivery_id: Mapped[str] = mapped_column(String(255))
    digest: Mapped[str] = mapped_column(String(64))
    event: Mapped[str] = mapped_column(String(32))
    key: Mapped[str] = mapped_column(String(40))
    ticket_id: Mapped[int]
    task_id: Mapped[int | None]
    occurred_at: Mapped[datetime]
    clamped: Mapped[bool]
    sequence: Mapped[int] = mapped_column(default=NO_SEQUENCE)
    received_at: Mapped[datetime]
    payload: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(12), default=EventState.PENDING)
    attempts: Mapped[int] = mapped_column(default=0)
    next_attempt_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    completion: Mapped[str | None] = mapped_column(Text)
    traceparent: Mapped[str | None] = mapped_column(String(55))


class TicketState(Base):
    """A ticket's desired state: its newest snapshot, and whether its status must still be set on the tracker.

    Attributes:
        given_status_id: tracker status that was set last; NULL if it is unknown.
        mapped_status, mapped_event_id: status and id of the newest event whose status was in status_map when it
            arrived: the snapshot's event or an earlier one.
        fields_due: fields that the tracker ignored when the issue was created; they are set not before `fields_at`.
        fields_kept: fields that still differ on the tracker after that, since `fields_at`.
        unlinked_place: where the ticket was (`Place`) when its events were skipped for lack of a project mapping.
        notes_wait: whether additions of the ticket were skipped because it had no issue yet.
    """

    __tablename__ = "ticket_state"
    __table_args__ = (
        Index("ix_ticket_state_due", "status_due", "status_next_at"),
        Index("ix_ticket_state_status", "status"),
        *(
            Index(
                f"ix_ticket_state_{name}", "ticket_id", sqlite_where=text(some), postgresql_where=text(some)
            )
            for name, some in (
                ("fields_due", FIELDS_DUE),
                ("fields_kept", FIELDS_KEPT),
                ("status_dropped", STATUS_DROPPED),
            )
        ),
    )

    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event_id: Mapped[int]
    occurred_at: Mapped[datetime]
    sequence: Mapped[int]
    status: Mapped[int]
    snapshot: Mapped[dict[str, Any]]
    given_event_id: Mapped[int | None]
    given_status_id: Mapped[int | None]
    status_due: Mapped[bool]
    status_attempts: Mapped[int] = mapped_column(default=0)
    status_next_at: Mapped[datetime | None]
    status_dropped: Mapped[bool | None]
    status_code: Mapped[str | None] = mapped_column(String(64))
    status_params: Mapped[dict[str, Any] | None]
    mapped_status: Mapped[int | None]
    mapped_event_id: Mapped[int | None]
    fields_due: Mapped[list[str] | None] = mapped_column(Json)
    fields_kept: Mapped[list[str] | None] = mapped_column(Json)
    fields_attempts: Mapped[int | None]
    fields_at: Mapped[datetime | None]
    unlinked_place: Mapped[str | None] = mapped_column(Text)
    notes_wait: Mapped[bool | None]


class TicketDeletion(Base):
    """Whether the help desk has deleted a ticket, and the place in time of the event that reported it."""

    __tablename__ = "ticket_deletion"

    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event_id: Mapped[int]
    occurred_at: Mapped[datetime]
    sequence: Mapped[int]
    is_deleted: Mapped[bool]


class TraceStep(Base):
    """A step of a ticket's history: what happened and why, with the outbound call if there was one."""

    __tablename__ = "trace_step"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    ticket_id: Mapped[int] = mapped_column(index=True)
    task_id: Mapped[int | None]
    at: Mapped[datetime] = mapped_column(index=True)
    code: Mapped[str] = mapped_column(String(64))
    params: Mapped[dict[str, Any]]
    call: Mapped[dict[str, Any] | None]

    @property
    def notice(self) -> Notice:
        """What happened."""
        return Notice(self.code, from_json(self.params))

    @property
    def what(self) -> str:
        """What happened, in English for people."""
        return sentence(self.notice)

    @property
    def why(self) -> str:
        """Why it happened, or what to do about it, in English for people; empty if there is no explanation."""
        return because(self.notice)


class ReconciliationMark(Base):
    """The single row of reconciliation: until when the help desk was compared with the journal, and what was missing.

    Attributes:
        hours_since: a day as YYYY-MM-DD; ticket tasks of earlier days are left out.
    """

    __tablename__ = "reconciliation_mark"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    read_until: Mapped[datetime]
    ran_at: Mapped[datetime]
    missing: Mapped[int]
    hours_since: Mapped[str | None] = mapped_column(Text)


class RecoveryMode(Base):
    """The single row of recovery mode: a backup was restored, so the tracker is searched before each creation.

    Attributes:
        since: how far back the searches go; objects that deskbridge created and this database lacks are newer.
        backup_at: when the backup was made: the newest activity in it, or the time that a person named.
    """

    __tablename__ = "recovery"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    since: Mapped[datetime]
    began_at: Mapped[datetime]
    backup_at: Mapped[datetime | None]

    @property
    def needed_until(self) -> datetime:
        """When the mode has been on for as long as the backup was old."""
        return self.began_at + (self.began_at - (self.backup_at or self.since))


class ProducerSign(Base):
    """A producer's heartbeat, with the deliveries refused since its start: by reason and address, without bodies.

    Attributes:
        spools: its senders' reports on their spools.
    """

    __tablename__ = "producer_sign"

    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    seen_at: Mapped[datetime]
    process: Mapped[dict[str, Any]]
    refused: Mapped[list[Any]] = mapped_column(Json)
    spools: Mapped[list[Any]] = mapped_column(Json)


class InstallationRecord(Base):
    """The single row with the installation's id, which marks its data outside this database.

    Attributes:
        epoch: when a person last confirmed this database after a restore (seconds); NULL: never.
        database: the database's own identity at that time, or at its first start; NULL if it has none.
        highest: kind to the highest help desk number in the events that are past their retention.
    """

    __tablename__ = "installation"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(32))
    epoch: Mapped[int | None]
    database: Mapped[str | None] = mapped_column(Text)
    highest: Mapped[dict[str, Any] | None]
