"""Queries on the journal; `shared.store.journal.journal` changes its events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, String, Table, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session, aliased, load_only

from shared.events.event import ADDITION_EVENTS, EVENTS, NOTE_EVENTS, is_private
from shared.events.stored import entity_name
from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.store.journal.due import (
    ORDER,
    DueEvents,
    due_events,
    due_of_tickets,
    due_parameters,
    due_with_their_keys,
    is_due,
    is_due_of_few,
    is_pending_of_few,
    snapshot_of,
)
from shared.store.ledger.transitions import FOR_A_PERSON
from shared.store.tables.explained import reason_from_columns
from shared.store.tables.functions import among, number_in
from shared.store.tables.journal import EventState, JournalEvent, TicketDeletion, TicketState
from shared.store.tables.ledger import DocumentLink, LedgerState, NoteLink, TaskTimeLink, TicketIssueLink
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import moment

JOURNAL = cast(Table, JournalEvent.__table__)
UNREADABLE = "unreadable"
"""Event name and key of an unreadable delivery."""
MOST_UNLINKED = 200
MOST_OTHERS = 100


@dataclass(frozen=True, slots=True)
class Backlog:
    """Pending events: their number, when the oldest was received, and since when the oldest due one has been due."""

    count: int
    oldest: datetime | None
    oldest_due: datetime | None


class SkippedTicket(NamedTuple):
    """A ticket with skipped events: how many, when the first of them occurred, and the ticket's newest snapshot."""

    ticket_id: int
    events: int
    oldest: datetime
    snapshot: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Skipped tickets of one entity, and of one help desk project if they have one, without a project mapping.

    Attributes:
        tickets: number of tickets.
        example: the lowest ticket id.
        name: the entity's name, if an event contains it.
    """

    entity_id: int
    project_id: int | None
    tickets: int
    example: int
    name: str | None


class JournalQueries:
    """Reads events within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, event_id: int) -> JournalEvent | None:
        return self._session.get(JournalEvent, event_id)

    def find(
        self, *, state: str | None = None, ticket_id: int | None = None, limit: int | None = 100
    ) -> Sequence[JournalEvent]:
        """Return events, newest first."""
        statement = select(JournalEvent).order_by(JournalEvent.id.desc())
        if state:
            statement = statement.where(JournalEvent.state == state)
        if ticket_id is not None:
            statement = statement.where(JournalEvent.ticket_id == ticket_id)
        return self._session.scalars(statement.limit(limit) if limit else statement).all()

    def by_ids(self, event_ids: Collection[int]) -> Sequence[JournalEvent]:
        """Return events by their ids."""
        if not event_ids:
            return []
        return self._session.scalars(select(JournalEvent).where(JournalEvent.id.in_(event_ids))).all()

    def by_ticket(self, event_ids: Collection[int]) -> dict[int, list[int]]:
        """Return the ids of those events that are readable, in ascending order, by ticket."""
        wanted = select(JournalEvent.ticket_id, JournalEvent.id).where(
            JournalEvent.id.in_(event_ids), JournalEvent.key != UNREADABLE
        )
        found: dict[int, list[int]] = {}
        for ticket_id, event_id in self._session.execute(wanted.order_by(JournalEvent.id)):
            found.setdefault(ticket_id, []).append(event_id)
        return found

    def of_key(self, key: str) -> Sequence[JournalEvent]:
        """Return every event of a key, newest first."""
        newest_first = [column.desc() for column in ORDER]
        statement = select(JournalEvent).where(JournalEvent.key == key).order_by(*newest_first)
        return self._session.scalars(statement).all()

    def newest_of(self, keys: Collection[str]) -> dict[str, datetime]:
        """Return when the newest event of each key occurred; keys without an event are left out."""
        newest = func.max(JournalEvent.occurred_at)
        statement = select(JournalEvent.key, newest).where(JournalEvent.key.in_(keys))
        return dict(self._session.execute(statement.group_by(JournalEvent.key)).all())

    def unreadable(self) -> Sequence[JournalEvent]:
        """Return the unreadable deliveries, oldest first."""
        reason_from_columns = (
            select(JournalEvent).where(JournalEvent.key == UNREADABLE).order_by(JournalEvent.id)
        )
        return self._session.scalars(reason_from_columns).all()

    def oldest(self, state: EventState) -> JournalEvent | None:
        """Return the event in a state that was received first."""
        # if sorted by id alone, PostgreSQL would read all ended events
        first = (JournalEvent.received_at, JournalEvent.id)
        statement = select(JournalEvent).where(JournalEvent.state == state).order_by(*first).limit(1)
        return self._session.scalar(statement)

    def reasons(self, state: EventState) -> list[tuple[int, Notice | None]]:
        """Return the ids and reasons of the events in a state, oldest first."""
        columns = (JournalEvent.id, JournalEvent.code, JournalEvent.params)
        statement = select(*columns).where(JournalEvent.state == state).order_by(JournalEvent.id)
        return [
            (event_id, reason_from_columns(*reason)) for event_id, *reason in self._session.execute(statement)
        ]

    def count(self, state: EventState, *, code: str | None = None) -> int:
        """Return the number of events in a state, or in a state and with a reason code."""
        statement = select(func.count()).select_from(JournalEvent).where(is_in_state(state, code))
        return self._session.scalar(statement) or 0

    def count_unreadable(self) -> int:
        """Return the number of unreadable deliveries."""
        unreadable = and_(JournalEvent.key == UNREADABLE, JournalEvent.state == EventState.FAILED)
        return self._session.scalar(select(func.count()).select_from(JournalEvent).where(unreadable)) or 0

    def newest_unreadable(self) -> datetime | None:
        """Return when the newest unreadable delivery was received, or None if there is none."""
        unreadable = and_(JournalEvent.key == UNREADABLE, JournalEvent.state == EventState.FAILED)
        return self._session.scalar(select(func.max(JournalEvent.received_at)).where(unreadable))

    def newest_received(self) -> datetime | None:
        """Return when the newest event was received, or None if there is none."""
        newest = select(JournalEvent.received_at).order_by(JournalEvent.id.desc()).limit(1)
        return self._session.scalar(newest)

    def dated_ahead(self, since: datetime) -> tuple[int, datetime | None]:
        """Return how many events received since a moment were dated too far ahead, and when the newest arrived."""
        is_corrected = and_(JournalEvent.received_at >= since, JournalEvent.clamped)
        found = select(func.count(), func.max(JournalEvent.received_at)).where(is_corrected)
        count, newest = self._session.execute(found).one()
        return count, newest

    def failed_by_code(self) -> dict[str, int]:
        """Return the number of failed events by reason code, without unreadable deliveries."""
        failed = and_(JournalEvent.state == EventState.FAILED, JournalEvent.key != UNREADABLE)
        counts = select(JournalEvent.code, func.count()).where(failed).group_by(JournalEvent.code)
        return {code: count for code, count in self._session.execute(counts) if code}

    def count_on_hold_for_nothing(self) -> int:
        """Return how many events are on hold although no creation of their ticket or item waits for a person.

        The item's row can belong to another ticket, whose item had the same id before a restore of the help desk.
        """
        issue, time, note = TicketIssueLink, TaskTimeLink, NoteLink
        of_ticket = exists().where(issue.ticket_id == JournalEvent.ticket_id, issue.state.in_(FOR_A_PERSON))
        its_own = or_(time.ticket_id == JournalEvent.ticket_id, time.task_id == JournalEvent.task_id)
        of_task = exists().where(its_own, time.state.in_(FOR_A_PERSON))
        additions = (
            exists().where(one.ticket_id == JournalEvent.ticket_id, one.state.in_(FOR_A_PERSON))
            for one in (NoteLink, DocumentLink)
        )
        its_key = note.of_kind + ":" + note.item_id.cast(String)
        of_note = exists().where(its_key == JournalEvent.key, note.state.in_(FOR_A_PERSON))
        waiting = (of_ticket, of_task, of_note, *additions)
        on_hold = and_(JournalEvent.state == EventState.ON_HOLD, *(~one for one in waiting))
        return self._session.scalar(select(func.count()).select_from(JournalEvent).where(on_hold)) or 0

    def waiting(self) -> Backlog:
        """Return the number and age of the pending events."""
        due_since = case((is_due(), func.coalesce(JournalEvent.next_attempt_at, JournalEvent.received_at)))
        columns = (func.count(), func.min(JournalEvent.received_at), func.min(due_since))
        pending = select(*columns).where(JournalEvent.state == EventState.PENDING)
        return Backlog(*self._session.execute(pending).one())

    def skipped_tickets(self, code: Code) -> list[SkippedTicket]:
        """Return the tickets with events that were skipped with a reason code."""
        statement = (
            select(
                JournalEvent.ticket_id,
                func.count(),
                func.min(JournalEvent.occurred_at),
                TicketState.snapshot,
            )
            .join(TicketState, TicketState.ticket_id == JournalEvent.ticket_id)
            .where(JournalEvent.state == EventState.SKIPPED, JournalEvent.code == code)
            .group_by(JournalEvent.ticket_id, TicketState.snapshot)
        )
        return [SkippedTicket(*row) for row in self._session.execute(statement)]

    def unlinked(self, seconds: float) -> list[Unlinked]:
        """Return the unmapped places of tickets skipped within the last `seconds`, most tickets first."""
        skipped = (
            select(JournalEvent.ticket_id, func.max(JournalEvent.id).label("event_id"))
            .where(
                JournalEvent.received_at > moment(-seconds),
                JournalEvent.state == EventState.SKIPPED,
                JournalEvent.code == Reason.NO_LINK,
            )
            .group_by(JournalEvent.ticket_id)
            .subquery()
        )
        entity = number_in(TicketState.snapshot, "entity_id").label("entity")
        project = number_in(TicketState.snapshot, "project_id").label("project")
        count = func.count()
        newest = func.max(skipped.c.event_id)
        groups = (
            select(entity, project, count, func.min(skipped.c.ticket_id), newest)
            .join(TicketState, TicketState.ticket_id == skipped.c.ticket_id)
            .group_by(entity, project)
            .order_by(count.desc())
            .limit(MOST_UNLINKED)
        )
        found = self._session.execute(groups).all()
        payloads = select(JournalEvent.id, JournalEvent.payload).where(
            JournalEvent.id.in_([event_id for *_, event_id in found])
        )
        names = {event_id: entity_name(payload) for event_id, payload in self._session.execute(payloads)}
        return [
            Unlinked(entity_id, project_id, tickets, example, names.get(event_id))
            for entity_id, project_id, tickets, example, event_id in found
        ]

    def after_deletion(self, seconds: float, margin: timedelta) -> list[int]:
        """Return deleted tickets with an event that occurred later than the deletion, by more than `margin`.

        Only events that were received within the last `seconds` count, and none that confirms the deletion.
        """
        deleted_at, newest = TicketDeletion.occurred_at, func.max(JournalEvent.occurred_at)
        skipped = (
            select(JournalEvent.ticket_id, deleted_at, newest)
            .join(TicketDeletion, TicketDeletion.ticket_id == JournalEvent.ticket_id)
            .where(
                JournalEvent.received_at > moment(-seconds),
                is_in_state(EventState.SKIPPED, Reason.TICKET_DELETED),
                TicketDeletion.is_deleted,
            )
            .group_by(JournalEvent.ticket_id, deleted_at)
            .order_by(JournalEvent.ticket_id)
        )
        rows = self._session.execute(skipped)
        return [ticket_id for ticket_id, deleted, last in rows if last - deleted > margin]

    def issues_of_deleted(self, most: int) -> dict[int, int]:
        """Return the issues of the tickets that were deleted last: issue to ticket."""
        linked = (
            select(TicketIssueLink.tracker_id, TicketDeletion.ticket_id)
            .join(TicketDeletion, TicketDeletion.ticket_id == TicketIssueLink.ticket_id)
            .where(TicketIssueLink.state == LedgerState.LINKED, TicketDeletion.is_deleted)
            .order_by(TicketDeletion.event_id.desc())
            .limit(most)
        )
        return {issue_id or 0: ticket_id for issue_id, ticket_id in self._session.execute(linked)}

    def added_again(self, seconds: float, margin: timedelta) -> list[str]:
        """Return keys that were reported as added again later, by more than `margin`, and were not sent again.

        Only events that were received within the last `seconds` count.
        """
        first, again = aliased(JournalEvent), JournalEvent.occurred_at
        sent_before = (Reason.LOGGED_BEFORE, Reason.NOTED_BEFORE, Reason.ATTACHED_BEFORE)
        added = (
            select(JournalEvent.key, func.max(again), func.min(first.occurred_at))
            .join(first, and_(first.key == JournalEvent.key, first.event == JournalEvent.event))
            .where(
                JournalEvent.received_at > moment(-seconds),
                or_(*(is_in_state(EventState.DONE, code) for code in sent_before)),
                JournalEvent.event.in_([one for one in EVENTS if one.endswith(".added")]),
            )
            .group_by(JournalEvent.key)
            .order_by(JournalEvent.key)
        )
        rows = self._session.execute(added)
        return [key for key, last, before in rows if last - before > margin]

    def newest_of_any_task(self, most: int) -> Sequence[JournalEvent]:
        """Return the ticket task events among the newest `most` events, with only state and reason loaded."""
        newest = select(func.max(JournalEvent.id)).scalar_subquery()
        lately = and_(JournalEvent.id > newest - most, JournalEvent.task_id.is_not(None))
        ends = (JournalEvent.state, JournalEvent.code, JournalEvent.params)
        statement = select(JournalEvent).options(load_only(*ends, raiseload=True)).where(lately)
        return self._session.scalars(statement.order_by(JournalEvent.id)).all()

    def newest_document(self, most: int) -> JournalEvent | None:
        """Return the newest document among the newest `most` events that was attached, failed, or waits for GLPI."""
        newest = select(func.max(JournalEvent.id)).scalar_subquery()
        statement = select(JournalEvent).where(
            JournalEvent.id > newest - most,
            JournalEvent.event == "document.added",
            or_(
                JournalEvent.state.in_((EventState.DONE, EventState.FAILED)),
                is_in_state(EventState.PENDING, Reason.HELPDESK_AWAITED),
            ),
        )
        return self._session.scalar(statement.order_by(JournalEvent.id.desc()).limit(1))

    def others_sent(self, ticket_id: int, since: datetime) -> int:
        """Return the number of other tickets whose data the tracker accepted since a given time; at most a hundred."""
        sent = (Reason.TIME_LOGGED, Reason.TIME_LOGGED_AS_ANOTHER, Reason.STATUS_SET, Reason.ISSUE_UPDATED)
        newest = (
            select(JournalEvent.ticket_id)
            .where(JournalEvent.ended_at > since, JournalEvent.ticket_id != ticket_id)
            .where(JournalEvent.state == EventState.DONE, JournalEvent.code.in_(map(str, sent)))
            .order_by(JournalEvent.ended_at.desc())  # by the index
            .limit(MOST_OTHERS)
        )
        return self._session.scalar(select(func.count(newest.subquery().c.ticket_id.distinct()))) or 0

    def pending_additions(self, ticket_id: int) -> list[tuple[int, datetime | None, str | None]]:
        """Return a ticket's pending events of additions to its issue, oldest first.

        Each comes with its due time and the code of the reason for which it waits.
        """
        statement = select(JournalEvent.id, JournalEvent.next_attempt_at, JournalEvent.code).where(
            JournalEvent.ticket_id == ticket_id,
            is_pending_of_few(),
            JournalEvent.event.in_(ADDITION_EVENTS),
        )
        found = self._session.execute(statement.order_by(*ORDER))
        return [(row.id, row.next_attempt_at, row.code) for row in found]

    def unsent_notes(self, ticket_ids: Collection[int]) -> list[JournalEvent]:
        """Return the newest events of tickets' follow-ups and solutions that are public, but were not sent yet."""
        waits = or_(
            JournalEvent.state.in_((EventState.PENDING, EventState.ON_HOLD, EventState.FAILED)),
            is_in_state(EventState.SKIPPED, Reason.NO_ISSUE_FOR_NOTE),
        )
        keys = select(JournalEvent.key).where(
            JournalEvent.ticket_id.in_(ticket_ids), JournalEvent.event.in_(NOTE_EVENTS), waits
        )
        newest = (self.of_key(key)[0] for key in self._session.scalars(keys.distinct()).all())
        return [row for row in newest if (event := snapshot_of(row)) and not is_private(event)]

    def has_pending(self, ticket_id: int) -> bool:
        """Return whether a ticket has a pending event, due or not."""
        statement = select(JournalEvent.id).where(
            JournalEvent.ticket_id == ticket_id, JournalEvent.state == EventState.PENDING
        )
        return self._session.scalar(statement.limit(1)) is not None

    def first_pending_task(self, ticket_id: int) -> int | None:
        """Return the id of the oldest pending event of a ticket's tasks, due or not, or None."""
        statement = select(JournalEvent.id).where(
            JournalEvent.ticket_id == ticket_id,
            JournalEvent.state == EventState.PENDING,
            JournalEvent.task_id.is_not(None),
        )
        return self._session.scalar(statement.order_by(*ORDER).limit(1))

    def have_due(self, ticket_ids: Collection[int]) -> set[int]:
        """Return those of the tickets that have a due event."""
        found = execute_prepared(self._session, _which_have_due(), {"ticket_ids": list(ticket_ids)})
        return {ticket_id for (ticket_id,) in found}

    def due_tickets(self, limit: int, *, older_than: float) -> list[int]:
        """Return tickets with a due event, longest waiting first.

        Args:
            limit: maximum number of tickets.
            older_than: minimum age of the event in seconds; a worker has just been notified of younger events.
        """
        oldest = func.min(JournalEvent.id)
        statement = (
            select(JournalEvent.ticket_id)
            .where(is_due(), JournalEvent.received_at <= moment(-older_than))
            .group_by(JournalEvent.ticket_id)
            .order_by(oldest)
            .limit(limit)
        )
        return list(self._session.scalars(statement))

    def due_of(self, ticket_ids: Collection[int], *, few: bool = False) -> dict[int, DueEvents]:
        """Return the due events of some tickets, oldest first by (occurred_at, sequence, id).

        If one event of a key is due, all pending events of the key are returned, because an older one must not be
        processed without the newer. The result is bounded in any case; events that are left out stay due.

        Args:
            ticket_ids: the tickets.
            few: apply the lower limits for each ticket of a batch.
        """
        found: dict[int, list[Any]] = {ticket_id: [] for ticket_id in ticket_ids}
        for row in execute_prepared(self._session, due_of_tickets(), due_parameters(ticket_ids, few=few)):
            found[row.ticket_id].append(row)
        return {ticket_id: due_events(rows, few=few) for ticket_id, rows in found.items()}

    def attempts_of_due(self, ticket_id: int) -> dict[int, int]:
        """Return the number of attempts of each due event of a ticket, by event id."""
        statement = select(JournalEvent.id, JournalEvent.attempts).where(due_with_their_keys(ticket_id))
        rows = self._session.execute(statement)
        return dict(rows.all())


def is_in_state(state: EventState, code: str | None) -> ColumnElement[bool]:
    """Match the events in a state, or in a state and with a reason code."""
    has_state = JournalEvent.state == state
    return has_state if code is None else and_(has_state, JournalEvent.code == code)


@cache
def _which_have_due() -> Any:
    """Return the statement that finds those of `ticket_ids` that have a due event."""
    ticket_id = JournalEvent.ticket_id
    return select(ticket_id).where(among(ticket_id, "ticket_ids"), is_due_of_few()).distinct()
