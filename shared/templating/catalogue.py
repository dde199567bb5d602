"""The data that templates can read (SPEC 9.1 "Contexts"): types with descriptions and samples, and their variables.

A context is plain JSON data with every variable of the catalogue, and never contains a secret. To add a variable, add
a field to one of these types.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from shared.events.config import PluginConfig
from shared.events.filter import shown
from shared.events.snapshots import Note, Ticket, TicketTask
from shared.notices.templates import JsonType, TemplateProblem
from shared.templating.operations import CustomField, Operation
from shared.templating.values import Json, UnlocatedError

Context = dict[str, Any]


def _about(description: str, sample: object) -> Any:
    return Field(description=description, examples=[sample])


CREATED = _about("When GLPI created it, for the filter date", "2026-11-20T08:15:30+00:00")


class Part(BaseModel):
    """Base of a context's parts: filled from our own objects, whose extra attributes are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class HelpdeskPerson(Part):
    """A person in the help desk."""

    id: Annotated[int, _about("Id of the GLPI user", 7)]
    email: Annotated[str | None, _about("E-mail address", "alice@example.org")] = None
    emails: Annotated[list[str] | None, _about("All addresses if there are several", ["a@example.org"])] = (
        None
    )
    name: Annotated[str | None, _about("Name as people are shown it", "Alice Archer")] = None


class NamedPart(Part):
    """Another object of the help desk: a category, group or location."""

    id: Annotated[int, _about("Its id in GLPI", 12)]
    name: Annotated[str | None, _about("What it is called", "Printers")] = None


class TicketPart(Part):
    """The ticket, in its newest snapshot."""

    id: Annotated[int, _about("Ticket number", 4711)]
    title: Annotated[str, _about("Title as GLPI sent it: text, not HTML", "Printer on the 2nd floor")]
    content: Annotated[
        str | None,
        _about("Description as GLPI sent it, usually HTML", "<p>It <b>does not</b> print.</p>"),
    ] = None
    content_format: Annotated[
        str | None, _about("`html` or `plain`: what the description is; null: not known", "html")
    ] = None
    helpdesk_url: Annotated[str | None, _about("GLPI's URL", "https://glpi.example.org")] = None
    status: Annotated[int, _about("GLPI status number", 2)]
    is_deleted: Annotated[bool | None, _about("Whether it is in GLPI's bin", False)] = None
    is_merged: Annotated[bool | None, _about("Whether it was merged into another ticket", False)] = None
    entity_id: Annotated[int, _about("GLPI entity", 3)]
    entity_name: Annotated[str | None, _about("Name of the entity", "Acme > North")] = None
    project_id: Annotated[int | None, _about("GLPI project, if the ticket has one", 40)] = None
    other_project_ids: Annotated[list[int] | None, _about("Further GLPI projects", [41])] = None
    project_name: Annotated[str | None, _about("Name of the GLPI project", "Move to the new office")] = None
    technician: Annotated[HelpdeskPerson | None, Field(description="Technician assigned")] = None
    url: Annotated[
        str | None,
        _about("The ticket's page in GLPI", "https://glpi.example.org/front/ticket.form.php?id=4711"),
    ] = None
    urgency: Annotated[int | None, _about("Urgency, 1 to 5", 4)] = None
    impact: Annotated[int | None, _about("Impact, 1 to 5", 3)] = None
    priority: Annotated[int | None, _about("Priority, 1 to 6", 4)] = None
    type: Annotated[int | None, _about("1: an incident, 2: a request", 1)] = None
    category: Annotated[NamedPart | None, Field(description="The ticket's category")] = None
    requester: Annotated[HelpdeskPerson | None, Field(description="Who asked first")] = None
    groups: Annotated[
        list[NamedPart] | None,
        _about("Groups that are assigned, as in ticket.groups.0.name", [{"id": 6, "name": "Second level"}]),
    ] = None
    location: Annotated[NamedPart | None, Field(description="The ticket's location")] = None
    time_to_resolve: Annotated[
        str | None, _about("Due date, for the filter date", "2026-11-24T17:00:00+00:00")
    ] = None
    external_id: Annotated[str | None, _about("Its number elsewhere", "ACME-77")] = None
    created_at: Annotated[str | None, CREATED] = None


