"""The journal: every accepted event and what became of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Delete,
    String,
    Table,
    and_,
    case,
    delete,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_on_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_on_sqlite
from sqlalchemy.orm import Session, aliased, load_only

from shared.codes.invalid import Faults, faulty
from shared.codes.notice import Code, Notice, Written
from shared.codes.reasons import Reason
from shared.codes.refusals import Refusal
from shared.errors import NotFound
from shared.events.config import SENT
from shared.events.delivery import Delivery
from shared.events.event import DELETIONS, Fact
from shared.events.stored import entity_name
from shared.store.journal.due import (
    CLOCK_TOLERANCE,
    ORDER,
    DueEvents,
    due_events,
    due_of_tickets,
    due_parameters,
    due_with_their_keys,
    is_due,
    is_due_of_few,
    is_pending_of_few,
    task_key,
)
from shared.store.ledger.ledger_queries import unsettled_tickets
from shared.store.ledger.transitions import FOR_A_PERSON
from shared.store.tables.configuration import PluginConfigRecord
from shared.store.tables.constant import carry_out
from shared.store.tables.explained import is_for, keeping, kept
from shared.store.tables.journal import (
    NO_SEQUENCE,
    EventState,
    JournalEvent,
    TicketState,
)
from shared.store.tables.ledger import TaskTimeLink, TicketIssueLink
from shared.store.tables.rows import Rows, among
from shared.store.tables.types import (
    Insert,
    Key,
    clock,
    insert_for,
    is_on_postgresql,
    moment,
    number_in,
    unindexed,
)

JOURNAL = cast(Table, JournalEvent.__table__)
UNREADABLE = "unreadable"
"""The event, and the key, of a delivery that could not be read."""
NO_TICKET = 0
MOST_UNLINKED = 200
MOST_OTHERS = 100
REPLAYED = Reason.PERSON_REPLAYED()
ENDED = (EventState.DONE, EventState.SKIPPED, EventState.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the journal answers for one delivery.

    Attributes:
        conflicting: its delivery id had come before with another body, so it was kept as a new event.
    """

    event_id: int
    key: str
    ticket_id: int
    duplicate: bool
    conflicting: bool = False


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits: how many events, since when the oldest, and since when the oldest of those that are due."""

    count: int
    oldest: datetime | None
    oldest_due: datetime | None


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Tickets of an entity, and of a helpdesk project where they have one, that were skipped for want of a link.

    Attributes:
        tickets: how many.
        example: the lowest of their numbers.
        name: the entity's, where an event named it.
    """

    entity_id: int
    project_id: int | None
    tickets: int
    example: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Done:
    """An event whose effect has come about.

    Attributes:
        key: its key.
        reason: how it ended.
        others: why the events of its key that had failed are superseded.
    """

    event_id: int
    key: str
    reason: Notice
    others: Notice


DONE = Rows(
    {
        "event_id": Key,
        "of_key": String(),
        **{f"{what}_{name}": JOURNAL.c[name].type for what in ("done", "others") for name in keeping(None)},
    }
)

APPENDED = Rows(
    {
        name: JOURNAL.c[name].type
        for name in (
            "delivery_id",
            "digest",
            "event",
            "key",
            "ticket_id",
            "task_id",
            "occurred_at",
            "clamped",
            "sequence",
            "payload",
            "traceparent",
        )
    }
)


