"""Snapshots of a ticket and its parts in an event (SPEC section 6), with the validation of each field."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from shared.events.place import Place, place_of
from shared.notices.invalid import Invalid
from shared.values.ids import LARGEST
from shared.values.validation import Id, Unfit, is_in_milliseconds, is_in_seconds, parts_of

LARGEST_DOCUMENT = 10**9 - 1
LARGEST_TICKET = LARGEST // 10**9 - 1
"""The largest number of a ticket with documents, because their keys contain both numbers."""
ContentFormat = Literal["html", "plain"]
"""The format of an event's texts; None: guessed for each text."""
Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
DocumentId = Annotated[int, Field(ge=1, le=LARGEST_DOCUMENT)]
RFC3339 = re.compile(r"(19[7-9]\d|2\d{3})-\d\d-\d\d[Tt ]\d\d:\d\d")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].+)?")
MOST_PROJECTS = 100
MOST_EMAILS = 20
MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
LONGEST_MEDIA_TYPE = 100
STORED = {"stored": True}
"""The validation context of a payload that was accepted before."""


class Shape(BaseModel):
    """Base of an event and its parts: strict types, extra keys ignored, immutable."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)


def web_address(value: object) -> object:
    """Reject a text that is not an http or https URL."""
    if not isinstance(value, str):
        return value  # the type check reports the fault
    parts = parts_of(value)
    if (
        not value.isprintable()
        or parts is None
        or parts.scheme not in ("http", "https")
        or not parts.hostname
    ):
        raise Unfit(Invalid.WEB_ADDRESS_EXPECTED())
    return value


class TextHolder(Shape):
    """Base of parts with rich text, with the text format and URL that the event states for all of its texts."""

    content_format: ContentFormat | None = Field(
        default=None, description="Ignored here; the value of the event applies"
    )
    helpdesk_url: Annotated[str | None, BeforeValidator(web_address)] = Field(
        default=None, description="Ignored here; the value of the event applies"
    )


class HelpdeskUser(Shape):
    """A user of the help desk."""

    id: Id = Field(description="Id of the user in the help desk")
    email: str | None = Field(
        default=None, description="E-mail address by which deskbridge finds the Redmine user"
    )
    emails: Annotated[list[str], Field(max_length=MOST_EMAILS)] | None = Field(
        default=None, description="All e-mail addresses, if there are several; used if no user has `email`"
    )
    name: str | None = Field(default=None, description="Display name")


class Named(Shape):
    """A category, group or location of the help desk."""

    id: Id = Field(description="Its id in the help desk")
    name: str | None = Field(default=None, description="Its name")


def only_text(value: object) -> object:
    """Reject a time that is not written as RFC 3339; the fault states whether it is a Unix time."""
    if isinstance(value, str) and RFC3339.match(value):
        return value
    digits = str(value) if isinstance(value, (int, str)) else ""
    if is_in_milliseconds(digits):
        raise Unfit(Invalid.TIME_IN_MILLISECONDS())
    raise Unfit(Invalid.TIME_IN_SECONDS() if is_in_seconds(digits) else Invalid.TIME_WITHOUT_OFFSET())


def _moment(value: object) -> object:
    if value is not None:
        try:
            is_aware = datetime.fromisoformat(str(only_text(value))).tzinfo is not None
        except ValueError:
            is_aware = False
        if not is_aware:
            raise Unfit(Invalid.TIME_WITHOUT_OFFSET())
    return value


def _creation_time(value: object, info: ValidationInfo) -> object:
    """Return a time; reject an unreadable one, or return None for it if the event was accepted before."""
    try:
        return _moment(value)
    except Unfit:
        if info.context is not STORED:
            raise
        return None


class Item(Shape):
    """Base of items of the help desk, which may give the id of an item to a new one when it is restored."""

    created_at: Annotated[str | None, BeforeValidator(_creation_time)] = Field(
        default=None,
        description=(
            "When the help desk created it, RFC 3339 with an offset; shows whether it gave the id to another item"
        ),
    )

    @property
    def created(self) -> datetime | None:
        """When the help desk created it, if known."""
        return datetime.fromisoformat(self.created_at) if self.created_at else None


class Ticket(TextHolder, Item):
    """A ticket's snapshot at the time of the event."""

    id: Id = Field(description="The ticket's number")
    title: str = Field(description="The current title, text; becomes the issue's subject")
    content: str | None = Field(default=None, description="HTML or text; becomes the issue's description")
    status: Integer = Field(description="The help desk's number of the status; see status_map")
    is_deleted: bool | None = Field(
        default=None,
        description="Whether the ticket is in the help desk's bin, if known; a later `false` acts as ticket.restored",
    )
    is_merged: bool | None = Field(
        default=None,
        description=(
            "Whether the ticket was merged into another one: the issue gets `deleted_status_id`, if that is set, and "
            "work from before is still sent"
        ),
    )
    entity_id: Annotated[int, Field(ge=0, le=LARGEST)] = Field(
        description="Id of the ticket's entity in the help desk"
    )
    entity_name: str | None = Field(
        default=None, description="Name of the entity, shown with its id or instead of it"
    )
    project_id: Id | None = Field(
        default=None,
        description="Id of the ticket's project in the help desk; if it has several, the lowest id",
    )
    other_project_ids: Annotated[list[Id], Field(max_length=MOST_PROJECTS)] | None = Field(
        default=None,
        description="Ids of the ticket's other projects. The first project with a mapping decides, before the entity",
    )
    project_name: str | None = Field(default=None, description="Name of `ticket.project_id`")
    technician: HelpdeskUser | None = Field(
        default=None, description="The assigned technician; becomes the issue's author"
    )
    url: Annotated[str | None, BeforeValidator(web_address)] = Field(
        default=None, description="The ticket's page in the help desk, an http or https URL"
    )
    urgency: Integer | None = Field(
        default=None,
        description="The help desk's number. This and the following fields are for templates and settings",
    )
    impact: Integer | None = Field(default=None, description="The help desk's number")
    priority: Integer | None = Field(default=None, description="The help desk's number")
    type: Integer | None = Field(default=None, description="1 for an incident, 2 for a request")
    category: Named | None = Field(default=None, description="The ticket's category")
    requester: HelpdeskUser | None = Field(default=None, description="The first requester")
    groups: list[Named] | None = Field(default=None, description="The assigned groups")
    location: Named | None = Field(default=None, description="The ticket's location")
    time_to_resolve: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="Due date, RFC 3339 with an offset"
    )
    external_id: str | None = Field(default=None, description="The ticket's number in another system")

    @property
    def place(self) -> Place:
        """The ticket's projects and entity in the help desk."""
        return place_of(
            {name: getattr(self, name) for name in ("project_id", "other_project_ids", "entity_id")}
        )


