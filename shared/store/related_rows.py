"""The rows related to tickets' due events, read in one statement: ledger, and the newest event of each ticket task."""

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

from shared.notices.kinds import Kind
from shared.store.journal.due import ORDER, task_key
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
"""The columns that all kinds of rows have beside their keys, and what a row calls each."""

NO_TASK = 0
"""In place of none at all: for an empty list PostgreSQL may take an index of some rows only, and read all of that."""

NO_ADDITIONS: Mapping[int, Collection[tuple[Kind, int]]] = {}
ISSUE, TIME, NEWEST, DELETED = "issue", "time", "newest", "deleted"
"""Parts of the statement's rows; those of additions are the names of their kinds."""


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """What is related to some tickets' due events.

    Attributes:
        issues: ticket to the ledger row of its issue.
        times: ticket to the rows of its ticket tasks, by ticket task: those asked for, and those of its own that are
            claimed or in doubt.
        additions: ticket to the rows of its follow-ups, solutions and documents, by kind and key, likewise.
        newest: ticket task to its newest event, whatever became of it, in whichever ticket it came.
        deleted: those of the tickets that the helpdesk has deleted.
    """

    issues: dict[int, TicketIssueLink] = field(default_factory=dict)
    times: dict[int, dict[int, TaskTimeLink]] = field(default_factory=dict)
    additions: dict[int, dict[tuple[Kind, int], LedgerRow]] = field(default_factory=dict)
    newest: dict[int, int] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)


def related_rows(
    session: Session,
    asked: Mapping[int, Collection[int]],
    additions: Mapping[int, Collection[tuple[Kind, int]]] = NO_ADDITIONS,
) -> RelatedRows:
    """Read what is related to some tickets.

    Args:
        session: the transaction.
        asked: ticket to the ticket tasks that its due events are about.
        additions: ticket to the follow-ups, solutions and documents that are asked for, by kind and key.
    """
    task_ids = {task_id for some in asked.values() for task_id in some} or {NO_TASK}
    parameters = {
        "ticket_ids": list(asked),
        "task_ids": list(task_ids),
        "keys": [task_key(one) for one in task_ids],
        "addition_ids": list({number for some in additions.values() for _, number in some}) or [NO_TASK],
    }
    found = RelatedRows(
        times={ticket_id: {} for ticket_id in asked}, additions={ticket_id: {} for ticket_id in asked}
    )
    for row in execute_prepared(session, _related_rows(), parameters):
        values = {name: getattr(row, column) for column, name in OF_A_ROW.items()}
        if row.part == ISSUE:
            found.issues[row.ticket_id] = TicketIssueLink(ticket_id=row.ticket_id, **values)
        elif row.part == NEWEST:
            found.newest[row.task_id] = row.event_id
        elif row.part == DELETED:
            found.deleted.add(row.ticket_id)
        elif row.part != TIME:
            kind = Kind(row.part)
            addition = MODELS[kind](ticket_id=row.ticket_id, item_id=row.task_id, **values)
            for ticket_id in asked:
                is_in_flight = row.ticket_id == ticket_id and addition.state in IN_FLIGHT
                if is_in_flight or (kind, row.task_id) in additions.get(ticket_id, ()):
                    found.additions[ticket_id][kind, row.task_id] = addition
        else:
            time = TaskTimeLink(ticket_id=row.ticket_id, task_id=row.task_id, **values)
            for ticket_id, some in asked.items():
                if time.task_id in some or (time.ticket_id == ticket_id and time.state in IN_FLIGHT):
                    found.times[ticket_id][time.task_id] = time
    return found


@cache
def _related_rows() -> CompoundSelect[Any]:
    """Return the statement for `ticket_ids`, `task_ids` and their `keys`; made once."""
    issues, times = ISSUES.c, TIMES.c
    of_issues = select(
        _part(ISSUE),
        issues.ticket_id,
        _none(times.task_id).label("task_id"),
        *(issues[one] for one in OF_A_ROW),
    ).where(among(issues.ticket_id, "ticket_ids"))
    of_times = select(_part(TIME), times.ticket_id, times.task_id, *(times[one] for one in OF_A_ROW))
    asked = of_times.where(among(times.task_id, "task_ids"))
    is_in_flight = or_(*(unindexed(times.state) == state for state in IN_FLIGHT))
    in_flight = of_times.where(among(times.ticket_id, "ticket_ids"), is_in_flight)  # some are asked for, too
    newest_first = [JOURNAL.c[one.key].desc() for one in ORDER]
    place = func.row_number().over(partition_by=JOURNAL.c.key, order_by=newest_first).label("place")
    ranked = (
        select(JOURNAL.c.id, JOURNAL.c.task_id, place)
        .where(among(JOURNAL.c.key, "keys"), JOURNAL.c.task_id.is_not(None))
        .subquery()
    )
    newest = select(
        _part(NEWEST),
        _none(times.ticket_id),
        ranked.c.task_id,
        *(ranked.c.id if one == "event_id" else _none(times[one]) for one in OF_A_ROW),
    ).where(ranked.c.place == 1)
    deleted = select(
        _part(DELETED),
        DELETIONS.c.ticket_id,
        _none(times.task_id),
        *(_none(times[one]) for one in OF_A_ROW),
    ).where(among(DELETIONS.c.ticket_id, "ticket_ids"), DELETIONS.c.is_deleted)
    notes = _additions(NOTES, NOTES.c.kind.label("part"))
    documents = _additions(DOCUMENTS, _part(Kind.DOCUMENT))
    return union_all(of_issues, asked, in_flight, *notes, *documents, newest, deleted)


def _additions(table: Table, part: ColumnElement[str]) -> tuple[Select[Any], Select[Any]]:
    """Return the statements for those of a table that are asked for, and for a ticket's own that are in flight."""
    of_table = select(part, table.c.ticket_id, table.c.item_id, *(table.c[one] for one in OF_A_ROW))
    is_in_flight = or_(*(unindexed(table.c.state) == state for state in IN_FLIGHT))
    return (
        of_table.where(among(table.c.item_id, "addition_ids")),
        of_table.where(among(table.c.ticket_id, "ticket_ids"), is_in_flight),
    )


def _part(name: str) -> ColumnElement[str]:
    return literal_column(f"'{name}'", Text).label("part")


def _none(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return sql_cast(null(), column.type)