class Journal:
    """Reads and writes events within one transaction.

    Attributes:
        ended: how many events this transaction has given which state and reason.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.ended: Counter[tuple[str, str]] = Counter()

    def append(
        self, deliveries: Sequence[Delivery], received_at: datetime, *, private_text: bool = False
    ) -> list[Accepted]:
        """Append deliveries; one that came before changes nothing.

        Args:
            deliveries: validated events, at most some hundreds.
            received_at: when they came by the producer's clock, to tell times that lie in the future; what is
                kept is the database's clock, which the sweep compares with.
            private_text: whether the text of private ticket tasks is kept (`keeps_private_text`).

        Returns:
            One answer per delivery, in their order.
        """
        if not private_text:
            deliveries = [one.public for one in deliveries]
        new = self._insert(deliveries, received_at)
        fresh = {(row.delivery_id, row.digest) for row in new}
        came_before = any(row.came_before for row in new) or any(
            one.identity not in fresh for one in deliveries
        )
        known = self._known(deliveries) if came_before else _by_delivery_id(new)
        answers = []
        for one in deliveries:
            duplicate = one.identity not in fresh
            fresh.discard(one.identity)
            event_id = known[one.delivery_id][one.digest]
            conflicting = not duplicate and event_id > min(known[one.delivery_id].values())
            answers.append(Accepted(event_id, one.event.key, one.event.ticket.id, duplicate, conflicting))
        return answers

    def keeps_private_text(self) -> bool:
        """Tell whether the settings have the text of private ticket tasks kept; reads nothing but their values."""
        values = self._session.scalar(select(PluginConfigRecord.values)) or {}
        return values.get("private_tasks") == SENT

    def park(self, delivery_id: str, source: str, body: bytes, faults: Faults) -> None:
        """Keep a delivery that cannot be read, as `failed`; one that came before changes nothing.

        Args:
            delivery_id: the sender's id of it.
            source: whose it is: whoever replays it chooses the reader by it.
            body: byte for byte.
            faults: (path, what is wrong) for each fault.
        """
        row = {
            "delivery_id": delivery_id,
            "digest": hashlib.sha256(body).hexdigest(),
            "event": UNREADABLE,
            "key": UNREADABLE,
            "ticket_id": NO_TICKET,
            "task_id": None,
            "occurred_at": clock(),
            "clamped": False,
            "sequence": NO_SEQUENCE,
            "received_at": clock(),
            "payload": json.dumps({"source": source, "body": body.decode("utf-8", "surrogateescape")}),
            "state": EventState.FAILED,
            "attempts": 0,
            **keeping(
                Reason.DELIVERY_UNREADABLE(source=source, **faulty(Refusal.EVENT_NOT_VALID, faults).params)
            ),
        }
        self._session.execute(insert_for(self._session)(JOURNAL).values(row).on_conflict_do_nothing())

    def _insert(self, deliveries: Sequence[Delivery], received_at: datetime) -> Sequence[Any]:
        """Insert what is new; return it, and whether its delivery id came before."""
        statement = _appending(postgresql=is_on_postgresql(self._session))
        given = APPENDED.parameters(self._session, (_row(one, received_at) for one in deliveries))
        return carry_out(self._session, statement, given)

    def _known(self, deliveries: Sequence[Delivery]) -> dict[str, dict[str, int]]:
        """Return what the journal holds of these delivery ids: digest to event id, by delivery id."""
        asked = {"delivery_ids": {one.delivery_id for one in deliveries}}
        return _by_delivery_id(carry_out(self._session, _of_deliveries(), asked))

    def due_of(self, ticket_ids: Collection[int], *, few: bool = False) -> dict[int, DueEvents]:
        """Return some tickets' pending events whose time has come, oldest first by (occurred_at, sequence, id).

        Where one event of a key is due, all pending ones of the key are returned: an older one must not be
        carried out as if nothing newer were known. What is returned is bounded, whatever somebody has sent; what is
        left out is due still.

        Args:
            ticket_ids: the tickets.
            few: of each no more than is read together with what others have.
        """
        found: dict[int, list[Any]] = {ticket_id: [] for ticket_id in ticket_ids}
        for row in carry_out(self._session, due_of_tickets(), due_parameters(ticket_ids, few=few)):
            found[row.ticket_id].append(row)
        return {ticket_id: due_events(rows, few=few) for ticket_id, rows in found.items()}

    def supersede_older(self, event_id: int, reason: Notice) -> None:
        """End the pending events of an event's key that are older than it."""
        newer = aliased(JournalEvent)
        of_its_key = JournalEvent.key == select(newer.key).where(newer.id == event_id).scalar_subquery()
        is_older = exists().where(
            newer.id == event_id, tuple_(*ORDER) < tuple_(newer.occurred_at, newer.sequence, newer.id)
        )
        has_snapshot = JournalEvent.event.not_in(DELETIONS)  # what was deleted is found out from each
        where = and_(of_its_key, is_pending_of_few(), is_older, has_snapshot)
        self._change(where, reason, state=EventState.SUPERSEDED, next_attempt_at=None, ended_at=clock())

    def wait_due(self, ticket_id: int, until: datetime, reason: Notice) -> None:
        """Keep everything that is due for a ticket pending until then."""
        self._change(due_with_their_keys(ticket_id), reason, next_attempt_at=until)

    def attempts_of_due(self, ticket_id: int) -> dict[int, int]:
        """Return how often each event that is due for a ticket was tried, by its id."""
        statement = select(JournalEvent.id, JournalEvent.attempts).where(due_with_their_keys(ticket_id))
        rows = self._session.execute(statement)
        return dict(rows.all())

    def have_due(self, ticket_ids: Collection[int]) -> set[int]:
        """Return those of some tickets that have a pending event whose time has come."""
        found = carry_out(self._session, _due_at_all(), {"ticket_ids": list(ticket_ids)})
        return {ticket_id for (ticket_id,) in found}

    def has_pending(self, ticket_id: int) -> bool:
        """Tell whether a ticket has a pending event, due or not."""
        statement = select(JournalEvent.id).where(
            JournalEvent.ticket_id == ticket_id, JournalEvent.state == EventState.PENDING
        )
        return self._session.scalar(statement.limit(1)) is not None

    def due_tickets(self, limit: int, *, older_than: float) -> list[int]:
        """Return tickets with something pending and due, those waiting longest first.

        Args:
            limit: how many at most.
            older_than: seconds since the event came; younger ones have just been notified.
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

    def end(self, event_ids: Collection[int], state: EventState, reason: Notice) -> None:
        """Give pending events a final state (or `held`, `failed`) with its reason.

        What others have ended meanwhile stays: a worker that was stopped and comes back knows less than they do.
        """
        self._change(_pending(event_ids), reason, state=state, next_attempt_at=None, ended_at=clock())

    def done_all(self, events: Sequence[Done]) -> None:
        """End events whose effects have come about, whatever became of them meanwhile, and what failed of their key."""
        rows = [
            {
                "event_id": one.event_id,
                "of_key": one.key,
                **{f"done_{name}": value for name, value in keeping(one.reason).items()},
                **{f"others_{name}": value for name, value in keeping(one.others).items()},
            }
            for one in sorted(events, key=lambda one: one.event_id)
        ]
        statement = _done(postgresql=is_on_postgresql(self._session))
        found = carry_out(self._session, statement, DONE.parameters(self._session, rows))
        ended = {event_id for (event_id,) in found}
        for one in events:
            if one.event_id in ended:
                self.ended[str(EventState.DONE), str(one.reason.code)] += 1

    def wait(
        self, event_ids: Collection[int], until: datetime | None, reason: Notice, *, attempt: bool = False
    ) -> None:
        """Keep pending events pending; what others have ended meanwhile stays so.

        Args:
            event_ids: the events.
            until: when they are due again (database clock); None: as soon as someone looks.
            reason: why.
            attempt: whether this used up an attempt.
        """
        attempts = JournalEvent.attempts + (1 if attempt else 0)
        self._change(_pending(event_ids), reason, next_attempt_at=until, attempts=attempts)

    def complete(self, event_id: int, facts: Mapping[Fact, Any]) -> None:
        """Note what was found out of what an event lacks; what is not in it stays unknown."""
        where = JournalEvent.id == event_id
        self._session.execute(update(JOURNAL).where(where).values(completion=json.dumps(facts)))

    def put_off(self, ticket_id: int, seconds: float, *, task_id: int | None = None) -> None:
        """Let pending events wait so long from now, and no longer.

        Args:
            ticket_id: whose events.
            seconds: from now.
            task_id: those of this ticket task instead, on whichever ticket.
        """
        whose = (
            JournalEvent.ticket_id == ticket_id if task_id is None else JournalEvent.key == task_key(task_id)
        )
        where = and_(whose, is_pending_of_few())
        self._session.execute(update(JOURNAL).where(where).values(next_attempt_at=clock(seconds)))

    def hurry(self, ticket_id: int, task_id: int | None = None) -> None:
        """Make the events due now that waited for a ticket's issue, or for a ticket task's time entry."""
        waiting = and_(_waiting_for(ticket_id, task_id), is_pending_of_few())
        self._session.execute(update(JOURNAL).where(waiting).values(next_attempt_at=None))

    def reopen(self, where: ColumnElement[bool], reason: Notice) -> list[int]:
        """Make events pending again, with all their attempts before them; return their tickets.

        What they lack is looked for anew.
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
                **keeping(reason),
            )
            .returning(JournalEvent.ticket_id)
        )
        return sorted(set(changed.scalars()))

    def reopen_held(self, ticket_id: int, reason: Notice, task_id: int | None = None) -> list[int]:
        """Make held events pending again, since what they waited for was decided; return their tickets."""
        held = JournalEvent.state == EventState.HELD
        return self.reopen(and_(_waiting_for(ticket_id, task_id), held), reason)

    def replay(self, event_ids: Collection[int], reason: Notice = REPLAYED) -> list[int]:
        """Make the named events pending again, with every failed one of the same keys; return their tickets.

        A ticket task's newest event decides what is logged, so an older one is not replayed without it.

        Raises:
            NotFound: naming the ids that the journal does not hold.
        """
        known = set(self._session.scalars(select(JournalEvent.id).where(JournalEvent.id.in_(event_ids))))
        if missing := sorted(set(event_ids) - known):
            raise NotFound(Refusal.EVENTS_UNKNOWN(events=missing))
        keys = select(JournalEvent.key).where(JournalEvent.id.in_(event_ids))
        failed_alike = and_(JournalEvent.key.in_(keys), JournalEvent.state == EventState.FAILED)
        wanted = or_(JournalEvent.id.in_(event_ids), failed_alike)
        return self.reopen(and_(wanted, JournalEvent.key != UNREADABLE), reason)

    def by_ticket(self, event_ids: Collection[int]) -> dict[int, list[int]]:
        """Return the ids of events that could be read by their ticket, in order."""
        wanted = select(JournalEvent.ticket_id, JournalEvent.id).where(
            JournalEvent.id.in_(event_ids), JournalEvent.key != UNREADABLE
        )
        found: dict[int, list[int]] = {}
        for ticket_id, event_id in self._session.execute(wanted.order_by(JournalEvent.id)):
            found.setdefault(ticket_id, []).append(event_id)
        return found

    def replay_where(self, where: ColumnElement[bool], reason: Notice = REPLAYED) -> list[int]:
        """Make the events that a condition matches pending again, with every failed one of the same keys."""
        readable = JournalEvent.key != UNREADABLE
        keys = select(JournalEvent.key).where(where)
        failed_alike = and_(JournalEvent.key.in_(keys), JournalEvent.state == EventState.FAILED)
        return self.reopen(and_(readable, or_(where, failed_alike)), reason)

    def replay_state(
        self, state: EventState, reason: Notice = REPLAYED, *, code: str | None = None
    ) -> list[int]:
        """Make every event of a state pending again, of one reason's code where one is named; return their tickets."""
        return self.reopen(and_(_ended_so(state, code), JournalEvent.key != UNREADABLE), reason)

    def unreadable(self) -> Sequence[JournalEvent]:
        """Return the deliveries that are kept and could not be read, oldest first."""
        kept = select(JournalEvent).where(JournalEvent.key == UNREADABLE).order_by(JournalEvent.id)
        return self._session.scalars(kept).all()

    def remove(self, event_id: int) -> None:
        """Delete a delivery that could not be read and has been read since."""
        where = and_(JournalEvent.id == event_id, JournalEvent.key == UNREADABLE)
        self._session.execute(delete(JournalEvent).where(where))

    def count(self, state: EventState, *, code: str | None = None) -> int:
        """Return how many events have a state, and a reason of a code where one is named."""
        statement = select(func.count()).select_from(JournalEvent).where(_ended_so(state, code))
        return self._session.scalar(statement) or 0

    def waiting(self) -> Backlog:
        """Return what is pending."""
        due_since = case((is_due(), func.coalesce(JournalEvent.next_attempt_at, JournalEvent.received_at)))
        columns = (func.count(), func.min(JournalEvent.received_at), func.min(due_since))
        pending = select(*columns).where(JournalEvent.state == EventState.PENDING)
        return Backlog(*self._session.execute(pending).one())

    def failed_by_code(self) -> dict[str, int]:
        """Return how many events failed for which code, deliveries that cannot be read left out."""
        failed = and_(JournalEvent.state == EventState.FAILED, JournalEvent.key != UNREADABLE)
        counts = select(JournalEvent.code, func.count()).where(failed).group_by(JournalEvent.code)
        return {code or str(Written.AS_WRITTEN): count for code, count in self._session.execute(counts)}

    def reasons(self, state: EventState) -> list[tuple[int, Notice | None]]:
        """Return the events of a state with their reasons, oldest first."""
        columns = (JournalEvent.id, JournalEvent.reason_text, JournalEvent.code, JournalEvent.params)
        statement = select(*columns).where(JournalEvent.state == state).order_by(JournalEvent.id)
        return [(event_id, kept(*reason)) for event_id, *reason in self._session.execute(statement)]

    def count_held_for_nothing(self) -> int:
        """Return how many events are held while no issue or time entry of their ticket, or task, is."""
        issue, time = TicketIssueLink, TaskTimeLink
        of_ticket = exists().where(issue.ticket_id == JournalEvent.ticket_id, issue.state.in_(FOR_A_PERSON))
        its_own = or_(time.ticket_id == JournalEvent.ticket_id, time.task_id == JournalEvent.task_id)
        of_task = exists().where(its_own, time.state.in_(FOR_A_PERSON))
        held = and_(JournalEvent.state == EventState.HELD, ~of_ticket, ~of_task)
        return self._session.scalar(select(func.count()).select_from(JournalEvent).where(held)) or 0

    def oldest(self, state: EventState) -> JournalEvent | None:
        """Return the event of a state that came in first."""
        first = (
            JournalEvent.received_at,
            JournalEvent.id,
        )  # by id alone PostgreSQL would walk through all ended ones
        statement = select(JournalEvent).where(JournalEvent.state == state).order_by(*first).limit(1)
        return self._session.scalar(statement)

    def skipped_tickets(self, code: Code) -> Sequence[tuple[int, int, dict[str, Any]]]:
        """Return tickets with events skipped for a reason: id, how many such events, newest snapshot."""
        statement = (
            select(JournalEvent.ticket_id, func.count(), TicketState.snapshot)
            .join(TicketState, TicketState.ticket_id == JournalEvent.ticket_id)
            .where(JournalEvent.state == EventState.SKIPPED, is_for(JournalEvent, code))
            .group_by(JournalEvent.ticket_id, TicketState.snapshot)
        )
        return [
            (ticket_id, count, snapshot) for ticket_id, count, snapshot in self._session.execute(statement)
        ]

    def unlinked(self, seconds: float) -> list[Unlinked]:
        """Return where tickets were skipped for want of a link within so many seconds, most tickets first."""
        skipped = (
            select(JournalEvent.ticket_id, func.max(JournalEvent.id).label("event_id"))
            .where(
                JournalEvent.received_at > moment(-seconds),
                JournalEvent.state == EventState.SKIPPED,
                is_for(JournalEvent, Reason.NO_LINK),
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

    def newest_of_any_task(self, most: int) -> Sequence[JournalEvent]:
        """Return how those of ticket tasks ended among the newest events, so many of them; nothing else is read."""
        newest = select(func.max(JournalEvent.id)).scalar_subquery()
        lately = and_(JournalEvent.id > newest - most, JournalEvent.task_id.is_not(None))
        ends = (JournalEvent.state, JournalEvent.reason_text, JournalEvent.code, JournalEvent.params)
        statement = select(JournalEvent).options(load_only(*ends, raiseload=True)).where(lately)
        return self._session.scalars(statement.order_by(JournalEvent.id)).all()

    def replay_skipped(self, ticket_ids: Sequence[int], code: Code, why: Notice) -> None:
        """Make the events of some tickets that were skipped for a reason pending again."""
        skipped = and_(JournalEvent.state == EventState.SKIPPED, is_for(JournalEvent, code))
        for start in range(0, len(ticket_ids), 500):
            chunk = ticket_ids[start : start + 500]
            self.reopen(and_(skipped, JournalEvent.ticket_id.in_(chunk)), why)

    def replay_statuses(self, ticket_ids: Sequence[int]) -> None:
        """Make the updates of some tickets pending again whose status was mapped to nothing, or refused."""
        reasons = (
            is_for(JournalEvent, Reason.STATUS_NOT_MAPPED),
            is_for(JournalEvent, Reason.STATUS_REFUSED),
        )
        ended = JournalEvent.state.in_((EventState.SKIPPED, EventState.FAILED))
        for start in range(0, len(ticket_ids), 500):
            chunk = JournalEvent.ticket_id.in_(ticket_ids[start : start + 500])
            self.reopen(and_(chunk, ended, or_(*reasons)), Reason.MAP_WAS_CHANGED())

    def newest_received(self) -> datetime | None:
        """Return when the newest event came in, None where there is none."""
        newest = select(JournalEvent.received_at).order_by(JournalEvent.id.desc()).limit(1)
        return self._session.scalar(newest)

    def count_unreadable(self) -> int:
        """Return how many deliveries are kept that could not be read."""
        unreadable = and_(JournalEvent.key == UNREADABLE, JournalEvent.state == EventState.FAILED)
        return self._session.scalar(select(func.count()).select_from(JournalEvent).where(unreadable)) or 0

    def newest_unreadable(self) -> datetime | None:
        """Return when the newest delivery came in that is kept and could not be read; None where there is none."""
        unreadable = and_(JournalEvent.key == UNREADABLE, JournalEvent.state == EventState.FAILED)
        return self._session.scalar(select(func.max(JournalEvent.received_at)).where(unreadable))

    def by_ids(self, event_ids: Collection[int]) -> Sequence[JournalEvent]:
        """Return some events."""
        if not event_ids:
            return []
        return self._session.scalars(select(JournalEvent).where(JournalEvent.id.in_(event_ids))).all()

    def of_key(self, key: str) -> Sequence[JournalEvent]:
        """Return every event of a key, the newest first."""
        newest_first = [column.desc() for column in ORDER]
        statement = select(JournalEvent).where(JournalEvent.key == key).order_by(*newest_first)
        return self._session.scalars(statement).all()

    def newest_of(self, keys: Collection[str]) -> dict[str, datetime]:
        """Return when the newest known event of each key occurred; keys without one are left out."""
        newest = func.max(JournalEvent.occurred_at)
        statement = select(JournalEvent.key, newest).where(JournalEvent.key.in_(keys))
        return dict(self._session.execute(statement.group_by(JournalEvent.key)).all())

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

    def others_sent(self, ticket_id: int, since: datetime) -> int:
        """Return how many other tickets the tracker has been given something of since a moment; at most a hundred."""
        sent = (Reason.TIME_LOGGED, Reason.TIME_LOGGED_AS_ANOTHER, Reason.STATUS_SET, Reason.ISSUE_UPDATED)
        newest = (
            select(JournalEvent.ticket_id)
            .where(JournalEvent.ended_at > since, JournalEvent.ticket_id != ticket_id)
            .where(JournalEvent.state == EventState.DONE, JournalEvent.code.in_(map(str, sent)))
            .order_by(JournalEvent.ended_at.desc())  # by the index
            .limit(MOST_OTHERS)
        )
        return self._session.scalar(select(func.count(newest.subquery().c.ticket_id.distinct()))) or 0

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete ended events past their retention; return how many (at most `limit`).

        Those of a ticket stay while an issue or time entry of it is not settled: whoever decides may need them to
        have it created again.
        """
        old = (
            select(JournalEvent.id)
            .where(
                JournalEvent.state.in_(ENDED),
                JournalEvent.ended_at < moment(-older_than_days * 86400),
                JournalEvent.ticket_id.not_in(unsettled_tickets()),
            )
            .order_by(JournalEvent.ended_at)  # by the index, not through all rows in the hope of finding some
            .limit(limit)
        )
        statement: Delete = delete(JournalEvent).where(JournalEvent.id.in_(old))
        return len(self._session.execute(statement.returning(JournalEvent.id)).all())

    def _change(self, where: ColumnElement[bool], reason: Notice, **values: object) -> None:
        changed = self._session.execute(update(JOURNAL).where(where).values(**values, **keeping(reason)))
        if "state" in values:
            self.ended[str(values["state"]), str(reason.code)] += cast(CursorResult[Any], changed).rowcount


def _ended_so(state: EventState, code: str | None) -> ColumnElement[bool]:
    has_state = JournalEvent.state == state
    return has_state if code is None else and_(has_state, is_for(JournalEvent, code))


def _waiting_for(ticket_id: int, task_id: int | None) -> ColumnElement[bool]:
    """Return what may wait for a ticket's issue, or a ticket task's time entry: the task may have moved since."""
    of_ticket = JournalEvent.ticket_id == ticket_id
    return of_ticket if task_id is None else or_(of_ticket, JournalEvent.key == task_key(task_id))


def _pending(event_ids: Collection[int]) -> ColumnElement[bool]:
    return and_(JournalEvent.id.in_(event_ids), is_pending_of_few())


@cache
def _due_at_all() -> Any:
    """Return the statement that finds those of `ticket_ids` that have something due; made once, as are those below."""
    ticket_id = JournalEvent.ticket_id
    return select(ticket_id).where(among(ticket_id, "ticket_ids"), is_due_of_few()).distinct()


@cache
def _done(*, postgresql: bool) -> Any:
    """Return the statement that ends some events as done, and what failed of their keys as superseded."""
    columns, given = JOURNAL.c, DONE.table(postgresql=postgresql).c
    is_it = columns.id == given.event_id
    explained = {
        name: case((is_it, given[f"done_{name}"]), else_=given[f"others_{name}"]) for name in keeping(None)
    }
    return (
        update(JOURNAL)
        .where(columns.key == given.of_key, or_(is_it, unindexed(columns.state) == EventState.FAILED))
        .values(
            state=case((is_it, EventState.DONE), else_=EventState.SUPERSEDED),
            next_attempt_at=case((is_it, None), else_=columns.next_attempt_at),
            ended_at=clock(),
            **explained,
        )
        .returning(columns.id)
    )


@cache
def _of_deliveries() -> Any:
    """Return the statement that finds the events of `delivery_ids`."""
    columns = JOURNAL.c
    found = select(columns.delivery_id, columns.digest, columns.id)
    return found.where(among(columns.delivery_id, "delivery_ids"))


@cache
def _appending(*, postgresql: bool) -> Any:
    """Return the statement that appends rows and tells which were new, and of these, whose delivery id came before.

    What came before is asked of what was there when the statement began, which only PostgreSQL can: SQLite says of all
    that it may have.
    """
    insert: Insert = insert_on_postgresql if postgresql else insert_on_sqlite
    fixed = {
        "received_at": clock(),
        "state": literal(EventState.PENDING, JOURNAL.c.state.type),
        "attempts": literal(0),
    }
    given = APPENDED.table(postgresql=postgresql)
    # SQLite would take what follows for the condition of a join, were there no other
    rows = select(*given.c, *fixed.values()).where(true())
    before = JOURNAL.alias()
    own = literal_column(f"{JOURNAL.name}.delivery_id", String())  # the column itself would be another FROM
    earlier = select(true()).where(before.c.delivery_id == own).limit(1).scalar_subquery()
    came_before = (earlier if postgresql else true()).label("came_before")
    return (
        insert(JOURNAL)
        .from_select([*given.c.keys(), *fixed], rows)
        .on_conflict_do_nothing(index_elements=["delivery_id", "digest"])
        .returning(JOURNAL.c.delivery_id, JOURNAL.c.digest, JOURNAL.c.id, came_before)
    )


def _by_delivery_id(rows: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Return the event ids of some rows by delivery id and digest."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row.delivery_id, {})[row.digest] = row.id
    return found


def _row(one: Delivery, received_at: datetime) -> dict[str, object]:
    event = one.event
    latest = received_at + CLOCK_TOLERANCE
    return {
        "delivery_id": one.delivery_id,
        "digest": one.digest,
        "event": event.event,
        "key": event.key,
        "ticket_id": event.ticket.id,
        "task_id": event.task.id if event.task else None,
        "occurred_at": min(event.occurred_at, latest),
        "clamped": event.occurred_at > latest,
        "sequence": NO_SEQUENCE if event.sequence is None else event.sequence,
        "payload": one.payload,
        "traceparent": one.traceparent,
    }