def day_of(text: str) -> str | None:
    """Return the calendar day of a date, or of a date and time, as written, or None if it is neither."""
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return text[: len("2026-11-20")] if DAY.fullmatch(text) else None


def _only_day(value: object, info: ValidationInfo) -> object:
    """Return the day; reject an unreadable one, or return None for it if the event was accepted before."""
    if not isinstance(value, str):
        return value
    day = day_of(value)
    if day is None and info.context is not STORED:
        raise Unfit(Invalid.DAY_EXPECTED())
    return day


class TicketTask(TextHolder, Item):
    """A ticket task's snapshot at the time of the event."""

    id: Id = Field(description="The ticket task's number")
    content: str | None = Field(default=None, description="HTML or text; becomes the time entry's comment")
    state: Integer = Field(description="State of the task; 2 means Done (see done_state)")
    actiontime: Integer = Field(description="Time spent, in seconds")
    user: HelpdeskUser | None = Field(
        default=None, description="Who wrote the task; becomes the time entry's author (see task_author)"
    )
    technician: HelpdeskUser | None = Field(
        default=None, description="For whom the task is planned; the author with `task_author=technician`"
    )
    date: Annotated[str | None, BeforeValidator(_only_day)] = Field(
        default=None,
        description=(
            "Day of the work, such as `2026-11-20`; becomes the time entry's date (see spent_on). Of a date and time, "
            "the day counts as written"
        ),
    )
    is_private: bool | None = Field(
        default=None, description="Whether the text is private (see private_tasks); if missing, it is not"
    )
    copy_of: Id | None = Field(
        default=None,
        description=(
            "Number of the original, if this task is a copy that the help desk made when it merged or cloned tickets. "
            "A copy is skipped"
        ),
    )
    copied_from_ticket: Id | None = Field(
        default=None,
        description=(
            "For a copy whose original the help desk does not name: number of the ticket from which it was copied"
        ),
    )

    @property
    def public(self) -> TicketTask:
        """The ticket task, without its text if it is private."""
        return self.model_copy(update={"content": None}) if self.is_private else self


