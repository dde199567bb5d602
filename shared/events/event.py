"""Events of the help desk (SPEC section 6): events with a snapshot of the ticket, and deletions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, BeforeValidator, Field

from shared.events.snapshots import (
    ContentFormat,
    Document,
    DocumentId,
    HelpdeskUser,
    Integer,
    Note,
    Shape,
    TextHolder,
    Ticket,
    TicketTask,
    document_key,
    only_text,
    web_address,
)
from shared.notices.invalid import Invalid
from shared.notices.kinds import Kind, RowId
from shared.values.validation import Id, Unfit

NoteUpdate = Literal["followup.updated", "solution.updated"]
EventName = Literal[
    "ticket_task.added",
    "ticket_task.updated",
    "ticket.updated",
    "followup.added",
    "solution.added",
    "document.added",
    NoteUpdate,
]
DeletionName = Literal[
    "ticket.deleted",
    "ticket.restored",
    "ticket_task.deleted",
    "followup.deleted",
    "solution.deleted",
    "document.deleted",
]
EVENTS: tuple[EventName, ...] = get_args(EventName)
DELETIONS: tuple[DeletionName, ...] = get_args(DeletionName)
NOTE_UPDATES: tuple[NoteUpdate, ...] = get_args(NoteUpdate)
TICKET_DELETED: DeletionName = "ticket.deleted"
PART_OF = {"ticket_task": "task", "followup": "followup", "solution": "solution", "document": "document"}
"""First word of an event's name to the part that the event is about; its other parts are ignored."""
HOLDERS = {
    "TicketTask": Kind.TICKET_TASK,
    "ITILFollowup": Kind.FOLLOWUP,
    "ITILSolution": Kind.SOLUTION,
}
"""Items of a ticket to which a document can be attached, by the help desk's name."""
ADDITION_EVENTS = tuple(one for one in EVENTS if not one.startswith("ticket"))
NOTE_EVENTS = tuple(one for one in ADDITION_EVENTS if not one.startswith("document"))
Fact = Literal[
    "ticket.project_id",
    "ticket.other_project_ids",
    "ticket.requester",
    "ticket.technician",
    "ticket.technician.email",
    "task.user.email",
    "task.technician.email",
    "followup.user.email",
    "solution.user.email",
]
"""Facts that a help desk's own webhooks leave out of an event."""
OTHER_PROJECTS: Fact = "ticket.other_project_ids"
"""Looked up together with `ticket.project_id`."""
EMAILS: tuple[Fact, ...] = tuple(one for one in get_args(Fact) if one.endswith(".email"))
"""Looked up together with the other addresses of a person (`….emails`)."""
EMAIL_OF_USER: tuple[Fact, ...] = tuple(one for one in get_args(Fact) if one.endswith(".user.email"))
"""E-mail address of the person who logged the task or wrote the note that an event is about (`Event.user`)."""


def _a_name(value: object) -> object:
    if value not in EVENTS:
        raise Unfit(Invalid.CHOICE_EXPECTED(choices=[*EVENTS, *DELETIONS]))
    return value


def known_facts(value: object) -> list[str]:
    """Return the known facts of a list; ignore the rest, since a sender may use this key for data of its own."""
    return [one for one in value if one in get_args(Fact)] if isinstance(value, list) else []


OccurredAt = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(only_text)]


