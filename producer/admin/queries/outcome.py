"""The outcome of a ticket and its parts in short, for the help desk's own page of the ticket."""

from __future__ import annotations

from producer.admin.presenters.shapes import Answer, Reasoned, reason_json
from producer.admin.queries.story import destination, trace_ticket
from producer.admin.records.transaction import Store
from shared.store.tables.ledger import LedgerState


class IssueOutcome(Answer):
    """The issue of a ticket, with the names of its project and status, if deskbridge knows them."""

    id: int
    url: str
    project: str | None
    status: str | None


class TaskOutcome(Reasoned):
    """The result of a ticket task; `has_wrong_author`: its time is logged under another user than intended.

    `hours` is null for an imported link whose events are unknown.
    """

    id: int
    state: str
    hours: float | None
    time_entry_id: int | None
    reason: str | None
    has_wrong_author: bool


class NoteOutcome(Reasoned):
    """The result of a follow-up or solution; `kind` is `followup` or `solution`."""

    kind: str
    id: int
    state: str
    note_id: int | None
    reason: str | None


class DocumentOutcome(Reasoned):
    """The result of a document; `id` is its number in GLPI."""

    id: int
    state: str
    attachment_id: int | None
    reason: str | None


class TicketOutcome(Reasoned):
    """The result of a ticket; `state` and reason are those of its issue, or of its newest event if it has no issue."""

    ticket_id: int
    state: str
    issue: IssueOutcome | None
    tasks: list[TaskOutcome]
    notes: list[NoteOutcome]
    documents: list[DocumentOutcome]
    reason: str | None


def ticket_outcome(store: Store, ticket_id: int) -> TicketOutcome:
    """Return what became of a ticket.

    Raises:
        NotFound: if nothing is known about it.
    """
    found = trace_ticket(store, ticket_id)
    link, last = found.link, found.last_event
    why = found.refused_status or (link.notice if link else last.notice if last else None)
    issue = None
    if link and link.tracker_issue_id:
        place = destination(store, found)
        status_id = found.state.given_status_id if found.state else None
        issue = IssueOutcome(
            id=link.tracker_issue_id,
            url=f"{found.config.base_url}/issues/{link.tracker_issue_id}",
            project=place.project,
            status=place.statuses.get(status_id) if status_id else None,
        )
    return TicketOutcome(
        ticket_id=ticket_id,
        state=link.state if link else last.state if last else LedgerState.FREE,
        issue=issue,
        tasks=[
            TaskOutcome(id=one.task_id, **one.model_dump(exclude={"task_id"})) for one in found.ticket_tasks
        ],
        notes=[NoteOutcome(id=one.key, **one.model_dump(exclude={"key"})) for one in found.notes],
        documents=[
            DocumentOutcome(id=one.document_id, **one.model_dump(exclude={"key", "document_id"}))
            for one in found.documents
        ],
        **reason_json(why),
    )
