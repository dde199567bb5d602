"""What the API answers: the shapes that its OpenAPI describes, made of what `producer.admin` shows of things.

What is shown as it is needs no model: its dataclass is one.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict

from shared.events.config import PluginConfig
from shared.templating.catalogue import Variable
from shared.templating.operations import Field, Operation

__all__ = ["Field", "Variable"]


class Shape(BaseModel):
    """Base of the answers: an answer with anything that is not described is a fault of ours."""

    model_config = ConfigDict(extra="forbid")


class Notice(Shape):
    """A reason: the code and its parameters for programs, the sentence for people; null where there is none."""

    code: str | None = None
    params: dict[str, Any] = {}


class Event(Notice):
    """An event of the journal."""

    id: int
    key: str
    event: str
    ticket_id: int | None
    task_id: int | None
    state: str
    reason: str | None
    occurred_at: AwareDatetime
    received_at: AwareDatetime
    attempts: int
    next_attempt_at: AwareDatetime | None


class Change(Shape):
    """What somebody changed."""

    id: int
    at: AwareDatetime
    who: str
    code: str
    params: dict[str, Any]
    what: str
    before: Any
    after: Any


class Held(Notice):
    """An issue or a time entry that waits for a decision."""

    kind: str
    id: int
    since: AwareDatetime
    reason: str | None
    sent: dict[str, Any] | None
    candidates: list[int]


class WrongAuthor(Notice):
    """An issue or a time entry that has another author on the tracker than was meant."""

    kind: str
    id: int
    ticket_id: int
    tracker_id: int
    author_id: int | None
    since: AwareDatetime
    reason: str
    todo: str


class IssueOfTicket(Notice):
    """The issue of a ticket, or what has become of its creation."""

    state: str
    tracker_issue_id: int | None
    tracker_project_id: int | None
    author_id: int | None
    author: str | None
    adopted: bool
    since: AwareDatetime
    reason: str | None
    candidates: list[int]


class TicketTask(Notice):
    """A ticket task and its time entry."""

    task_id: int
    state: str
    time_entry_id: int | None
    hours: float
    reason: str | None


class Step(Notice):
    """Something that happened to a ticket; `call` is what was sent to the tracker, and its answer."""

    at: AwareDatetime
    what: str
    why: str | None
    call: dict[str, Any] | None


class Obstacle(Notice):
    """What stands in the way of an event that waits and does not say why."""

    reason: str | None


class Trace(Shape):
    """Everything that is known of a ticket."""

    ticket_id: int
    link: IssueOfTicket | None
    waits_for: Obstacle | None
    ticket_tasks: list[TicketTask]
    steps: list[Step]


class IssueOutcome(Shape):
    """The issue of a ticket, as a helpdesk shows it; status and project are those that deskbridge knows, by name."""

    id: int
    url: str
    project: str | None
    status: str | None


class TaskOutcome(Notice):
    """What became of a ticket task."""

    id: int
    state: str
    hours: float
    time_entry_id: int | None
    reason: str | None


class TicketOutcome(Notice):
    """What became of a ticket: `state` and the reason are its issue's, or its last event's while it has none."""

    ticket_id: int
    state: str
    issue: IssueOutcome | None
    tasks: list[TaskOutcome]
    reason: str | None


class Link(Shape):
    """Which tracker project a helpdesk project or entity belongs to."""

    kind: Literal["project", "entity"]
    id: int
    tracker_project_id: int
    default_category_id: int | None


class LinkShown(Link):
    """A link, with what people read of its tracker project; null while the metadata does not know it."""

    project: str | None
    url: str | None


class Caution(Shape):
    """A warning: the code and its parameters for programs, the sentence for people."""

    code: str
    params: dict[str, Any]
    reason: str


class Refreshed(Notice):
    """Whether the metadata was read after a form."""

    ok: bool
    error: str | None


class LinkMade(Link):
    """A link, and what making it changed."""

    created: bool
    confirmed: bool
    skipped_events: int
    replayed: bool
    warnings: list[str]
    cautions: list[Caution]
    metadata: Refreshed


class Config(PluginConfig):
    """The plugin configuration; of the API key only whether it is stored."""

    api_key: Literal["stored", "not stored"]


class ConfigChanged(Shape):
    """The configuration after a change."""

    config: Config
    warnings: list[str]
    cautions: list[Caution]
    statuses_owed: int
    replayed: bool


class Difference(Shape):
    """What a synchronisation changed in one part of the metadata: names, and how many there are now."""

    total: int
    added: list[str]
    changed: list[str]
    removed: list[str]


class Synchronisation(Notice):
    """A synchronisation of the metadata."""

    started_at: AwareDatetime
    ended_at: AwareDatetime
    ok: bool
    counts: dict[str, int] | None
    differences: dict[str, Any] | None
    error: str | None


class Metadata(Shape):
    """How much of the tracker's metadata is cached."""

    counts: dict[str, int]
    synchronised_at: AwareDatetime | None
    runs: list[Synchronisation]


