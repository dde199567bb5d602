"""The tables (SPEC 2.1 and 2.2). Only shared.store touches them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Index, Integer, String, Text, UniqueConstraint, literal_column, text
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column, synonym

from shared.codes.notice import Notice, Written, from_json
from shared.sentences.render import because, sentence
from shared.store.tables.explained import Explained, kept
from shared.store.tables.types import Json, Key, UtcDateTime, Words

NO_SEQUENCE = -(2**63)
HAS_ENDED = "ended_at IS NOT NULL"
GONE: ColumnElement[str] = literal_column("'gone'")
"""`LedgerState.GONE`, said literally as the index of live rows says it: who plans once knows no parameter's value."""

STATUS_DROPPED = "status_dropped"
FIELDS_DUE, FIELDS_KEPT = "fields_due IS NOT NULL", "fields_kept IS NOT NULL"
OPEN_ROWS = "state <> 'linked'"


class Base(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {datetime: UtcDateTime, int: Key, dict[str, Any]: Json, list[int]: Json}  # noqa: RUF012


class EventState(StrEnum):
    """What became of an event."""

    PENDING = "pending"
    HELD = "held"
    DONE = "done"
    SKIPPED = "skipped"
    SUPERSEDED = "superseded"
    FAILED = "failed"


class LedgerState(StrEnum):
    """Where a creation stands."""

    FREE = "free"
    CLAIMED = "claimed"
    IN_DOUBT = "in_doubt"
    LINKED = "linked"
    HELD = "held"
    GONE = "gone"


class JournalEvent(Explained, Base):
    """One event, as accepted; the truth that the queue only points at."""

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
    """A ticket's desired state: its newest snapshot, and whether the tracker still has to be given its status.

    `given_status_id` is what status_map made of the status that was given last; NULL where a version before gave it.
    `mapped_status` and `mapped_event_id` are those of the newest event whose status was in status_map when it came:
    that of the snapshot, or of an earlier one. `fields_due` are the fields of the issue that the tracker did not take
    when it was created, still to be given, not before `fields_at`; `fields_kept` those that it has otherwise after
    that, since `fields_at`.
    `unlinked_place` is where the ticket was (`Place`) when something of it was skipped for lack of a link.
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
    status_reason_text: Mapped[str | None] = mapped_column("status_reason", Words)
    status_code: Mapped[str | None] = mapped_column(String(64))
    status_params: Mapped[dict[str, Any] | None]
    mapped_status: Mapped[int | None]
    mapped_event_id: Mapped[int | None]
    fields_due: Mapped[list[str] | None] = mapped_column(Json)
    fields_kept: Mapped[list[str] | None] = mapped_column(Json)
    fields_attempts: Mapped[int | None]
    fields_at: Mapped[datetime | None]
    unlinked_place: Mapped[str | None] = mapped_column(Text)


class TicketDeletion(Base):
    """Whether the helpdesk has deleted a ticket, and the place in time of the event that says so."""

    __tablename__ = "ticket_deletion"

    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event_id: Mapped[int]
    occurred_at: Mapped[datetime]
    sequence: Mapped[int]
    is_deleted: Mapped[bool]


class LedgerRow(Explained, Base):
    """Columns of a creation that must have exactly one effect; the row is claimed before the call.

    `key` is the ticket id or the ticket-task id, whichever the row is for. `unclear` counts the attempts that got no
    clear answer; `earlier` holds their bodies where they differ from `body`: any of them may have taken effect.
    """

    __abstract__ = True

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
    changed_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> tuple[Index, ...]:
        """A tracker id belongs to one live row; what is still open is found without reading what is linked."""
        live, still_open = text("state <> 'gone'"), text(OPEN_ROWS)
        table = cls.__tablename__
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

    ticket_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[int] = synonym("ticket_id")


class TaskTimeLink(LedgerRow):
    """One time entry per ticket task."""

    __tablename__ = "task_time_link"

    task_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ticket_id: Mapped[int] = mapped_column(index=True)
    key: Mapped[int] = synonym("task_id")


class ProjectLink(Base):
    """Helpdesk project to tracker project."""

    __tablename__ = "project_link"

    helpdesk_project_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    default_category_id: Mapped[int | None]


class EntityLink(Base):
    """Helpdesk entity to tracker project; matched exactly, never through the entity tree."""

    __tablename__ = "entity_link"

    entity_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_project_id: Mapped[int]
    default_category_id: Mapped[int | None]


class UserMap(Base):
    """Manual override: helpdesk user to tracker user."""

    __tablename__ = "user_map"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(index=True)


class TrackerUser(Base):
    """Cache of the tracker's active users."""

    __tablename__ = "tracker_user"

    tracker_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    login: Mapped[str] = mapped_column(Words)
    name: Mapped[str] = mapped_column(Words)
    mail: Mapped[str | None] = mapped_column(Words)
    mail_key: Mapped[str | None] = mapped_column(Words, index=True)
    admin: Mapped[bool]


class MetadataRow(Base):
    """Cache of what the tracker offers: projects, issue types, statuses and so on, told apart by `kind`.

    `tracker_project_id` is set where the row belongs to one project (categories).
    """

    __tablename__ = "metadata_row"
    __table_args__ = (Index("ix_metadata_row_project", "kind", "tracker_project_id"),)

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    tracker_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(Text)
    tracker_project_id: Mapped[int | None]
    details: Mapped[dict[str, Any]]


class MetadataRun(Base):
    """One metadata synchronisation: when, what it read, what differed, or why it failed."""

    __tablename__ = "metadata_run"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime]
    ok: Mapped[bool]
    counts: Mapped[dict[str, Any]]
    differences: Mapped[dict[str, Any]]
    error_text: Mapped[str | None] = mapped_column("error", Words)
    code: Mapped[str | None] = mapped_column(String(64))
    params: Mapped[dict[str, Any] | None] = mapped_column(Json)

    @property
    def notice(self) -> Notice | None:
        """Why it failed; None where it did not."""
        return kept(self.error_text, self.code, self.params)

    @property
    def error(self) -> str | None:
        """Why it failed, for people."""
        notice = self.notice
        return None if notice is None else sentence(notice)


