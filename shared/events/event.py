"""What the helpdesk sends (SPEC section 6): the event and its validation."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from shared.codes.invalid import Invalid
from shared.errors import InvalidEvent
from shared.values.characters import LONE_SURROGATE
from shared.values.ids import LARGEST
from shared.values.validation import Id, Unfit, is_in_milliseconds, is_in_seconds, model_faults, parts_of

EventName = Literal["ticket_task.added", "ticket_task.updated", "ticket.updated"]
DeletionName = Literal["ticket.deleted", "ticket.restored", "ticket_task.deleted"]
EVENTS: tuple[str, ...] = get_args(EventName)
DELETIONS: tuple[str, ...] = get_args(DeletionName)
Fact = Literal[
    "ticket.project_id",
    "ticket.other_project_ids",
    "ticket.technician",
    "ticket.technician.email",
    "task.user.email",
]
"""What a helpdesk's own webhooks leave out of an event."""
ContentFormat = Literal["html", "plain"]
"""What the texts of an event are; None: it is guessed from each text."""
OTHER_PROJECTS: Fact = "ticket.other_project_ids"
"""Asked for together with `ticket.project_id`."""
Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
RFC3339 = re.compile(r"(19[7-9]\d|2\d{3})-\d\d-\d\d[Tt ]\d\d:\d\d")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].+)?")
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
DEEPEST = 20
LONGEST_NAME = 100
MOST_PROJECTS = 100
AS_SENT = json.JSONEncoder(allow_nan=False)
ORDERED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
HOLDERS = ("ticket", "task")
DELIVERY_ID = re.compile(r"[\x21-\x7e]{1,255}")


