"""What the helpdesk sends (SPEC section 6, CONTRACT "HTTP: producer"): the event and its validation."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

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
Fact = Literal["ticket.project_id", "ticket.technician", "ticket.technician.email", "task.user.email"]
"""What a helpdesk's own webhooks leave out of an event."""
ContentFormat = Literal["html", "plain"]
"""What the texts of an event are; None: it is guessed from each text."""
Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
RFC3339 = re.compile(r"(19[7-9]\d|2\d{3})-\d\d-\d\d[Tt ]\d\d:\d\d")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ].+)?")
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
DEEPEST = 20
LONGEST_NAME = 100
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


class Ticket(Written):
    """A ticket's snapshot at the time of the event."""

    id: Id = Field(description="The ticket's number")
    title: str = Field(description="The ticket as it is now; becomes the issue's subject")
    content: str | None = Field(default=None, description="HTML or text; becomes the issue's description")
    status: Integer = Field(description="The helpdesk's number of the status: see status_map")
    entity_id: Annotated[int, Field(ge=0, le=LARGEST)] = Field(description="The helpdesk's entity")
    project_id: Id | None = Field(
        default=None, description="The helpdesk project that the ticket is linked to"
    )
    technician: HelpdeskUser | None = Field(
        default=None, description="Who is assigned; becomes the issue's author"
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


def _only_text(value: object) -> object:
    if isinstance(value, str) and RFC3339.match(value):
        return value
    digits = str(value) if isinstance(value, (int, str)) else ""
    if is_in_milliseconds(digits):
        raise Unfit(Invalid.TIME_IN_MILLISECONDS())
    raise Unfit(Invalid.TIME_IN_SECONDS() if is_in_seconds(digits) else Invalid.TIME_WITHOUT_OFFSET())


def _known_facts(value: object) -> list[str]:
    """Keep what we know of; a sender's own key of this name is an extra key like others (CONTRACT)."""
    return [one for one in value if one in get_args(Fact)] if isinstance(value, list) else []


class Event(Written):
    """One event of the helpdesk.

    Attributes:
        deleted: the helpdesk has deleted it: kept, and nothing is sent.
        incomplete: what the helpdesk did not send, though it may know it, and what is not known since: null there
            means "not told".
    """

    event: EventName = Field(description="`ticket_task.added`, `ticket_task.updated` or `ticket.updated`")
    occurred_at: Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_only_text)] = Field(
        description="When it happened, helpdesk time, RFC 3339 with an offset"
    )
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
    deleted: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    incomplete: Annotated[list[Fact], BeforeValidator(_known_facts)] = Field(default_factory=list)

    @property
    def key(self) -> str:
        """The event's key: `ticket:<id>` or `ticket-task:<id>`."""
        return f"ticket-task:{self.task.id}" if self.task else f"ticket:{self.ticket.id}"


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
    event: Event
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
        return task is not None and task.public.content != task.content

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


def parse_event(data: object, *, clean: bool = False, flat: bool = False, stored: bool = False) -> Event:
    """Validate one event as JSON data.

    Args:
        data: the decoded JSON.
        clean: whether it is known to have no lone surrogates (`may_have_surrogates`).
        flat: whether it is known not to be nested too deep (`may_be_deep`).
        stored: whether it was accepted before: then a day that cannot be read is none.

    Returns:
        The event; `task` is dropped from ticket.updated.

    Raises:
        InvalidEvent: naming every fault by its path.
    """
    if not isinstance(data, dict):
        raise InvalidEvent([("(event)", Invalid.JSON_OBJECT_EXPECTED())])
    if not flat and _is_deeper(data, DEEPEST):
        raise InvalidEvent([("(event)", Invalid.NESTED_TOO_DEEP(most=DEEPEST))])
    if data.get("event") == "ticket.updated":
        data = {name: value for name, value in data.items() if name != "task"}
    data = _handed_down(data)
    try:
        event = Event.model_validate(
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


def parse_delivery(data: object, delivery_id: str, *, clean: bool = False, flat: bool = False) -> Delivery:
    """Validate one event and keep it as it was sent.

    Args:
        data: the decoded JSON of the event.
        delivery_id: the id of the delivery; 1 to 255 printable ASCII characters.
        clean: as for `parse_event`.
        flat: likewise.

    Returns:
        The delivery, ready for the journal.

    Raises:
        InvalidEvent: naming every fault by its path.
    """
    event = parse_event(data, clean=clean, flat=flat)
    if not DELIVERY_ID.fullmatch(delivery_id):
        raise InvalidEvent([("delivery_id", Invalid.DELIVERY_ID_EXPECTED())])
    try:
        payload = AS_SENT.encode(data)
    except ValueError:
        raise InvalidEvent([("(event)", Invalid.NUMBER_OUT_OF_RANGE())]) from None
    digest = hashlib.sha256(ORDERED.encode(data).encode()).hexdigest()
    return Delivery(delivery_id, event, payload, digest)


def stored_event(payload: str, completion: str | None = None) -> Event:
    """Return the event of a payload that was validated when it was appended to the journal.

    Args:
        payload: as the journal keeps it.
        completion: what was found out since of what is `incomplete`, as JSON: fact to value; None: nothing yet.

    Raises:
        InvalidEvent: it was not validated.
    """
    data = stored_data(payload, completion)
    if completion:
        return parse_event(data, stored=True)
    return parse_event(
        data, clean=not may_have_surrogates(payload), flat=not may_be_deep(payload), stored=True
    )


def entity_name(payload: str) -> str | None:
    """Return the name of the ticket's entity, where the helpdesk's event has it (`ticket.entity_name`)."""
    try:
        name = json.loads(payload)["ticket"]["entity_name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name[:LONGEST_NAME] if isinstance(name, str) else None


def stored_data(payload: str, completion: str | None = None) -> Any:
    """Return the JSON data of a payload, with what was found out since in its place (see `stored_event`).

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
    for fact in lacking:
        if fact in facts:
            *way, last = fact.split(".")
            place: Any = data
            for name in way:
                place = place.get(name) if isinstance(place, dict) else None
            if isinstance(place, dict):
                place[last] = facts[fact]
    return data | {"incomplete": [one for one in lacking if one not in facts]}


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
    """Lone surrogates are accepted and left out (CONTRACT); U+0000 goes when text is made plain.

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
