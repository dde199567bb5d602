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
RFC3339 = re.compile(r"(19[7-9]\d|2\d{3})-\d\d-\d\d[Tt ]\d\d:\d\d")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].+)?")
MOST_PROJECTS = 100
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
        default=None, description="As of the event; what stands here is ignored"
    )
    helpdesk_url: Annotated[str | None, BeforeValidator(web_address)] = Field(
        default=None, description="As of the event; what stands here is ignored"
    )


class HelpdeskUser(Shape):
    """A person as the helpdesk knows them."""

    id: Id = Field(description="The helpdesk's number of the person")
    email: str | None = Field(default=None, description="By which the person is found on the tracker")
    name: str | None = Field(default=None, description="As people are shown it")


class Named(Shape):
    """Something else of the helpdesk."""

    id: Id = Field(description="The helpdesk's number of it")
    name: str | None = Field(default=None, description="What it is called")


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


class Ticket(TextHolder):
    """A ticket's snapshot at the time of the event."""

    id: Id = Field(description="The ticket's number")
    title: str = Field(description="The ticket as it is now; becomes the issue's subject")
    content: str | None = Field(default=None, description="HTML or text; becomes the issue's description")
    status: Integer = Field(description="The helpdesk's number of the status: see status_map")
    is_deleted: bool | None = Field(
        default=None,
        description="Whether it is in the helpdesk's bin, if the sender knows; a later `false` is as ticket.restored",
    )
    entity_id: Annotated[int, Field(ge=0, le=LARGEST)] = Field(description="The helpdesk's entity")
    entity_name: str | None = Field(
        default=None, description="Its name, shown beside or in place of the number"
    )
    project_id: Id | None = Field(
        default=None, description="The helpdesk project that the ticket is linked to; of several the lowest"
    )
    other_project_ids: Annotated[list[Id], Field(max_length=MOST_PROJECTS)] | None = Field(
        default=None,
        description="Further ones: the first of all that is linked to a tracker project decides, before the entity",
    )
    project_name: str | None = Field(default=None, description="Name of `ticket.project_id`")
    technician: HelpdeskUser | None = Field(
        default=None, description="Who is assigned; becomes the issue's author"
    )
    url: Annotated[str | None, BeforeValidator(web_address)] = Field(
        default=None, description="The ticket's page in the helpdesk, an http or https address"
    )
    urgency: Integer | None = Field(
        default=None, description="For templates and settings, as all that follows"
    )
    impact: Integer | None = Field(default=None, description="The helpdesk's number")
    priority: Integer | None = Field(default=None, description="The helpdesk's number")
    type: Integer | None = Field(default=None, description="1 is an incident, 2 a request")
    category: Named | None = Field(default=None, description="The ticket's category")
    requester: HelpdeskUser | None = Field(default=None, description="Who asked first")
    groups: list[Named] | None = Field(default=None, description="Groups that are assigned")
    location: Named | None = Field(default=None, description="The ticket's location")
    time_to_resolve: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="Due date, RFC 3339 with an offset"
    )
    external_id: str | None = Field(default=None, description="Its number elsewhere")

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


class TicketTask(TextHolder):
    """A ticket task's snapshot; `actiontime` in seconds."""

    id: Id = Field(description="The ticket task's number")
    content: str | None = Field(default=None, description="HTML or text; becomes the time entry's comment")
    state: Integer = Field(description="2 is Done (done_state)")
    actiontime: Integer = Field(description="Time spent, in seconds")
    user: HelpdeskUser | None = Field(
        default=None, description="Who logged it; becomes the time entry's author"
    )
    date: Annotated[str | None, BeforeValidator(_only_day)] = Field(
        default=None,
        description=(
            "Day of the work, `2026-11-20`, or a date and time, of which its own calendar day counts; the "
            "time entry is logged on it"
        ),
    )
    is_private: bool | None = Field(
        default=None, description="Whether the text is private: see private_tasks; missing: it is not"
    )
    copy_of: Id | None = Field(
        default=None,
        description=(
            "If the helpdesk made it as a copy (tickets were merged or cloned): the number of the original. A copy "
            "is skipped"
        ),
    )
    copied_from_ticket: Id | None = Field(
        default=None,
        description=(
            "The same, if the helpdesk does not say which task is the original: the number of the ticket that it "
            "was copied from"
        ),
    )

    @property
    def public(self) -> TicketTask:
        """The ticket task, without its text if it is private."""
        return self.model_copy(update={"content": None}) if self.is_private else self


class Note(TextHolder):
    """A follow-up or a solution of a ticket, as it was when it was added."""

    id: Id = Field(description="Its number in the helpdesk")
    content: str | None = Field(default=None, description="HTML or text; becomes a note of the issue")
    user: HelpdeskUser | None = Field(default=None, description="Who wrote it; becomes the note's author")
    date: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="When it was written, RFC 3339 with an offset; for templates"
    )
    is_private: bool | None = Field(
        default=None,
        description=(
            "Whether it is private: then the note is private too; of a follow-up see sync_followups; missing: it is not"
        ),
    )


class Holder(Shape):
    """What a document is linked to, as GLPI names it."""

    type: Literal["Ticket", "ITILFollowup", "ITILSolution", "TicketTask"] = Field(
        description="`Ticket`, `ITILFollowup`, `ITILSolution` or `TicketTask`"
    )
    id: Id = Field(description="Its number in the helpdesk")


class Document(Shape):
    """A document of a ticket; its content is fetched from the helpdesk when it is sent."""

    id: Annotated[int, Field(ge=1, le=LARGEST_DOCUMENT)] = Field(description="The document's number")
    name: str | None = Field(default=None, description="Its file name; not stored if it is private")
    mime_type: str | None = Field(default=None, description="Such as `image/png`")
    size: Annotated[int, Field(ge=0, le=LARGEST)] | None = Field(default=None, description="Bytes")
    user: HelpdeskUser | None = Field(
        default=None, description="Who added it; becomes the attachment's author"
    )
    date: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="When it was added, RFC 3339 with an offset"
    )
    item: Holder | None = Field(default=None, description="What it is linked to")
    is_private: bool | None = Field(
        default=None,
        description="Whether what it is linked to is private: then it is not sent; missing: it is not",
    )


def document_key(ticket_id: int, document_id: int) -> int:
    """Return one number for a document and its ticket, since a document can belong to several tickets."""
    return ticket_id * (LARGEST_DOCUMENT + 1) + document_id


def document_in(key: int) -> int:
    """Return the document number in a key."""
    return key % (LARGEST_DOCUMENT + 1)
