"""Searches of the journal for people: filters, pages by key, bounded counts. Never loads payloads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    case,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    union_all,
)
from sqlalchemy.orm import Session, defer

from producer.admin.records.event_subjects import EventSubjects
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.store.journal.causes import cause_of
from shared.store.journal.ticket_queries import not_given, with_fields_kept
from shared.store.ledger.ledger_queries import NOT_LINKED, undecided_count
from shared.store.ledger.misattributed import wrong_authors
from shared.store.ledger.transitions import FOR_A_PERSON
from shared.store.tables.configuration import EntityMappingRow, ProjectMappingRow
from shared.store.tables.explained import reason_from_columns
from shared.store.tables.journal import EventState, JournalEvent, TraceStep
from shared.store.tables.ledger import (
    LEDGERS,
    MODELS,
    LedgerRow,
    LedgerState,
)
from shared.store.tables.types import is_on_postgresql, moment

MOST_COUNTED = 1001
RECENT_DAYS = 30
"""Days for which fields that the tracker did not accept are reported."""
LOOKED_THROUGH = 5_000
"""Number of events that a page searches if no index finds the matches."""
FEW = (EventState.PENDING, EventState.ON_HOLD, EventState.FAILED, EventState.SKIPPED)
"""States with so few events that all of them can be searched."""
STEPS_READ = 30
"""Number of newest steps that are searched for a call."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter for events.

    Attributes:
        state: one of EventState.
        kind: the event's name.
        cause: a group of failures (`Group.cause`), or the code of a reason.
        person: number, or part of the e-mail or name, of a person whom the event names.
        place: an entity or a project, as `entity:77`, as a number, or as a part of its name.
        since, until: bounds of the time when they came in.
        upto: the highest id.
        over: only higher ids than this one.
        event_id: only this event.
    """

    state: str | None = None
    kind: str | None = None
    ticket_id: int | None = None
    code: str | None = None
    cause: str | None = None
    person: str | None = None
    place: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    upto: int | None = None
    over: int | None = None
    event_id: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Failures with one cause.

    Attributes:
        cause: identifies the group in URLs.
        notice: the reason of the newest failure.
        newest: the newest failure.
        since: when the oldest failure came in.
    """

    cause: str
    notice: Notice
    count: int
    newest: JournalEvent
    since: datetime
    reasons: frozenset[str]


class LastAnswer(NamedTuple):
    """The newest call to the tracker.

    Attributes:
        at: when it ended.
        status: HTTP status; None: there was no answer.
    """

    at: datetime
    status: int | None

    @property
    def is_good(self) -> bool:
        """Whether the tracker answered without a server error."""
        return self.status is not None and self.status < 500


class EventCounts(NamedTuple):
    """Counts of events, each at most MOST_COUNTED, and further facts.

    Attributes:
        on_hold: creations that wait for a decision.
        now: the current time.
        done_at: when an event last became done.
        linked: whether any project or entity has a mapping.
        wrong_author, status_not_taken, field_not_taken: whether any object on the tracker has this difference.
        answer: the newest call to the tracker, if it is among the STEPS_READ newest steps.
        newest: when the newest event came in, and its ticket; None: there is none.
    """

    last_hour: int
    waiting: int
    failed: int
    on_hold: int
    now: datetime
    done_at: datetime | None
    linked: bool
    wrong_author: bool
    status_not_taken: bool
    field_not_taken: bool
    answer: LastAnswer | None
    newest: tuple[datetime, int | None] | None