class Event(TextHolder):
    """An event of the help desk, with a snapshot of the ticket.

    Attributes:
        incomplete: facts that the help desk did not send although it may know them, and that are still unknown. Null
            means "unknown" for them.
    """

    event: Annotated[EventName, BeforeValidator(_a_name)] = Field(
        description=(
            "`ticket_task.added`, `ticket_task.updated`, `ticket.updated`, `followup.added`, `followup.updated`, "
            "`solution.added`, `solution.updated` or `document.added`; for deletions see below"
        )
    )
    occurred_at: OccurredAt = Field(
        description=(
            "When it happened, by the help desk's clock, RFC 3339 with an offset. If it is more than five minutes "
            "ahead, the time of arrival counts"
        )
    )
    sequence: Integer | None = Field(
        default=None, description="An integer that orders events with the same occurred_at"
    )
    content_format: ContentFormat | None = Field(
        default=None,
        description="Format of every `content` in the event: `html` or `plain`; without it, deskbridge guesses each",
    )
    helpdesk_url: Annotated[str | None, BeforeValidator(web_address)] = Field(
        default=None, description="The help desk's URL, for relative links and images in texts"
    )
    ticket: Ticket
    task: TicketTask | None = Field(default=None, description="Required for ticket_task.*, otherwise ignored")
    followup: Note | None = Field(default=None, description="Required for followup.*, otherwise ignored")
    solution: Note | None = Field(default=None, description="Required for solution.*, otherwise ignored")
    document: Document | None = Field(
        default=None, description="Required for document.added, otherwise ignored"
    )
    incomplete: Annotated[list[Fact], BeforeValidator(known_facts)] = Field(default_factory=list)

    @property
    def key(self) -> str:
        """The event's key: its kind and number, such as `ticket:<id>`; for a document see `addition_key`."""
        return _key(self)

    @property
    def note(self) -> Note | None:
        """The follow-up or solution that the event is about."""
        return self.followup or self.solution

    @property
    def addition(self) -> Note | Document | None:
        """The follow-up, solution or document that the event adds to the issue, or None."""
        return self.note or self.document

    @property
    def addition_kind(self) -> Kind:
        """The kind of the addition; valid only if the event has one."""
        if self.document:
            return Kind.DOCUMENT
        return Kind.FOLLOWUP if self.followup else Kind.SOLUTION

    @property
    def addition_key(self) -> int:
        """The addition's number, or 0 if there is none; for a document it also contains the ticket's number."""
        if self.document:
            return document_key(self.ticket.id, self.document.id)
        return self.note.id if self.note else 0

    @property
    def part(self) -> TicketTask | Note | Document | None:
        """The part of the ticket that the event is about, or None if it is about the ticket itself."""
        return self.task or self.addition

    @property
    def created(self) -> datetime | None:
        """When the help desk created what the event is about, if known."""
        return (self.part or self.ticket).created

    @property
    def holder(self) -> RowId | None:
        """The task, follow-up or solution that the document is attached to, or None."""
        item = self.document.item if self.document else None
        return (HOLDERS[item.type], item.id) if item and item.type in HOLDERS else None

    @property
    def as_private(self) -> Event:
        """The event of a follow-up or solution, as if that had been private."""
        name = "followup" if self.followup else "solution"
        note = self.note.model_copy(update={"is_private": True}) if self.note else None
        return self.model_copy(update={name: note})

    @property
    def user(self) -> HelpdeskUser | None:
        """The person who wrote the task, wrote the note or added the document, or None."""
        return self.part.user if self.part else None

    @property
    def is_update(self) -> bool:
        """Whether the event is about the ticket itself."""
        return self.task is None and self.addition is None


class Numbered(Shape):
    """A ticket or a part of it of which only the id is sent.

    Attributes:
        is_private: whether the part is private now, if that is known.
    """

    id: Id
    is_private: bool | None = None


class NumberedDocument(Numbered):
    """A document of which only the id is sent."""

    id: DocumentId


class Deletion(Shape):
    """A deletion, the restoration of a ticket from the bin, or a note that became private; it has no snapshot."""

    event: DeletionName | NoteUpdate
    occurred_at: OccurredAt
    sequence: Integer | None = None
    ticket: Numbered
    task: Numbered | None = None
    followup: Numbered | None = None
    solution: Numbered | None = None
    document: NumberedDocument | None = None

    @property
    def key(self) -> str:
        """The key of what was deleted or restored, or became private."""
        return _key(self)

    @property
    def part(self) -> Numbered | None:
        """The part of the ticket that the event is about, or None if it is about the ticket itself."""
        return self.task or self.followup or self.solution or self.document

    @property
    def is_deleted(self) -> bool:
        """Whether the event reports a deletion; False if a ticket was restored or a note became private."""
        return self.event.endswith(".deleted")


def is_private(event: Event | Deletion) -> bool:
    """Return whether an event is about a part of a ticket that is private."""
    return bool(event.part and event.part.is_private)


def _key(event: Event | Deletion) -> str:
    if event.document:
        return f"{Kind.DOCUMENT}:{document_key(event.ticket.id, event.document.id)}"
    parts = {Kind.TICKET_TASK: event.task, Kind.FOLLOWUP: event.followup, Kind.SOLUTION: event.solution}
    kind, part = next(((kind, part) for kind, part in parts.items() if part), (Kind.TICKET, event.ticket))
    return f"{kind}:{part.id}"