class Shape(BaseModel):
    """Base of the event's parts: strict types, extra keys ignored, immutable."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)


def _web_address(value: object) -> object:
    if not isinstance(value, str):
        return value  # the type says what is wrong
    parts = parts_of(value)
    if (
        not value.isprintable()
        or parts is None
        or parts.scheme not in ("http", "https")
        or not parts.hostname
    ):
        raise Unfit(Invalid.WEB_ADDRESS_EXPECTED())
    return value


class Written(Shape):
    """Base of what holds rich text: how to read it, as the event says for all of its texts."""

    content_format: ContentFormat | None = Field(
        default=None, description="As of the event; what stands here is ignored"
    )
    helpdesk_url: Annotated[str | None, BeforeValidator(_web_address)] = Field(
        default=None, description="As of the event; what stands here is ignored"
    )


HANDED_DOWN = {f"{holder}.{name}" for holder in HOLDERS for name in Written.model_fields}


class HelpdeskUser(Shape):
    """A person as the helpdesk knows them."""

    id: Id = Field(description="The helpdesk's number of the person")
    email: str | None = Field(default=None, description="By which the person is found on the tracker")
    name: str | None = Field(default=None, description="As people are shown it")


class Named(Shape):
    """Something else of the helpdesk."""

    id: Id = Field(description="The helpdesk's number of it")
    name: str | None = Field(default=None, description="What it is called")


def _only_text(value: object) -> object:
    if isinstance(value, str) and RFC3339.match(value):
        return value
    digits = str(value) if isinstance(value, (int, str)) else ""
    if is_in_milliseconds(digits):
        raise Unfit(Invalid.TIME_IN_MILLISECONDS())
    raise Unfit(Invalid.TIME_IN_SECONDS() if is_in_seconds(digits) else Invalid.TIME_WITHOUT_OFFSET())


def _moment(value: object) -> object:
    if value is not None:
        try:
            is_aware = datetime.fromisoformat(str(_only_text(value))).tzinfo is not None
        except ValueError:
            is_aware = False
        if not is_aware:
            raise Unfit(Invalid.TIME_WITHOUT_OFFSET())
    return value


class Place(NamedTuple):
    """Where a ticket is in the helpdesk: what the project rule goes by.

    Attributes:
        project_ids: the first that is linked decides.
        entity_id: decides if none is.
    """

    project_ids: tuple[int, ...]
    entity_id: int

    def __str__(self) -> str:
        return f"{','.join(map(str, self.project_ids))}/{self.entity_id}"


def place_of(snapshot: Mapping[str, Any]) -> Place:
    """Return where a ticket is, by its snapshot."""
    projects = (snapshot.get("project_id"), *(snapshot.get("other_project_ids") or ()))
    return Place(tuple(dict.fromkeys(one for one in projects if one)), snapshot.get("entity_id") or 0)


class Ticket(Written):
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
    url: Annotated[str | None, BeforeValidator(_web_address)] = Field(
        default=None, description="The ticket's page in the helpdesk, an http or https address"
    )
    urgency: Integer | None = Field(default=None, description="For templates, as all that follows")
    impact: Integer | None = Field(default=None, description="The helpdesk's number")
    priority: Integer | None = Field(default=None, description="The helpdesk's number")
    type: Integer | None = Field(default=None, description="1 is an incident, 2 a request")
    category: Named | None = Field(default=None, description="The ticket's category")
    requester: HelpdeskUser | None = Field(default=None, description="Who asked first")
    groups: list[Named] | None = Field(default=None, description="Groups that are assigned")
    location: Named | None = Field(default=None, description="The ticket's location")
    time_to_resolve: Annotated[str | None, BeforeValidator(_moment)] = Field(
        default=None, description="By when it is to be solved, RFC 3339 with an offset"
    )
    external_id: str | None = Field(default=None, description="Its number elsewhere")

    @property
    def place(self) -> Place:
        """Where it is."""
        return place_of(
            {name: getattr(self, name) for name in ("project_id", "other_project_ids", "entity_id")}
        )


def day_of(text: str) -> str | None:
    """Return the calendar day of a date, or of a date and time as they are written; None where it is neither."""
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return text[: len("2026-11-20")] if DAY.fullmatch(text) else None


def _only_day(value: object, info: ValidationInfo) -> object:
    """Return the day; of a row that was accepted before days were checked, an unreadable one is none."""
    if not isinstance(value, str):
        return value
    day = day_of(value)
    if day is None and info.context is not STORED:
        raise Unfit(Invalid.DAY_EXPECTED())
    return day


STORED = {"stored": True}
"""The context of a validation whose payload was accepted before."""


class TicketTask(Written):
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
            "If the helpdesk made it as a copy (tickets were merged or cloned): the number of the original, or of "
            "the ticket that it was copied from. A copy is skipped"
        ),
    )

    @property
    def public(self) -> TicketTask:
        """The same without its text if that is private."""
        return self.model_copy(update={"content": None}) if self.is_private else self


def _a_name(value: object) -> object:
    if value not in EVENTS:
        raise Unfit(Invalid.CHOICE_EXPECTED(choices=[*EVENTS, *DELETIONS]))
    return value


OccurredAt = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_only_text)]


def _known_facts(value: object) -> list[str]:
    """Keep what we know of; a sender's own key of this name is an extra key like others."""
    return [one for one in value if one in get_args(Fact)] if isinstance(value, list) else []


class Numbered(Shape):
    """A ticket or ticket task of which no more than its number is sent."""

    id: Id


class Deletion(Shape):
    """A ticket or a ticket task was deleted, or a ticket came back from the bin: there is no snapshot any more."""

    event: DeletionName
    occurred_at: OccurredAt
    sequence: Integer | None = None
    ticket: Numbered
    task: Numbered | None = None

    @property
    def key(self) -> str:
        """The key of what was deleted."""
        return _key(self)

    @property
    def is_deleted(self) -> bool:
        """Whether it is gone since, and not back."""
        return self.event != "ticket.restored"


class Event(Written):
    """One event of the helpdesk.

    Attributes:
        incomplete: what the helpdesk did not send, though it may know it, and what is not known since: null there
            means "not told".
    """

    event: Annotated[EventName, BeforeValidator(_a_name)] = Field(
        description="`ticket_task.added`, `ticket_task.updated` or `ticket.updated`; of deletions see below"
    )
    occurred_at: OccurredAt = Field(description="When it happened, helpdesk time, RFC 3339 with an offset")
    sequence: Integer | None = Field(
        default=None, description="An integer that orders events of the same occurred_at"
    )
    content_format: ContentFormat | None = Field(
        default=None,
        description="`html` or `plain`: what ticket.content and task.content are; without it each is guessed",
    )
    helpdesk_url: Annotated[str | None, BeforeValidator(_web_address)] = Field(
        default=None, description="The helpdesk's own address, for links and images of its texts that lack it"
    )
    ticket: Ticket
    task: TicketTask | None = Field(
        default=None, description="Required for ticket_task.*, ignored for ticket.updated"
    )
    incomplete: Annotated[list[Fact], BeforeValidator(_known_facts)] = Field(default_factory=list)

    @property
    def key(self) -> str:
        """The event's key: `ticket:<id>` or `ticket-task:<id>`."""
        return _key(self)


