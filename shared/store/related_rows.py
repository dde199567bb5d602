"""The rows related to tickets' due events, read in one statement: ledger rows, newest task events and deletions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    Table,
    Text,
    func,
    inspect,
    literal_column,
    null,
    or_,
    select,
    union_all,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session

from shared.notices.kinds import Kind, RowId
from shared.store.journal.due import ORDER
from shared.store.ledger.transitions import IN_FLIGHT
from shared.store.tables.functions import among, unindexed
from shared.store.tables.journal import JournalEvent, TicketDeletion
from shared.store.tables.ledger import (
    MODELS,
    DocumentLink,
    LedgerRow,
    NoteLink,
    TaskTimeLink,
    TicketIssueLink,
)
from shared.store.tables.prepared import execute_prepared

ISSUES, TIMES, NOTES, DOCUMENTS, JOURNAL, DELETIONS = (
    cast(Table, one.__table__)
    for one in (TicketIssueLink, TaskTimeLink, NoteLink, DocumentLink, JournalEvent, TicketDeletion)
)
OF_A_ROW = {
    column.name: name for name, column in inspect(TicketIssueLink).columns.items() if name != "ticket_id"
}
"""The columns that all kinds of rows have besides their keys, and the attribute of each."""

NOTHING = 0
"""Used in place of an empty list, for which PostgreSQL may choose a partial index and read all of it."""

NEWEST, DELETED = "newest", "deleted"
"""Parts of the statement's result; the parts of the ledger are named after their kinds."""


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """The rows related to some tickets' due events.

    Attributes:
        issues: ticket to the ledger row of its issue.
        on_issue: ticket to the rows of time entries, notes and attachments: those that its due events concern, and its
            own that are claimed or in doubt.
        newest: the newest event of each of these time entries, notes and attachments, in any state and on any ticket.
        deleted: the tickets that the help desk has deleted.
    """

    issues: dict[int, TicketIssueLink] = field(default_factory=dict)
    on_issue: dict[int, dict[RowId, LedgerRow]] = field(default_factory=dict)
    newest: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)


def related_rows(session: Session, asked: Mapping[int, Collection[RowId]]) -> RelatedRows:
    """Read the rows related to the due events of some tickets.

    Args:
        session: the transaction.
        asked: ticket to the time entries, notes and attachments that its due events concern.
    """
    every = {one for some in asked.values() for one in some}
    task_ids = {key for kind, key in every if kind is Kind.TICKET_TASK} or {NOTHING}
    parameters = {
        "ticket_ids": list(asked),
        "task_ids": list(task_ids),
        "keys": [f"{kind}:{key}" for kind, key in every] or [f"{Kind.TICKET_TASK}:{NOTHING}"],
        "addition_ids": list({key for kind, key in every if kind.is_addition} or {NOTHING}),
    }
    found = RelatedRows(on_issue={ticket_id: {} for ticket_id in asked})
    for row in execute_prepared(session, _related_rows(), parameters):
        if row.part == NEWEST:
            found.newest.add(row.event_id)
        elif row.part == DELETED:
            found.deleted.add(row.ticket_id)
        else:
            _add(found, asked, row)
    return found


def _add(found: RelatedRows, asked: Mapping[int, Collection[RowId]], row: Any) -> None:
    """Add a ledger row to the result, for each ticket that it is related to."""
    kind = Kind(row.part)
    values = {name: getattr(row, column) for column, name in OF_A_ROW.items()}
    if kind is Kind.TICKET:
        found.issues[row.ticket_id] = TicketIssueLink(ticket_id=row.ticket_id, **values)
        return
    of_ledger = MODELS[kind](ticket_id=row.ticket_id, key=row.key, **values)
    for ticket_id, some in asked.items():
        is_in_flight = row.ticket_id == ticket_id and row.state in IN_FLIGHT
        if is_in_flight or (kind, row.key) in some:
            found.on_issue[ticket_id][kind, row.key] = of_ledger


@cache
def _related_rows() -> CompoundSelect[Any]:
    """Return the statement for `ticket_ids`, `task_ids` and their `keys`, and `addition_ids`; it is built once."""
    issues, times = ISSUES.c, TIMES.c
    of_issues = select(
        _part(Kind.TICKET),
        issues.ticket_id,
        issues.ticket_id.label("key"),
        *(issues[one] for one in OF_A_ROW),
    ).where(among(issues.ticket_id, "ticket_ids"))
    on_issues = [
        *_on_issue(TIMES, _part(Kind.TICKET_TASK), times.task_id, "task_ids"),
        *_on_issue(NOTES, NOTES.c.kind, NOTES.c.item_id, "addition_ids"),
        *_on_issue(DOCUMENTS, _part(Kind.DOCUMENT), DOCUMENTS.c.item_id, "addition_ids"),
    ]
    newest_first = [JOURNAL.c[one.key].desc() for one in ORDER]
    place = func.row_number().over(partition_by=JOURNAL.c.key, order_by=newest_first).label("place")
    ranked = select(JOURNAL.c.id, place).where(among(JOURNAL.c.key, "keys")).subquery()
    newest = select(
        _part(NEWEST),
        _none(times.ticket_id),
        _none(times.task_id),
        *(ranked.c.id if one == "event_id" else _none(times[one]) for one in OF_A_ROW),
    ).where(ranked.c.place == 1)
    deleted = select(
        _part(DELETED),
        DELETIONS.c.ticket_id,
        _none(times.task_id),
        *(_none(times[one]) for one in OF_A_ROW),
    ).where(among(DELETIONS.c.ticket_id, "ticket_ids"), DELETIONS.c.is_deleted)
    return union_all(of_issues, *on_issues, newest, deleted)


def _on_issue(
    table: Table, part: ColumnElement[str], key: ColumnElement[int], asked: str
) -> tuple[Select[Any], Select[Any]]:
    """Return the statements for the requested rows and for a ticket's own rows in flight; a row may be in both."""
    rows = select(part, table.c.ticket_id, key, *(table.c[one] for one in OF_A_ROW))
    is_in_flight = or_(*(unindexed(table.c.state) == state for state in IN_FLIGHT))
    return rows.where(among(key, asked)), rows.where(among(table.c.ticket_id, "ticket_ids"), is_in_flight)


def _part(name: str) -> ColumnElement[str]:
    return literal_column(f"'{name}'", Text).label("part")


def _none(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return sql_cast(null(), column.type)