class Note(TextHolder, Item):
    """A follow-up or a solution of a ticket, as it was when it was added or changed."""

    id: Id = Field(description="Its number in the help desk")
    content: str | None = Field(default=None, description="HTML or text; becomes a note of the issue")
    user: HelpdeskUser | None = Field(default=None, description="Who wrote it; becomes the note's author")
    date: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None,
        description=(
            "When it was written, RFC 3339 with an offset; begins a note that is sent more than ten minutes later"
        ),
    )
    is_private: bool | None = Field(
        default=None,
        description=(
            "Whether it is private; then the Redmine note is private, too (for follow-ups see sync_followups). If "
            "missing, it is not"
        ),
    )

    @property
    def written_at(self) -> datetime | None:
        """When it was written, with the offset of the help desk."""
        return datetime.fromisoformat(self.date) if self.date else None


class Holder(Shape):
    """The item to which a document is attached in GLPI."""

    type: Literal["Ticket", "ITILFollowup", "ITILSolution", "TicketTask"] = Field(
        description="`Ticket`, `ITILFollowup`, `ITILSolution` or `TicketTask`"
    )
    id: Id = Field(description="Number of the item in the help desk")


def _media_type(value: object) -> object:
    """Return a type and subtype in lower case, without parameters; None for any other text."""
    if not isinstance(value, str):
        return value
    found = value.partition(";")[0].strip().lower()
    return found if len(found) <= LONGEST_MEDIA_TYPE and MEDIA_TYPE.fullmatch(found) else None


class Document(Item):
    """A document of a ticket; deskbridge fetches its content from the help desk before it sends the document."""

    id: DocumentId = Field(description="The document's number")
    name: str | None = Field(default=None, description="File name; not stored if the document is private")
    mime_type: Annotated[str | None, BeforeValidator(_media_type)] = Field(
        default=None,
        description="Such as `image/png`, without parameters. The attachment's type follows from the file name",
    )
    size: Annotated[int, Field(ge=0, le=LARGEST)] | None = Field(
        default=None,
        description="Size in bytes; a download of another size is checked against GLPI's checksum",
    )
    user: HelpdeskUser | None = Field(
        default=None, description="Who added it; becomes the attachment's author"
    )
    date: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="When it was added, RFC 3339 with an offset"
    )
    item: Holder | None = Field(default=None, description="The item to which it is attached")
    is_private: bool | None = Field(
        default=None,
        description="Whether that item is private; then the document is not sent. If missing, it is not private",
    )


def document_key(ticket_id: int, document_id: int) -> int:
    """Return one number for a document and its ticket, since a document can belong to several tickets."""
    return ticket_id * (LARGEST_DOCUMENT + 1) + document_id


def document_in(key: int) -> int:
    """Return the document number in a key."""
    return key % (LARGEST_DOCUMENT + 1)