class TaskPart(Part):
    """The ticket task that is logged."""

    id: Annotated[int, _about("Ticket-task number", 512)]
    content: Annotated[
        str | None,
        _about(
            "Text as GLPI sent it, usually HTML; null if the task is private (private_tasks)",
            "<p>Replaced the toner</p>",
        ),
    ] = None
    content_format: Annotated[
        str | None, _about("`html` or `plain`: what the text is; null: not known", "html")
    ] = None
    helpdesk_url: Annotated[str | None, _about("GLPI's URL", "https://glpi.example.org")] = None
    is_private: Annotated[bool | None, _about("Whether its text is private", False)] = None
    copy_of: Annotated[int | None, _about("Of a copy: its original; a copy is never logged", 511)] = None
    copied_from_ticket: Annotated[
        int | None, _about("Of a copy whose original is not known: the ticket that it was copied from", 4710)
    ] = None
    state: Annotated[int, _about("State number; 2 is Done", 2)]
    actiontime: Annotated[int, _about("Time spent, in seconds", 5400)]
    date: Annotated[str | None, _about("Day of the work", "2026-11-20")] = None
    user: Annotated[HelpdeskPerson | None, Field(description="Who wrote the task")] = None
    technician: Annotated[HelpdeskPerson | None, Field(description="For whom the task is planned")] = None
    created_at: Annotated[str | None, CREATED] = None


class NotePart(Part):
    """The follow-up or solution that becomes a note."""

    id: Annotated[int, _about("Its number in GLPI", 77)]
    content: Annotated[
        str | None, _about("Text as GLPI sent it, usually HTML", "<p>The toner is ordered</p>")
    ] = None
    content_format: Annotated[
        str | None, _about("`html` or `plain`: what the text is; null: not known", "html")
    ] = None
    helpdesk_url: Annotated[str | None, _about("GLPI's URL", "https://glpi.example.org")] = None
    is_private: Annotated[bool | None, _about("Whether it is private", False)] = None
    date: Annotated[
        str | None, _about("When it was written, for the filter date", "2026-11-20T17:00:00+00:00")
    ] = None
    user: Annotated[HelpdeskPerson | None, Field(description="Who wrote it")] = None


class ProjectPart(Part):
    """The tracker project that the project mapping selects."""

    tracker_project_id: Annotated[int, _about("Mapped Redmine project", 11)]
    default_category_id: Annotated[int | None, _about("Default category of the link", 5)] = None
    name: Annotated[str | None, _about("Name of the Redmine project", "Support")] = None


class IssuePart(Part):
    """The issue that the ticket is linked to."""

    id: Annotated[int | None, _about("Redmine issue; none while it is being created", 1042)] = None


class StatusPart(Part):
    """The tracker status to which status_map maps the ticket's status."""

    mapped_id: Annotated[int | None, _about("Redmine status for the ticket's status", 4)] = None


class PersonPart(Part):
    """The person on whose behalf the tracker is called."""

    tracker_user_id: Annotated[int | None, _about("Redmine user", 21)] = None
    login: Annotated[str | None, _about("Redmine login", "alice")] = None


class EventPart(Part):
    """The event that started the operation."""

    name: Annotated[str | None, _about("Name of the event", "ticket_task.added")] = None
    occurred_at: Annotated[str, _about("Time by GLPI's clock, in UTC", "2026-11-21T09:30:00Z")]


class ConfigPart(Part):
    """The Redmine settings that templates can read; the API key is not among them."""

    default_tracker_id: Annotated[int | None, _about("Issue type of new issues", 3)] = None
    default_priority_id: Annotated[int | None, _about("Priority of new issues", 2)] = None
    default_activity_id: Annotated[int | None, _about("Time-entry activity", 9)] = None
    default_role_id: Annotated[int | None, _about("Role given to new members", 4)] = None
    default_watcher_ids: Annotated[list[int], _about("Watchers of new issues", [5, 6])] = []
    status_map: Annotated[
        dict[str, int], _about("Ticket status to Redmine status, as in config.status_map.5", {"2": 4, "5": 3})
    ] = {}
    done_state: Annotated[int, _about("The ticket-task state that means Done", 2)] = 2
    text_formatting: Annotated[str | None, _about("Redmine's text formatting", "common_mark")] = None
    spent_on: Annotated[
        str, _about("Whether time entries get the day of the work: task_date or omit", "task_date")
    ] = "task_date"


class FormPart(Part):
    """The form of the project or entity tab (SPEC 2.3 "Project")."""

    name: Annotated[str, _about("Name of the new project", "Support North")]
    description: Annotated[str | None, _about("Description", "Tickets of the north")] = None
    is_public: Annotated[bool, _about("Whether the project is public", False)] = False
    identifier: Annotated[str, _about("Identifier as typed", "Support-North")]
    parent_id: Annotated[int | None, _about("Parent project in Redmine", 11)] = None
    enabled_module_names: Annotated[
        list[str] | None,
        _about("Modules; null means Redmine's defaults", ["issue_tracking", "time_tracking"]),
    ] = None
    custom_field_values: Annotated[
        dict[str, str], _about("Custom fields by id, as in form.custom_field_values.7", {"7": "North"})
    ] = {}


