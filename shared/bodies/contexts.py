"""Builds the contexts of templates, for the worker and for previews alike (SPEC 9.1 "Contexts")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.errors import BridgeError, NotFound
from shared.events.authors import author_of
from shared.events.config import PluginConfig
from shared.events.event import Deletion
from shared.events.snapshots import Note, Ticket, TicketTask
from shared.events.stored import stored
from shared.notices.refusals import Refusal
from shared.notices.templates import TemplateRefusal
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Transaction
from shared.templating.catalogue import Context, FormPart, catalogue_for, from_form, from_ticket, sample
from shared.templating.operations import CustomField, Operation
from shared.templating.render import Engine


class NoContext(BridgeError):
    """A template of this operation cannot be rendered from the given source; the text states why."""


def operation_of(name: str) -> Operation:
    """Return an operation by its name.

    Raises:
        NotFound: if there is no such operation; names the existing ones.
    """
    try:
        return Operation(name)
    except ValueError:
        raise NotFound(
            Refusal.OPERATION_UNKNOWN(operation=name[:40], operations=[str(one) for one in Operation])
        ) from None


def custom_fields_of(tx: Transaction) -> tuple[CustomField, ...]:
    """Return every custom field in the metadata cache."""
    return tuple(map(_custom_field, tx.metadata.of_kind(MetadataKind.CUSTOM_FIELD)))


def engine_for(operation: Operation, tx: Transaction | None = None) -> Engine:
    """Return the engine for an operation's templates, with the current variables.

    Args:
        operation: the operation of the templates.
        tx: an open transaction, needed only for an operation that starts from a form.
    """
    custom_fields = custom_fields_of(tx) if tx is not None and operation.from_form else ()
    return Engine(catalogue_for(operation, custom_fields))


@dataclass(frozen=True, slots=True)
class RenderInput:
    """The data of an operation on a ticket.

    Attributes:
        ticket: the newest snapshot.
        task: the ticket task, if there is one.
        occurred_at: when it happened, by the help desk's clock.
        event_name: the name of the event that started it.
        link: the project mapping that applies.
        project_id: the tracker project.
        issue_id: the ticket's issue, or None while it is being created.
        person: the person on whose behalf it is done, or None for the API user.
        status: the help desk status to map; None: the snapshot's.
        note: the follow-up or solution, if there is one.
    """

    ticket: Ticket
    task: TicketTask | None
    occurred_at: datetime
    event_name: str | None
    link: ProjectMapping | None
    project_id: int
    issue_id: int | None = None
    person: TrackerPerson | None = None
    status: int | None = None
    note: Note | None = None


def project_name(tx: Transaction, project_id: int) -> str | None:
    """Return the name of a tracker project, or None if it is not in the metadata cache."""
    project = tx.metadata.get(MetadataKind.PROJECT, project_id)
    return project.name if project else None


def ticket_context(name: str | None, config: PluginConfig, about: RenderInput) -> Context:
    """Return the context of an operation on a ticket.

    Args:
        name: the name of the tracker project (`project_name`).
        config: the Redmine settings.
        about: the data of the operation.
    """
    link, person = about.link, about.person
    return from_ticket(
        about.ticket,
        about.task,
        config,
        occurred_at=about.occurred_at,
        event_name=about.event_name,
        tracker_project_id=about.project_id,
        default_category_id=link.default_category_id if link else None,
        project_name=name,
        issue_id=about.issue_id,
        tracker_user_id=person.tracker_user_id if person else None,
        login=person.login if person else None,
        status=about.status,
        note=about.note,
    )


def preview_context(
    tx: Transaction,
    operation: Operation,
    *,
    event_id: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> Context:
    """Return the context of a preview: the given one, that of a stored event, or the sample.

    Raises:
        NotFound: if there is no such event.
        NoContext: if the operation cannot be rendered from that event.
    """
    if given is not None:
        return dict(given)
    if event_id is None:
        return sample(operation, custom_fields_of(tx))
    row = tx.journal.get(event_id)
    if row is None:
        raise NotFound(Refusal.EVENT_UNKNOWN(event_id=event_id))
    if operation.from_form:
        raise NoContext(TemplateRefusal.FORM_IS_NO_EVENT(operation=str(operation)))
    return _event_context(tx, operation, row)


def dry_run_context(
    tx: Transaction,
    operation: Operation,
    *,
    event_id: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> Context:
    """Return the context of a dry run: as for a preview, but the sample uses data of this installation.

    Raises:
        NotFound: if there is no such event.
        NoContext: if the operation cannot be rendered from that event, or no project mapping exists yet.
    """
    if given is not None or event_id is not None:
        return preview_context(tx, operation, event_id=event_id, given=given)
    config, _ = tx.configs.get()
    context = sample(operation, custom_fields_of(tx))
    if operation.from_form:
        form = FormPart.model_validate({**context["form"], "parent_id": None})
        return from_form(form, config)
    link = next(iter(tx.mappings.all()), None)
    if link is None:
        raise NoContext(TemplateRefusal.NOTHING_LINKED_YET())
    about = RenderInput(
        Ticket.model_validate(context["ticket"]),
        TicketTask.model_validate(context["task"]),
        datetime.fromisoformat(context["event"]["occurred_at"]),
        context["event"]["name"],
        link,
        link.tracker_project_id,
        person=min(tx.people.cached(), key=lambda one: (one.admin, one.tracker_user_id), default=None),
    )
    return ticket_context(project_name(tx, link.tracker_project_id), config, about)


def _event_context(tx: Transaction, operation: Operation, row: JournalEvent) -> Context:
    config, _ = tx.configs.get()
    event = stored(row.payload, row.completion)
    if isinstance(event, Deletion):
        raise NoContext(TemplateRefusal.EVENT_OF_DELETION(event_id=row.id))
    if operation is Operation.TIME_ENTRY_CREATE and event.task is None:
        raise NoContext(TemplateRefusal.EVENT_WITHOUT_TASK(event_id=row.id))
    if operation is Operation.NOTE_CREATE and event.note is None:
        raise NoContext(TemplateRefusal.EVENT_WITHOUT_NOTE(event_id=row.id))
    link = tx.mappings.of(event.ticket.place)
    if link is None:
        raise NoContext(TemplateRefusal.EVENT_NOT_LINKED(event_id=row.id))
    issue = None if operation is Operation.ISSUE_CREATE else tx.issues.get(event.ticket.id)
    linked = issue if issue and issue.state == LedgerState.LINKED else None
    is_about_part = operation in (Operation.TIME_ENTRY_CREATE, Operation.NOTE_CREATE)
    user = author_of(event, config) if is_about_part else event.ticket.technician
    person = tx.people.match(user, administrators=config.match_administrators).person
    about = RenderInput(
        event.ticket,
        event.task,
        row.occurred_at,
        row.event,
        link,
        (linked and linked.tracker_project_id) or link.tracker_project_id,
        linked.tracker_id if linked else None,
        person,
        note=event.note,
    )
    return ticket_context(project_name(tx, about.project_id), config, about)


def _custom_field(entry: Entry) -> CustomField:
    details = entry.details
    return CustomField(
        id=entry.tracker_id,
        name=entry.name,
        customized_type=details["customized_type"],
        field_format=details["field_format"],
        required=details["is_required"],
        possible_values=tuple(str(one["value"]) for one in details["possible_values"]),
        multiple=details["multiple"],
        default_value=details["default_value"],
    )
