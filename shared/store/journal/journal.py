"""The journal: every accepted event and its state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    String,
    and_,
    case,
    delete,
    exists,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session, aliased

from shared.errors import NotFound
from shared.events.event import DELETIONS
from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.store.journal.appending import JournalAppender
from shared.store.journal.due import ORDER, due_with_their_keys, is_pending_of_few
from shared.store.journal.highest import HighestNumbers
from shared.store.journal.journal_queries import JOURNAL, UNREADABLE, JournalQueries, is_in_state
from shared.store.ledger.ledger_queries import unsettled_tickets
from shared.store.tables.explained import reason_columns
from shared.store.tables.functions import Rows, unindexed
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import Key, clock, oldest

REPLAYED = Reason.PERSON_REPLAYED()
ENDED = (EventState.DONE, EventState.SKIPPED, EventState.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Done:
    """An event that has taken effect.

    Attributes:
        reason: the reason that it ends with.
        others: the reason why failed events of its key are superseded.
    """

    event_id: int
    key: str
    reason: Notice
    others: Notice


DONE = Rows(
    {
        "event_id": Key,
        "of_key": String(),
        **{
            f"{what}_{name}": JOURNAL.c[name].type
            for what in ("done", "others")
            for name in reason_columns(None)
        },
    }
)


class Journal(JournalQueries, JournalAppender):
    """Reads, appends and changes events within one transaction.

    Attributes:
        ended: number of events that this transaction has ended, by state and reason code.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.ended: Counter[tuple[str, str]] = Counter()

    def done_all(self, events: Sequence[Done]) -> None:
        """End events that have taken effect as done, whatever their state, and failed events of their keys."""
        rows = [
            {
                "event_id": one.event_id,
                "of_key": one.key,
                **{f"done_{name}": value for name, value in reason_columns(one.reason).items()},
                **{f"others_{name}": value for name, value in reason_columns(one.others).items()},
            }
            for one in sorted(events, key=lambda one: one.event_id)
        ]
        found = execute_prepared(self._session, _done(), DONE.parameters(self._session, rows))
        ended = {event_id for (event_id,) in found}
        for one in events:
            if one.event_id in ended:
                self.ended[str(EventState.DONE), str(one.reason.code)] += 1

    def end(self, event_ids: Collection[int], state: EventState, reason: Notice) -> None:
        """Set a final state (or `on_hold`, `failed`) and its reason on pending events.

        An event that another worker has ended in the meantime stays unchanged, because a worker that was suspended
        may have outdated data.
        """
        self._change(_pending(event_ids), reason, state=state, next_attempt_at=None, ended_at=clock())

    def supersede_older(self, event_id: int, reason: Notice) -> None:
        """End older pending events of an event's key as superseded, except deletions."""
        newer = aliased(JournalEvent)
        of_its_key = JournalEvent.key == select(newer.key).where(newer.id == event_id).scalar_subquery()
        is_older = exists().where(
            newer.id == event_id, tuple_(*ORDER) < tuple_(newer.occurred_at, newer.sequence, newer.id)
        )
        has_snapshot = JournalEvent.event.not_in(DELETIONS)  # each deletion must be processed
        where = and_(of_its_key, is_pending_of_few(), is_older, has_snapshot)
        self._change(where, reason, state=EventState.SUPERSEDED, next_attempt_at=None, ended_at=clock())

    def wait(
        self, event_ids: Collection[int], until: datetime | None, reason: Notice, *, attempt: bool = False
    ) -> None:
        """Reschedule pending events; an event that another worker has ended in the meantime stays unchanged.

        Args:
            event_ids: the events.
            until: when they are due again (database clock); None makes them due now.
            reason: why they wait.
            attempt: whether this counts as an attempt.
        """
        attempts = JournalEvent.attempts + (1 if attempt else 0)
        self._change(_pending(event_ids), reason, next_attempt_at=until, attempts=attempts)

    def wait_due(self, ticket_id: int, until: datetime, reason: Notice) -> None:
        """Reschedule a ticket's due events, and its pending events with the same keys, to `until`."""
        self._change(due_with_their_keys(ticket_id), reason, next_attempt_at=until)

    def reschedule(self, ticket_id: int, seconds: float, *, key: str | None = None) -> None:
        """Make pending events due after some seconds, whenever they were due before.

        Args:
            ticket_id: the ticket of the events.
            seconds: delay from now.
            key: if given, change the events of this key instead, on any ticket.
        """
        whose = JournalEvent.ticket_id == ticket_id if key is None else JournalEvent.key == key
        where = and_(whose, is_pending_of_few())
        self._session.execute(update(JOURNAL).where(where).values(next_attempt_at=clock(seconds)))

    def make_due(self, ticket_id: int, key: str | None = None) -> None:
        """Make a ticket's pending events due now, and a key's on any ticket: they may wait for a creation."""
        waiting = and_(_waiting_for(ticket_id, key), is_pending_of_few())
        self._session.execute(update(JOURNAL).where(waiting).values(next_attempt_at=None))

    def make_due_by_code(self, code: Code, reason: Notice, limit: int) -> list[tuple[int, int]]:
        """Make at most `limit` pending events with this reason code due now; return event and ticket ids."""
        return self._change_some(
            JournalEvent.code == code, limit, next_attempt_at=None, **reason_columns(reason)
        )

    def skip_pending(self, reason: Notice, limit: int) -> list[tuple[int, int]]:
        """End at most `limit` pending events as skipped; return event and ticket ids.

        Deletions stay pending: they are never sent, and they must be recorded.
        """
        ends = {"state": EventState.SKIPPED, "next_attempt_at": None, "ended_at": clock()}
        has_snapshot = JournalEvent.event.not_in(DELETIONS)
        return self._change_some(has_snapshot, limit, **ends, **reason_columns(reason))

    def complete(self, event_id: int, facts: Mapping[str, Any]) -> None:
        """Store the facts that were looked up because an event lacks them; facts left out stay unknown."""
        where = JournalEvent.id == event_id
        self._session.execute(update(JOURNAL).where(where).values(completion=json.dumps(facts)))

    def reopen(self, where: ColumnElement[bool], reason: Notice) -> list[int]:
        """Make events pending again, with their full number of attempts; return their tickets.

        Facts that they lack are looked up again.
        """
        changed = self._session.execute(
            update(JOURNAL)
            .where(where)
            .values(
                state=EventState.PENDING,
                next_attempt_at=None,
                ended_at=None,
                attempts=0,
                completion=None,
                **reason_columns(reason),
            )
            .returning(JournalEvent.ticket_id)
        )
        return sorted(set(changed.scalars()))

    def reopen_on_hold(self, ticket_id: int, reason: Notice, key: str | None = None) -> list[int]:
        """Make events on hold pending again after a decision on their creation; return their tickets."""
        on_hold = JournalEvent.state == EventState.ON_HOLD
        return self.reopen(and_(_waiting_for(ticket_id, key), on_hold), reason)

    def replay(self, event_ids: Collection[int], reason: Notice = REPLAYED) -> list[int]:
        """Make some events pending again, with every failed event of the same keys; return their tickets.

        A ticket task's newest event decides what is logged, so an older one is not replayed without it.

        Raises:
            NotFound: if the journal lacks any of the events; it names their ids.
        """
        known = set(self._session.scalars(select(JournalEvent.id).where(JournalEvent.id.in_(event_ids))))
        if missing := sorted(set(event_ids) - known):
            raise NotFound(Refusal.EVENTS_UNKNOWN(events=missing))
        return self.replay_where(JournalEvent.id.in_(event_ids), reason)

    def replay_where(self, where: ColumnElement[bool], reason: Notice = REPLAYED) -> list[int]:
        """Make matching events pending again, with every failed event of the same keys; return their tickets."""
        keys = select(JournalEvent.key).where(where)
        failed_alike = and_(JournalEvent.key.in_(keys), JournalEvent.state == EventState.FAILED)
        return self.reopen(and_(JournalEvent.key != UNREADABLE, or_(where, failed_alike)), reason)

    def replay_state(
        self, state: EventState, reason: Notice = REPLAYED, *, code: str | None = None
    ) -> list[int]:
        """Make events in a state pending again, all of them or those with a reason code; return their tickets."""
        return self.reopen(and_(is_in_state(state, code), JournalEvent.key != UNREADABLE), reason)

    def replay_skipped(self, ticket_ids: Sequence[int], code: Code, why: Notice) -> None:
        """Make those events of some tickets pending again that were skipped with this reason code."""
        skipped = and_(JournalEvent.state == EventState.SKIPPED, JournalEvent.code == code)
        for start in range(0, len(ticket_ids), 500):
            chunk = ticket_ids[start : start + 500]
            self.reopen(and_(skipped, JournalEvent.ticket_id.in_(chunk)), why)

    def replay_statuses(self, ticket_ids: Sequence[int]) -> None:
        """Make those events of some tickets pending again whose status was unmapped or refused."""
        reasons = (
            JournalEvent.code == Reason.STATUS_NOT_MAPPED,
            JournalEvent.code == Reason.STATUS_REFUSED,
        )
        ended = JournalEvent.state.in_((EventState.SKIPPED, EventState.FAILED))
        for start in range(0, len(ticket_ids), 500):
            chunk = JournalEvent.ticket_id.in_(ticket_ids[start : start + 500])
            self.reopen(and_(chunk, ended, or_(*reasons)), Reason.MAP_WAS_CHANGED())

    def remove_texts(self, key: str, private_event: int) -> None:
        """Remove the text of a ticket task or follow-up from the events before the one that reported it as private."""
        newest_first = iter(self.of_key(key))
        next((row for row in newest_first if row.id == private_event), None)
        for row in newest_first:
            data = json.loads(row.payload)
            part = data.get("followup") or data.get("task") or {}
            if part.pop("content", None) is not None:
                changed = update(JOURNAL).where(JournalEvent.id == row.id)
                self._session.execute(changed.values(payload=json.dumps(data)))

    def remove(self, event_id: int) -> None:
        """Delete an unreadable delivery that has been read successfully since."""
        where = and_(JournalEvent.id == event_id, JournalEvent.key == UNREADABLE)
        self._session.execute(delete(JournalEvent).where(where))

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete ended events past their retention; return their number (at most `limit`).

        A ticket's events stay until all of its creations are linked, because a decision may need them to create an
        object again.
        """
        prunable = JournalEvent.state.in_(ENDED), JournalEvent.ticket_id.not_in(unsettled_tickets())
        numbers = JournalEvent.ticket_id, JournalEvent.key
        old = oldest(JournalEvent.ended_at, older_than_days, limit, *prunable)
        deleting = delete(JournalEvent).where(JournalEvent.id.in_(old)).returning(*numbers)
        deleted = [(ticket_id, key) for ticket_id, key in self._session.execute(deleting)]
        HighestNumbers(self._session).keep(deleted)
        return len(deleted)

    def _change_some(self, where: ColumnElement[bool], limit: int, **values: object) -> list[tuple[int, int]]:
        """Change at most `limit` pending events, oldest first; return event and ticket ids."""
        pending = select(JournalEvent.id).where(JournalEvent.state == EventState.PENDING, where)
        some = pending.order_by(JournalEvent.id).limit(limit)
        change = update(JOURNAL).where(JournalEvent.id.in_(some)).values(**values)
        changed = self._session.execute(change.returning(JournalEvent.id, JournalEvent.ticket_id))
        return [(event_id, ticket_id) for event_id, ticket_id in changed]

    def _change(self, where: ColumnElement[bool], reason: Notice, **values: object) -> None:
        changed = self._session.execute(
            update(JOURNAL).where(where).values(**values, **reason_columns(reason))
        )
        if "state" in values:
            self.ended[str(values["state"]), str(reason.code)] += cast(CursorResult[Any], changed).rowcount


def _pending(event_ids: Collection[int]) -> ColumnElement[bool]:
    return and_(JournalEvent.id.in_(event_ids), is_pending_of_few())


def _waiting_for(ticket_id: int, key: str | None) -> ColumnElement[bool]:
    """Match events of a ticket, or of a key on any ticket: a ticket task may have moved to another ticket since."""
    of_ticket = JournalEvent.ticket_id == ticket_id
    return of_ticket if key is None else or_(of_ticket, JournalEvent.key == key)


@cache
def _done() -> Any:
    """Return the statement that ends events as done, and failed events of their keys as superseded.

    A failed event of an earlier ticket stays: a restored help desk gave its item's id to another item.
    """
    columns, given = JOURNAL.c, DONE.table().c
    is_it, state = columns.id == given.event_id, partial(literal, type_=columns.state.type)
    explained = {
        name: case((is_it, given[f"done_{name}"]), else_=given[f"others_{name}"])
        for name in reason_columns(None)
    }
    has_failed = and_(
        unindexed(columns.state) == EventState.FAILED,
        columns.code.is_distinct_from(str(Reason.OF_EARLIER_TICKET)),
    )
    return (
        update(JOURNAL)
        .where(columns.key == given.of_key, or_(is_it, has_failed))
        .values(
            state=case((is_it, state(EventState.DONE)), else_=state(EventState.SUPERSEDED)),
            next_attempt_at=case((is_it, None), else_=columns.next_attempt_at),
            ended_at=clock(),
            **explained,
        )
        .returning(columns.id)
    )