class TicketContext(BaseModel):
    """The context of every operation except project.create."""

    event: EventPart
    ticket: TicketPart
    task: Annotated[TaskPart | None, Field(description="The ticket task, where the event is about one")] = (
        None
    )
    note: Annotated[
        NotePart | None, Field(description="The follow-up or solution, where the event is about one")
    ] = None
    project: ProjectPart
    issue: IssuePart
    status: StatusPart
    person: PersonPart
    config: ConfigPart


class FormContext(BaseModel):
    """The context of project.create."""

    form: FormPart
    config: ConfigPart


def context_type(operation: Operation) -> type[TicketContext] | type[FormContext]:
    """Return the type of an operation's context."""
    return FormContext if operation.from_form else TicketContext


def from_ticket(
    ticket: Ticket,
    task: TicketTask | None,
    config: PluginConfig,
    *,
    occurred_at: datetime,
    tracker_project_id: int,
    default_category_id: int | None = None,
    project_name: str | None = None,
    issue_id: int | None = None,
    tracker_user_id: int | None = None,
    login: str | None = None,
    event_name: str | None = None,
    status: int | None = None,
    note: Note | None = None,
) -> Context:
    """Return the context of a ticket's operation.

    Args:
        ticket: the ticket's newest snapshot.
        task: the ticket task, if the operation is about one.
        config: the Redmine settings.
        occurred_at: when it happened, by the help desk's clock.
        tracker_project_id: the project that the project mapping selects, or in which the issue was created.
        default_category_id: default category of that mapping.
        project_name: its name in the metadata cache.
        issue_id: the ticket's issue; None while it is being created.
        tracker_user_id: the tracker user that matches the help desk's person.
        login: the same person's login on the tracker.
        event_name: such as `ticket_task.added`.
        status: the help desk status to map; None: the snapshot's.
        note: the follow-up or solution, if the operation is about one.
    """
    context = TicketContext(
        event=EventPart(
            name=event_name,
            occurred_at=occurred_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        ),
        ticket=TicketPart.model_validate(ticket),
        task=TaskPart.model_validate(shown(task, config)) if task else None,
        note=NotePart.model_validate(note) if note else None,
        project=ProjectPart(
            tracker_project_id=tracker_project_id, default_category_id=default_category_id, name=project_name
        ),
        issue=IssuePart(id=issue_id),
        status=StatusPart(mapped_id=config.status_map.get(ticket.status if status is None else status)),
        person=PersonPart(tracker_user_id=tracker_user_id, login=login),
        config=config_part(config),
    )
    return context.model_dump(mode="json")


def from_form(form: FormPart, config: PluginConfig) -> Context:
    """Return the context of project.create."""
    return FormContext(form=form, config=config_part(config)).model_dump(mode="json")


def sample(operation: Operation, custom_fields: tuple[CustomField, ...] = ()) -> Context:
    """Return a context for previews, with the sample value of each variable.

    Args:
        operation: the operation of the template.
        custom_fields: the tracker's; those of projects get a value in the form if the operation creates one.
    """
    context = _sample_of(context_type(operation))
    if operation.from_form:
        values = context["form"]["custom_field_values"]
        own = [field for field in custom_fields if field.belongs_to(operation)]
        values.update({str(field.id): next(iter(field.possible_values), "sample") for field in own})
    return context


def part_of(annotation: Any) -> type[BaseModel] | None:
    """Return the part type in a field's annotation, also if it may be null, or None for a plain value."""
    options = getattr(annotation, "__args__", (annotation,))
    return next((one for one in options if isinstance(one, type) and issubclass(one, BaseModel)), None)


def _sample_of(model: type[BaseModel]) -> Context:
    def value(field: Any) -> Any:
        part = part_of(field.annotation)
        return _sample_of(part) if part else field.examples[0]

    return {name: _copied(value(field)) for name, field in model.model_fields.items()}


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, (dict, list)) else value


def config_part(config: PluginConfig) -> ConfigPart:
    """Return the Redmine settings that templates may read."""
    dumped = config.model_dump(mode="json", include=set(ConfigPart.model_fields))
    return ConfigPart.model_validate(dumped)