class HelpdeskPerson(Base):
    """A helpdesk user that events have named, with the newest e-mail."""

    __tablename__ = "helpdesk_user"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    email: Mapped[str | None] = mapped_column(Text)
    seen_at: Mapped[datetime]


class UserPin(Base):
    """Whom a helpdesk user was matched with by e-mail at first; another match waits for a person."""

    __tablename__ = "user_pin"

    helpdesk_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(index=True)
    pinned_at: Mapped[datetime]
    confirmed_at: Mapped[datetime | None]


class MembershipKnown(Base):
    """A membership that was ensured before, so that it is not asked for again."""

    __tablename__ = "membership_known"

    tracker_project_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    tracker_user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)


class PluginConfigRecord(Base):
    """The single configuration record (SPEC 2.1); the API key is encrypted."""

    __tablename__ = "plugin_config"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    values: Mapped[dict[str, Any]]
    api_key_encrypted: Mapped[str | None] = mapped_column(Text)
    changed_at: Mapped[datetime]


class InstallationRecord(Base):
    """The single row that names the installation, for what is kept outside of this database."""

    __tablename__ = "installation"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(32))


class Basis(Base):
    """The single row that counts the changes of what is sent is built from."""

    __tablename__ = "basis"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    changes: Mapped[int]


class PayloadTemplate(Base):
    """A payload template (SPEC 2.2 "Template store"); at most one of an operation is active.

    `version` is the newest; `active_version` the one in force, NULL where the template is not active.
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
    """What was done to a payload template, when, and by whom."""

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


class DryRunObject(Explained, Base):
    """Something that a dry run asked the tracker for, until it is known to be gone again."""

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


class RecoveryMode(Base):
    """The single row that says: a backup was restored, so look on the tracker before anything is created.

    `since` is how far the lookups reach back: nothing of ours that this database lacks is older.
    """

    __tablename__ = "recovery"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    since: Mapped[datetime]
    began_at: Mapped[datetime]


class Misattributed(Explained, Base):
    """An issue or a time entry that has another author on the tracker than was meant, and why."""

    __tablename__ = "misattributed"
    __table_args__ = (Index("ix_misattributed_at", "at", "kind", "key"),)

    kind: Mapped[str] = mapped_column(String(12), primary_key=True)
    key: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ticket_id: Mapped[int]
    tracker_id: Mapped[int]
    at: Mapped[datetime]


class ReconciliationMark(Base):
    """The single row that says until when the helpdesk was compared with the journal, and what was missing then.

    `hours_since`, a day as YYYY-MM-DD: ticket tasks of an earlier one are left out.
    """

    __tablename__ = "reconciliation_mark"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    read_until: Mapped[datetime]
    ran_at: Mapped[datetime]
    missing: Mapped[int]
    hours_since: Mapped[str | None] = mapped_column(Text)


class ProducerSign(Base):
    """A producer's heartbeat, with what it refused since it was started: by reason and address, no bodies."""

    __tablename__ = "producer_sign"

    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    seen_at: Mapped[datetime]
    process: Mapped[dict[str, Any]]
    refused: Mapped[list[Any]] = mapped_column(Json)


class TraceStep(Base):
    """One thing that happened to a ticket and why, with the outbound call where there was one.

    The version before codes wrote two sentences; of a step of today the first is its code (decision 0016).
    """

    __tablename__ = "trace_step"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    ticket_id: Mapped[int] = mapped_column(index=True)
    task_id: Mapped[int | None]
    at: Mapped[datetime] = mapped_column(index=True)
    what_text: Mapped[str] = mapped_column("what", Words)
    why_text: Mapped[str] = mapped_column("why", Words)
    code: Mapped[str | None] = mapped_column(String(64))
    params: Mapped[dict[str, Any] | None]
    call: Mapped[dict[str, Any] | None]

    @property
    def notice(self) -> Notice:
        """What happened."""
        if self.code is not None:
            return Notice(self.code, from_json(self.params))
        return Written.AS_WRITTEN(text=self.what_text, why=self.why_text)

    @property
    def what(self) -> str:
        """What happened, in English, for people."""
        return sentence(self.notice)

    @property
    def why(self) -> str:
        """Why it was done, or what to do about it, likewise; empty where nothing is to be said."""
        return because(self.notice)


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
    def notice(self) -> Notice:
        """What was done."""
        return Notice(self.code, from_json(self.params))