class Synchronised(Shape):
    """What a synchronisation changed, by part."""

    ok: bool
    differences: dict[str, Difference]


class Entry(BaseModel):
    """An entry of the metadata; further members depend on its part."""

    model_config = ConfigDict(extra="allow")

    id: int
    name: str


class TrackerUser(Shape):
    """A tracker user."""

    id: int
    login: str
    name: str
    mail: str | None
    admin: bool


class HelpdeskUser(Notice):
    """Who a helpdesk user is on the tracker.

    `by` is `override`, `e-mail`, or null: the administrator acts for them. `new`: no person has confirmed the match by
    e-mail. `waits`: an e-mail names another tracker user than before, and a person has to decide.
    """

    helpdesk_user_id: int
    email: str | None
    by: str | None
    tracker_user_id: int | None
    login: str | None
    new: bool
    waits: bool
    why: str


class UserMapped(Shape):
    """An override; `confirmed` is false where no metadata is cached that could confirm the id."""

    helpdesk_user_id: int
    tracker_user_id: int
    login: str | None
    confirmed: bool


class TemplateFault(Notice):
    """What is wrong with a template, and where."""

    message: str
    line: int
    column: int


class Template(Shape):
    """A template; a `fault` makes its newest version a draft."""

    id: int
    operation: Operation
    name: str
    version: int
    active_version: int | None
    body: str
    fault: TemplateFault | None
    changed_at: AwareDatetime
    changed_by: str


class TemplateChange(Shape):
    """An entry of a template's history."""

    version: int
    what: str
    at: AwareDatetime
    who: str


class Generated(Shape):
    """A template that sends the standard body."""

    operation: Operation
    body: str


class Hint(Notice):
    """What may explain a refusal; `record` is a knowledge record (`deskbridge knowledge show`)."""

    field: str
    problem: str
    record: str


class Left(Notice):
    """Something that a dry run asked the tracker for and that is not known to be gone."""

    id: int
    kind: str
    mark: str
    tracker_id: int | None
    begun_at: AwareDatetime
    reason: str | None


class Preview(Shape):
    """What a template would send; `unknown` are fields that the tracker mostly ignores."""

    operation: Operation
    payload: dict[str, Any]
    warnings: list[str]
    cautions: list[Caution]
    filled_in: list[str]
    pruned: list[str]
    unknown: list[str]
    compile_ms: float
    render_ms: float


class DryRun(Shape):
    """What a dry run did; `answer` is the tracker's, unchanged."""

    payload: dict[str, Any]
    warnings: list[str]
    cautions: list[Caution]
    filled_in: list[str]
    pruned: list[str]
    method: str
    path: str
    status: int | None
    answer: str
    ok: bool
    hints: list[Hint]
    created: str | None
    deleted: bool | None
    left: list[Left]
    milliseconds: int