ValueType = Literal["text", "integer", "boolean", "list", "map", "object", "any"]
SORTS: Mapping[ValueType, JsonType] = {
    "text": JsonType.A_TEXT,
    "integer": JsonType.AN_INTEGER,
    "boolean": JsonType.A_BOOLEAN,
    "list": JsonType.A_LIST,
    "map": JsonType.A_MAP,
    "object": JsonType.AN_OBJECT,
}
_KINDS: dict[type, ValueType] = {str: "text", int: "integer", bool: "boolean", list: "list", dict: "map"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that templates can read.

    Attributes:
        path: its name in a tag.
        type: text, integer, boolean, list, map or object.
        description: its meaning.
        sample: a value for previews.
        optional: whether it may be null.
    """

    path: str
    type: ValueType
    description: str
    sample: Json
    optional: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a path's value: its kind, the parts of an object, the items of lists and maps."""

    kind: ValueType
    parts: Mapping[str, Shape] = field(default_factory=dict)
    item: Shape | None = None


ANY = Shape("any")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The variables of one operation.

    Attributes:
        operation: the operation of the templates.
        variables: the variables, in the order in which people see them.
        root: the same as a tree.
        version: changes whenever the variables do; compiled templates are cached per version.
    """

    operation: Operation
    variables: tuple[Variable, ...]
    root: Shape
    version: str

    def shape_of(self, segments: tuple[str, ...]) -> Shape:
        """Return the shape of a path's value.

        Raises:
            UnlocatedError: if there is no such variable; the notice names the nearest one.
        """
        shape, known = self.root, ""
        for segment in segments:
            shape = step(shape, segment, known, lambda: self._nearest(segments))
            known = f"{known}.{segment}" if known else segment
        return shape

    def _nearest(self, segments: tuple[str, ...]) -> str | None:
        near = difflib.get_close_matches(".".join(segments)[:100], [one.path for one in self.variables], n=1)
        return near[0] if near else None


def step(shape: Shape, segment: str, known: str, hint: Callable[[], str | None] = lambda: None) -> Shape:
    """Return the shape to which one more segment of a path leads.

    Raises:
        UnlocatedError: if there is none.
    """
    if shape.kind == "object" and segment in shape.parts:
        return shape.parts[segment]
    if shape.kind == "map" or (shape.kind == "list" and segment.isdigit()):
        return shape.item or ANY
    if shape.kind in ("object", "any"):
        raise UnlocatedError(TemplateProblem.VARIABLE_NOT_KNOWN(nearest=hint()))
    raise UnlocatedError(TemplateProblem.VARIABLE_WITHOUT_PARTS(name=known, kind=SORTS[shape.kind]()))


@functools.lru_cache(maxsize=64)
def catalogue_for(operation: Operation | str, custom_fields: tuple[CustomField, ...] = ()) -> Catalogue:
    """Return the catalogue of an operation.

    Args:
        operation: one of OPERATIONS.
        custom_fields: the tracker's, from the metadata cache; a new project's form has those of projects.

    Raises:
        ValueError: if there is no such operation.
    """
    operation = Operation(operation)
    variables: list[Variable] = []
    root = _walk(context_type(operation), "", variables)
    if operation.from_form:
        variables += [
            Variable(f"form.custom_field_values.{one.id}", "text", f"Custom field {one.name}",
                     next(iter(one.possible_values), "sample"), optional=True)
            for one in custom_fields if one.belongs_to(operation)
        ]  # fmt: skip
    described = repr([operation.value, *((one.path, one.type, one.optional) for one in variables)])
    version = hashlib.sha256(described.encode()).hexdigest()[:16]
    return Catalogue(operation, tuple(variables), root, version)


def _walk(model: type[BaseModel], prefix: str, variables: list[Variable]) -> Shape:
    parts = {}
    for name, info in model.model_fields.items():
        path, part = f"{prefix}{name}", part_of(info.annotation)
        if part:
            if info.description:
                variables.append(Variable(path, "object", info.description, None, optional=True))
            parts[name] = _walk(part, f"{path}.", variables)
            continue
        shape, optional = _shape(info.annotation)
        sample = (info.examples or [None])[0]
        variables.append(Variable(path, shape.kind, info.description or "", sample, optional))
        parts[name] = shape
    return Shape("object", parts)


def _shape(annotation: Any) -> tuple[Shape, bool]:
    """Return the shape of a plain value's annotation, and whether it may be null."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [one for one in get_args(annotation) if one is not type(None)]
        return _shape(inner[0])[0], True
    origin = get_origin(annotation) or annotation
    if issubclass(origin, BaseModel):
        return _walk(origin, "", []), False
    arguments = get_args(annotation)
    return Shape(_KINDS[origin], item=_shape(arguments[-1])[0] if arguments else None), False