def _key(event: Event | Deletion) -> str:
    return f"ticket-task:{event.task.id}" if event.task else f"ticket:{event.ticket.id}"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A validated event as it was delivered.

    Attributes:
        delivery_id: the sender's id of this delivery; the same id with the same body changes nothing.
        event: the validated event.
        payload: the event as sent (extra keys included), as ASCII JSON.
        digest: SHA-256 of the payload with its keys in order, to tell a redelivery from another event.
        traceparent: of the trace that it came with (W3C Trace Context), None where there is none.
    """

    delivery_id: str
    event: Event | Deletion
    payload: str
    digest: str
    traceparent: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What makes a redelivery: the same delivery id with the same body."""
        return self.delivery_id, self.digest

    @property
    def has_private_text(self) -> bool:
        """Whether it tells the text of a private ticket task."""
        task = self.event.task
        return isinstance(task, TicketTask) and task.public.content != task.content

    @property
    def public(self) -> Delivery:
        """The same without the text of a private ticket task, as if the helpdesk had not sent it."""
        if not self.has_private_text:
            return self
        data = json.loads(self.payload)
        data["task"]["content"] = None
        return replace(parse_delivery(data, self.delivery_id), traceparent=self.traceparent)


def may_have_surrogates(source: str) -> bool:
    """Tell whether a JSON text may say lone surrogates: whoever has it need not look for them in what was decoded."""
    return ESCAPED_SURROGATE.search(source) is not None


def may_be_deep(source: str) -> bool:
    """Tell whether a JSON text may say an event that is nested too deep: it has more brackets than there are levels."""
    return source.count("{") + source.count("[") > DEEPEST


def parse(data: object, *, clean: bool = False, flat: bool = False, stored: bool = False) -> Event | Deletion:
    """Validate one event as JSON data, with a snapshot or of a deletion.

    Args:
        data: the decoded JSON.
        clean: whether it is known to have no lone surrogates (`may_have_surrogates`).
        flat: whether it is known not to be nested too deep (`may_be_deep`).
        stored: whether it was accepted before: then a day that cannot be read is none.

    Returns:
        The event; `task` is dropped from those of a ticket.

    Raises:
        InvalidEvent: naming every fault by its path.
    """
    if not isinstance(data, dict):
        raise InvalidEvent([("(event)", Invalid.JSON_OBJECT_EXPECTED())])
    if not flat and _is_deeper(data, DEEPEST):
        raise InvalidEvent([("(event)", Invalid.NESTED_TOO_DEEP(most=DEEPEST))])
    if str(data.get("event")).startswith("ticket."):
        data = {name: value for name, value in data.items() if name != "task"}
    model = Deletion if data.get("event") in DELETIONS else Event
    data = data if model is Deletion else _handed_down(data)
    try:
        event = model.model_validate(
            data if clean else _without_surrogates(data), context=STORED if stored else None
        )
    except ValidationError as error:
        faults = [one for one in model_faults(error) if one[0] not in HANDED_DOWN]
        if _task_missing(data):
            faults.append(("task", Invalid.TASK_REQUIRED()))
        raise InvalidEvent(faults) from None
    if _task_missing(data):
        raise InvalidEvent([("task", Invalid.TASK_REQUIRED())])
    return event


def parse_event(data: object, *, clean: bool = False, flat: bool = False) -> Event:
    """Validate one event that has a snapshot (`parse`).

    Raises:
        InvalidEvent: likewise, or it is of a deletion.
    """
    return _with_snapshot(parse(data, clean=clean, flat=flat))


