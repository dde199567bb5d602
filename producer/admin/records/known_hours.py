"""Reads the data of the hours report: the events of ticket tasks, and the time entries of the ledger."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Text, select, type_coerce
from sqlalchemy.orm import Session

from producer.admin.records.logged_hours import logged_hours
from shared.store.tables.functions import among
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LedgerState, TaskTimeLink

AT_ONCE, AT_ONCE_FEW = 5000, 50
DELETED = "ticket_task.deleted"
Item = TypeVar("Item")


class KnownTask(NamedTuple):
    """A ticket task as one event describes it.

    Attributes:
        place: position in time; the event with the highest one is the newest.
        task: its snapshot; empty if the event reports its deletion in GLPI.
        day: day of the work, such as `2026-11-20`; if there is none, the day on which the event came in.
        event_state, code: the state of that event, and the code of its reason.
    """

    place: tuple[datetime, int, int]
    ticket_id: int
    task_id: int
    task: dict[str, Any]
    day: str
    event_state: str
    code: str | None
    is_deleted: bool = False


class Logged(NamedTuple):
    """A ticket task's row of the ledger.

    Attributes:
        hours: the hours that were sent; None if they are unknown.
        author_id: the Redmine user who is their author.
    """

    ticket_id: int
    task_id: int
    state: str
    time_entry_id: int | None
    author_id: int | None
    hours: float | None


class KnownHours:
    """Reads hours within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def tasks(self, since: datetime, until: datetime, *, by_day_of_work: bool) -> Iterator[KnownTask]:
        """Yield the events of ticket tasks that came in within a period, fetched in batches and in no order.

        Args:
            since: start of the period.
            until: end of the period, exclusive.
            by_day_of_work: whether a task's day is the one that GLPI gives, or that on which the event came in.
        """
        columns = (
            JournalEvent.id,
            JournalEvent.ticket_id,
            JournalEvent.task_id,
            JournalEvent.event,
            JournalEvent.occurred_at,
            JournalEvent.sequence,
            JournalEvent.received_at,
            JournalEvent.payload,
            JournalEvent.state,
            JournalEvent.code,
        )
        wanted = select(*columns).where(
            JournalEvent.received_at >= since,
            JournalEvent.received_at < until,
            JournalEvent.task_id.is_not(None),
        )
        for row in self._session.execute(wanted.execution_options(yield_per=AT_ONCE)):
            is_deleted = row.event == DELETED
            task = {} if is_deleted else _task(row.payload)
            of_work = str(task.get("date") or "")[:10] if by_day_of_work else ""
            day, place = of_work or f"{row.received_at:%Y-%m-%d}", (row.occurred_at, row.sequence, row.id)
            yield KnownTask(
                place, row.ticket_id, row.task_id or 0, task, day, row.state, row.code, is_deleted
            )

    def newest(self, limit: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield ticket tasks, each with its id, as the newest events describe them; a task can have several events."""
        wanted = (
            select(JournalEvent.task_id, JournalEvent.payload)
            .where(JournalEvent.task_id.is_not(None), JournalEvent.event != DELETED)
            .order_by(JournalEvent.id.desc())
            .limit(limit)
        )
        for row in self._session.execute(wanted.execution_options(yield_per=AT_ONCE_FEW)):
            yield row.task_id or 0, _task(row.payload)

    def of_tasks(self, task_ids: Collection[int]) -> dict[int, Logged]:
        """Return the ledger's rows of some ticket tasks."""
        return {
            one.task_id: one
            for some in _batches(task_ids)
            for one in self._rows(some, among(TaskTimeLink.task_id, "numbers"))
        }

    def of_entries(self, time_entry_ids: Collection[int]) -> dict[int, Logged]:
        """Return the linked rows of some time entries, by time entry."""
        is_linked = TaskTimeLink.state == LedgerState.LINKED
        found = (
            one
            for some in _batches(time_entry_ids)
            for one in self._rows(some, among(TaskTimeLink.tracker_id, "numbers"), is_linked)
        )
        return {one.time_entry_id: one for one in found if one.time_entry_id is not None}

    def _rows(self, numbers: list[int], *where: ColumnElement[bool]) -> list[Logged]:
        wanted = select(
            TaskTimeLink.ticket_id,
            TaskTimeLink.task_id,
            TaskTimeLink.state,
            TaskTimeLink.tracker_id,
            TaskTimeLink.author_id,
            logged_hours(type_coerce(TaskTimeLink.body, Text)),
        )
        return [Logged(*row) for row in self._session.execute(wanted.where(*where), {"numbers": numbers})]


def _task(payload: str) -> dict[str, Any]:
    try:
        task = json.loads(payload).get("task")
    except (ValueError, AttributeError, RecursionError):
        return {}
    return task if isinstance(task, dict) else {}


def _batches(items: Collection[Item]) -> Iterator[list[Item]]:
    left = iter(items)
    while some := list(islice(left, AT_ONCE)):
        yield some