class EventSearch:
    """Searches the journal within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._subjects = EventSubjects(session)
        self._groups: list[Group] | None = None

    def ends(self) -> tuple[int, int]:
        """Return the lowest id and the highest; 0 if there is no event."""
        ends = (select(one(JournalEvent.id)).scalar_subquery() for one in (func.min, func.max))
        first, last = self._session.execute(select(*ends)).one()
        return first or 0, last or 0

    def needs_scan(self, wanted: Wanted) -> bool:
        """Return whether no index finds these events, so that each event, its payload or its ticket has to be read."""
        if wanted.ticket_id is not None or wanted.event_id is not None or wanted.state in FEW:
            return False
        if wanted.cause and any(one.cause == wanted.cause for one in self.groups()):
            return False  # they failed, and failed events are few
        return bool(wanted.person or wanted.place or wanted.code or wanted.cause)

    def page(
        self, wanted: Wanted, *, limit: int, below: int | None = None, above: int | None = None
    ) -> Sequence[JournalEvent]:
        """Return events newest first: those below an id, or the ones right above one."""
        statement = select(JournalEvent).options(defer(JournalEvent.payload, raiseload=True))
        statement = statement.where(*self._where(wanted))
        if above is not None:
            upwards = statement.where(JournalEvent.id > above).order_by(JournalEvent.id).limit(limit)
            return list(reversed(self._session.scalars(upwards).all()))
        if below is not None:
            statement = statement.where(JournalEvent.id < below)
        return self._session.scalars(statement.order_by(JournalEvent.id.desc()).limit(limit)).all()

    def ids(self, wanted: Wanted) -> Sequence[int]:
        """Return the ids of the newest matching events, at most MOST_COUNTED."""
        statement = select(JournalEvent.id).where(*self._where(wanted))
        return self._session.scalars(statement.order_by(JournalEvent.id.desc()).limit(MOST_COUNTED)).all()

    def of_ids(self, ids: Collection[int]) -> Sequence[JournalEvent]:
        """Return some events, newest first."""
        statement = select(JournalEvent).options(defer(JournalEvent.payload, raiseload=True))
        return self._session.scalars(
            statement.where(JournalEvent.id.in_(ids)).order_by(JournalEvent.id.desc())
        ).all()

    def count(self, wanted: Wanted) -> int:
        """Return the number of matching events, at most MOST_COUNTED."""
        some = select(literal(1)).where(*self._where(wanted)).select_from(JournalEvent).limit(MOST_COUNTED)
        return self._session.scalar(select(func.count()).select_from(some.subquery())) or 0

    def tickets(self, wanted: Wanted) -> int:
        """Return the number of tickets with matching events, at most MOST_COUNTED."""
        some = select(JournalEvent.ticket_id).where(*self._where(wanted)).distinct().limit(MOST_COUNTED)
        return self._session.scalar(select(func.count()).select_from(some.subquery())) or 0

    def where(self, wanted: Wanted) -> ColumnElement[bool]:
        """Return the filter as a condition, for statements that change the matching events."""
        return and_(*self._where(wanted), literal(value=True))

    def groups(self) -> list[Group]:
        """Return the newest failures by cause, the largest group first; read once in a transaction."""
        if self._groups is None:
            self._groups = self._read_groups()
        return self._groups

    def _read_groups(self, most: int = 1000) -> list[Group]:
        rows = self.page(Wanted(state=EventState.FAILED), limit=most)
        found: dict[str, Group] = {}
        for row in rows:
            notice = row.notice
            if notice is None:
                continue
            cause, reason = cause_of(row.code, row.params), _reason(row)
            group = found.get(cause)
            if group is None:
                found[cause] = Group(cause, notice, 1, row, row.received_at, frozenset({reason}))
            else:
                found[cause] = replace(
                    group, count=group.count + 1, since=row.received_at, reasons=group.reasons | {reason}
                )
        return sorted(found.values(), key=lambda one: -one.count)

    def unclear(self, most: int = 1000) -> dict[int, Notice | None]:
        """Return tickets with a creation that got no clear answer and is not linked, newest first, with the reason."""
        rows = union_all(*(_unclear(model) for model in LEDGERS)).subquery()
        newest = select(rows).order_by(rows.c.changed_at.desc()).limit(most)
        found: dict[int, Notice | None] = {}
        for ticket_id, _, *reason in self._session.execute(newest):
            found.setdefault(ticket_id, reason_from_columns(*reason))
        return found

    def per_hour(self) -> dict[int, tuple[int, int]]:
        """Return how many events came in and how many of these failed, by age in hours, for the last 24 hours."""
        age: ColumnElement[Any]
        if is_on_postgresql(self._session):
            age = func.extract("epoch", moment()) - func.extract("epoch", JournalEvent.received_at)
            hour: ColumnElement[Any] = func.floor(age / 3600)
        else:
            age = func.julianday("now") - func.julianday(JournalEvent.received_at)
            hour = cast(age * 24, Integer)
        failed = func.sum(case((JournalEvent.state == EventState.FAILED, 1), else_=0))
        statement = select(hour, func.count(), failed).where(JournalEvent.received_at > moment(-86400))
        counted: Counter[int] = Counter()
        bad: Counter[int] = Counter()
        for at, count, failures in self._session.execute(statement.group_by(text("1"))):
            counted[int(at)] += count
            bad[int(at)] += failures
        return {at: (counted[at], bad[at]) for at in counted}

    def counts(self) -> EventCounts:
        """Return the counts and facts, read in one statement."""
        conditions = (
            JournalEvent.received_at > moment(-3600),
            JournalEvent.state == EventState.PENDING,
            JournalEvent.state == EventState.FAILED,
        )
        counts = (
            select(func.count())
            .select_from(
                select(literal(1)).select_from(JournalEvent).where(one).limit(MOST_COUNTED).subquery()
            )
            .scalar_subquery()
            for one in conditions
        )
        done = select(JournalEvent.ended_at).where(
            JournalEvent.state == EventState.DONE, JournalEvent.ended_at.is_not(None)
        )
        done_at = done.order_by(JournalEvent.ended_at.desc()).limit(1).scalar_subquery()
        noted = (wrong_authors(), not_given(), with_fields_kept(RECENT_DAYS))
        steps = select(TraceStep.id, TraceStep.at, TraceStep.call).order_by(TraceStep.id.desc())
        newest = steps.limit(STEPS_READ).subquery()
        call = select(newest.c.at, newest.c.call).where(newest.c.call.is_not(None))
        last = call.order_by(newest.c.id.desc()).limit(1)
        told = select(
            *counts,
            undecided_count(),
            moment(),
            done_at,
            or_(
                exists(select(EntityMappingRow.entity_id)),
                exists(select(ProjectMappingRow.helpdesk_project_id)),
            ),
            *(one.exists() for one in noted),
            *(last.with_only_columns(one).scalar_subquery() for one in (newest.c.at, newest.c.call)),
            *(
                select(one).order_by(JournalEvent.id.desc()).limit(1).scalar_subquery()
                for one in (JournalEvent.received_at, JournalEvent.ticket_id)
            ),
        )
        *counted, at, made, newest_at, ticket_id = self._session.execute(told).one()
        status = made.get("status") if isinstance(made, dict) else None
        answer = LastAnswer(at, status if isinstance(status, int) else None) if made else None
        return EventCounts._make((*counted, answer, (newest_at, ticket_id) if newest_at else None))

    def needs_a_person(self, most: int = 100) -> tuple[int, int]:
        """Return how many events failed, and how many creations wait for a decision, each up to a limit."""
        failed = select(literal(1)).select_from(JournalEvent).where(JournalEvent.state == EventState.FAILED)
        failed_count = select(func.count()).select_from(failed.limit(most).subquery()).scalar_subquery()
        failures, waiting = self._session.execute(select(failed_count, undecided_count())).one()
        return failures, waiting

    def waiting_for_a_person(self, *, limit: int, after: int = 0) -> list[tuple[Kind, int]]:
        """Return the creations that wait for a decision, as (kind, key), those waiting longest first.

        Args:
            limit: how many.
            after: how many to skip before them.
        """
        found = union_all(
            *(
                select(literal(str(kind)).label("kind"), model.key.label("key"), model.changed_at.label("since"))
                .where(NOT_LINKED, model.state.in_(FOR_A_PERSON))
                for kind, model in MODELS.items()
            )
        ).subquery()  # fmt: skip
        longest_first = select(found.c.kind, found.c.key).order_by(found.c.since, found.c.kind, found.c.key)
        rows = self._session.execute(longest_first.offset(after).limit(limit))
        return [(Kind(kind), key) for kind, key in rows]

    def states_of(self, event_ids: Collection[int]) -> dict[str, int]:
        """Return how many of some events are in each state."""
        statement = (
            select(JournalEvent.state, func.count())
            .where(JournalEvent.id.in_(event_ids))
            .group_by(JournalEvent.state)
        )
        return dict(self._session.execute(statement).all())

    def _where(self, wanted: Wanted) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if wanted.state:
            found.append(JournalEvent.state == wanted.state)
        if wanted.kind:
            found.append(JournalEvent.event == wanted.kind)
        if wanted.ticket_id is not None:
            found.append(JournalEvent.ticket_id == wanted.ticket_id)
        if wanted.code:
            found.append(JournalEvent.code == wanted.code)
        if wanted.since:
            found.append(JournalEvent.received_at >= wanted.since)
        if wanted.until:
            found.append(JournalEvent.received_at <= wanted.until)
        if wanted.upto is not None:
            found.append(JournalEvent.id <= wanted.upto)
        if wanted.over is not None:
            found.append(JournalEvent.id > wanted.over)
        if wanted.event_id is not None:
            found.append(JournalEvent.id == wanted.event_id)
        within = found[:] if wanted.over is not None else []
        if wanted.person:
            found.append(self._subjects.of_person(wanted.person, within))
        if wanted.place:
            found.append(self._subjects.of_place(wanted.place, within))
        if wanted.cause:
            found.append(self._of_cause(wanted.cause))
        return found

    def _of_cause(self, cause: str) -> ColumnElement[bool]:
        group = next((one for one in self.groups() if one.cause == cause), None)
        if group is None:
            return JournalEvent.code == cause
        reasons = [json.loads(one) for one in group.reasons]
        alike = [
            and_(
                JournalEvent.code == code,
                JournalEvent.params.is_(None) if params is None else JournalEvent.params == params,
            )
            for code, params in reasons
        ]
        return and_(JournalEvent.state == EventState.FAILED, or_(*alike))


def _unclear(model: type[LedgerRow]) -> Select[Any]:
    """Return the query for rows of a ledger that got no clear answer; a free row only if its ticket is pending."""
    pending = exists().where(
        JournalEvent.ticket_id == model.ticket_id, JournalEvent.state == EventState.PENDING
    )
    return select(model.ticket_id, model.changed_at, model.code, model.params).where(
        NOT_LINKED,
        model.state != LedgerState.GONE,
        model.unclear > 0,
        or_(model.state != LedgerState.FREE, pending),
    )


def _reason(row: JournalEvent) -> str:
    return json.dumps([row.code, row.params])