def parse_delivery(data: object, delivery_id: str, *, clean: bool = False, flat: bool = False) -> Delivery:
    """Validate one event and keep it as it was sent.

    Args:
        data: the decoded JSON of the event.
        delivery_id: the id of the delivery; 1 to 255 printable ASCII characters.
        clean: as for `parse`.
        flat: likewise.

    Returns:
        The delivery, ready for the journal.

    Raises:
        InvalidEvent: naming every fault by its path.
    """
    event = parse(data, clean=clean, flat=flat)
    if not DELIVERY_ID.fullmatch(delivery_id):
        raise InvalidEvent([("delivery_id", Invalid.DELIVERY_ID_EXPECTED())])
    try:
        payload = AS_SENT.encode(data)
    except ValueError:
        raise InvalidEvent([("(event)", Invalid.NUMBER_OUT_OF_RANGE())]) from None
    digest = hashlib.sha256(ORDERED.encode(data).encode()).hexdigest()
    return Delivery(delivery_id, event, payload, digest)


def stored_event(payload: str, completion: str | None = None) -> Event:
    """Return the event of a payload of the journal that has a snapshot (`stored`).

    Raises:
        InvalidEvent: likewise, or it is of a deletion.
    """
    return _with_snapshot(stored(payload, completion))


def stored(payload: str, completion: str | None = None) -> Event | Deletion:
    """Return the event of a payload that was validated when it was appended to the journal.

    Args:
        payload: as the journal keeps it.
        completion: what was found out since of what is `incomplete`, as JSON: fact to value; None: nothing yet.

    Raises:
        InvalidEvent: it was not validated.
    """
    data = stored_data(payload, completion)
    if completion:
        return parse(data, stored=True)
    return parse(data, clean=not may_have_surrogates(payload), flat=not may_be_deep(payload), stored=True)


def entity_name(payload: str) -> str | None:
    """Return the name of the ticket's entity, where the helpdesk's event has it (`ticket.entity_name`)."""
    try:
        name = json.loads(payload)["ticket"]["entity_name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name[:LONGEST_NAME] if isinstance(name, str) else None


def stored_data(payload: str, completion: str | None = None) -> Any:
    """Return the JSON data of a payload, with what was found out since in its place (see `stored`).

    Raises:
        InvalidEvent: it is not JSON.
    """
    try:
        data, facts = json.loads(payload), json.loads(completion) if completion else None
    except (ValueError, RecursionError):
        raise InvalidEvent([("(event)", Invalid.JSON_EXPECTED())]) from None
    if not facts or not isinstance(data, dict) or not isinstance(facts, dict):
        return data
    lacking = _known_facts(data.get("incomplete"))
    for fact, value in facts.items():
        if fact in (*lacking, OTHER_PROJECTS):
            *way, last = fact.split(".")
            place: Any = data
            for name in way:
                place = place.get(name) if isinstance(place, dict) else None
            if isinstance(place, dict):
                place[last] = value
    return data | {"incomplete": [one for one in lacking if one not in facts]}


def _with_snapshot(event: Event | Deletion) -> Event:
    if isinstance(event, Deletion):
        raise InvalidEvent([("event", Invalid.CHOICE_EXPECTED(choices=list(EVENTS)))])
    return event


def as_utc(moment: datetime) -> datetime:
    """Return an aware date and time in UTC."""
    return moment.astimezone(UTC)


def _is_deeper(value: dict[str, Any], levels: int) -> bool:
    """Tell whether a value is nested deeper than so many levels; never goes deeper itself."""
    level: list[Any] = [value]
    for _ in range(levels):
        if not level:
            break
        items = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for some in items for item in some if isinstance(item, (dict, list))]
    return bool(level)


def _handed_down(data: dict[str, Any]) -> dict[str, Any]:
    """Give ticket and task what the event says of all its texts: snapshots are kept without their event."""
    said = {name: data.get(name) for name in Written.model_fields}
    parts = {name: data[name] | said for name in HOLDERS if isinstance(data.get(name), dict)}
    return data | parts


def _task_missing(data: dict[str, Any]) -> bool:
    return str(data.get("event")).startswith("ticket_task.") and data.get("task") is None


def _without_surrogates(value: Any, mark: str = "") -> Any:
    """Lone surrogates are accepted and left out; U+0000 goes when text is made plain.

    In an address a mark stays in their place: it must not become somebody else's.
    """
    if isinstance(value, str):
        return LONE_SURROGATE.sub(mark, value)
    if isinstance(value, dict):
        return {
            key: _without_surrogates(item, "\ufffd" if key == "email" else mark)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_without_surrogates(item, mark) for item in value]
    return value
