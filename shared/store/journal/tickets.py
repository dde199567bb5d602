"""Desired state: one row per ticket with its newest snapshot and whether its status is due."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Float,
    Select,
    Table,
    TextClause,
    and_,
    bindparam,
    case,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    true,
    tuple_,
    union,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from shared.codes.notice import Code, Notice
from shared.codes.reasons import Reason
from shared.events.event import Event
from shared.sentences.render import sentence
from shared.store.journal.due import Due
from shared.store.tables.constant import carry_out
from shared.store.tables.explained import is_sentence, keeping, kept, texts_of
from shared.store.tables.journal import (
    FIELDS_DUE,
    FIELDS_KEPT,
    STATUS_DROPPED,
    JournalEvent,
    TicketState,
)
from shared.store.tables.ledger import LedgerState, TicketIssueLink
from shared.store.tables.rows import Rows, among
from shared.store.tables.types import Insert, Key, clock, insert_for, is_on_postgresql, moment

TICKETS = cast(Table, TicketState.__table__)
AT_ONCE = 500
"""Tickets of one statement; whoever has more to change does it in as many transactions, since each keeps its rows."""
MOST_STATUSES = 100
MOST_COUNTED = 1001
IS_DROPPED = and_(
    TicketState.status_reason_text.is_not(None),
    or_(
        TicketState.status_dropped.is_(True),
        is_sentence(TicketState.status_reason_text, TicketState.status_code),
    ),
)
"""The status of the newest snapshot could not be given. The version before codes told it by its sentence alone."""

FIELDS_ARE_DUE, FIELDS_ARE_KEPT = text(FIELDS_DUE), text(FIELDS_KEPT)
"""Said literally, so that either database uses the small index of these rows."""

SNAPSHOT = ("ticket_id", "event_id", "occurred_at", "sequence", "status", "snapshot")
FOLDED = Rows(
    {**{name: TICKETS.c[name].type for name in SNAPSHOT}, "is_update": Boolean(), "is_mapped": Boolean()}
)

GIVEN = Rows({"of_ticket": Key, "of_event": Key, "has": Key})

SOME = select(TICKETS).where(among(TICKETS.c.ticket_id, "ticket_ids"))


class Desired(NamedTuple):
    """A row of `TicketState`, as it was read."""

    ticket_id: int
    event_id: int
    occurred_at: datetime
    sequence: int
    status: int
    snapshot: dict[str, Any]
    given_event_id: int | None
    given_status_id: int | None
    status_due: bool
    status_attempts: int
    status_next_at: datetime | None
    status_dropped: bool | None
    status_text: str | None
    status_code: str | None
    status_params: dict[str, Any] | None
    mapped_status: int | None
    mapped_event_id: int | None
    fields_due: list[str] | None
    fields_kept: list[str] | None
    fields_attempts: int | None
    fields_at: datetime | None
    unlinked_place: str | None

    def newest_mapped(self, status_map: Mapping[int, int]) -> tuple[int, int]:
        """Return event and status of the newest snapshot; where that is not mapped, of the newest that is.

        Args:
            status_map: helpdesk status to tracker status id.
        """
        event_id, status = self.mapped_event_id, self.mapped_status
        if self.status in status_map or event_id is None or status is None or status not in status_map:
            return self.event_id, self.status
        return event_id, status

    def owes(self, status_map: Mapping[int, int]) -> int | None:
        """Return the tracker status to give; None: no status is mapped, or the newest that is was given before."""
        event_id, status = self.newest_mapped(status_map)
        wanted = status_map.get(status)
        is_given = self.given_event_id == event_id and self.given_status_id in (None, wanted)
        return None if event_id != self.event_id and is_given else wanted

    @property
    def status_notice(self) -> Notice | None:
        """Why the status was not given, or not yet; None where nothing stood against it."""
        return kept(self.status_text, self.status_code, self.status_params)

    @property
    def status_reason(self) -> str | None:
        """The same in English, for people."""
        notice = self.status_notice
        return None if notice is None else sentence(notice)


class TicketStates:
    """Reads and writes desired states within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, ticket_id: int) -> Desired | None:
        """Return a ticket's desired state."""
        return self.some([ticket_id]).get(ticket_id)

    def some(self, ticket_ids: Collection[int]) -> dict[int, Desired]:
        """Return the desired states of some tickets, by ticket id; those without one are left out."""
        if not ticket_ids:
            return {}
        found = carry_out(self._session, SOME, {"ticket_ids": list(ticket_ids)})
        return {row.ticket_id: Desired(*row) for row in found}

    def statuses_seen(self) -> dict[int, int]:
        """Return the helpdesk statuses that tickets' newest snapshots have, and how many tickets have each.

        Steps through the index from one status to the next: at most MOST_STATUSES, each counted up to MOST_COUNTED.
        """
        seen = select(func.min(TicketState.status).label("status")).cte("seen", recursive=True)
        above = select(func.min(TicketState.status)).where(TicketState.status > seen.c.status)
        following = select(above.scalar_subquery()).select_from(seen).where(seen.c.status.is_not(None))
        seen = seen.union_all(following)
        some = select(literal(1)).select_from(TicketState).where(TicketState.status == seen.c.status)
        few = some.limit(MOST_COUNTED).correlate(seen).subquery()
        count = select(func.count()).select_from(few).scalar_subquery()
        rows = self._session.execute(
            select(seen.c.status, count).where(seen.c.status.is_not(None)).limit(MOST_STATUSES)
        )
        return dict(rows.all())

    def fold_all(
        self,
        events: Sequence[tuple[JournalEvent | Due, Event]],
        settling: float,
        mapped: Collection[int] = (),
    ) -> dict[int, Desired]:
        """Move tickets' snapshots to those of events, unless newer ones are known.

        The status becomes due where the event is a ticket update (SPEC section 3) or its status differs.

        Args:
            events: one of each of some tickets: the journal's event, whose (occurred_at, sequence, id) is its place in
                time, and its content.
            settling: seconds in which a status whose giving got no clear answer may still take effect.
            mapped: the helpdesk statuses in status_map.

        Returns:
            By ticket id the desired state as it is now, where it is that event's.
        """
        rows = (
            {
                "ticket_id": row.ticket_id,
                "event_id": row.id,
                "occurred_at": row.occurred_at,
                "sequence": row.sequence,
                "status": event.ticket.status,
                "snapshot": event.ticket.model_dump(mode="json", exclude_none=True),
                "is_update": event.event == "ticket.updated",
                "is_mapped": event.ticket.status in mapped,
            }
            for row, event in sorted(events, key=lambda one: one[0].ticket_id)
        )
        asked = {**FOLDED.parameters(self._session, rows), "settling": settling}
        moved = carry_out(self._session, _folding(insert_for(self._session)), asked)
        return {row.ticket_id: Desired(*row) for row in moved}

    def fold_behind(
        self, row: JournalEvent | Due, status: int, settling: float, mapped: Collection[int]
    ) -> None:
        """Take the status of an event that came late for the one to give: no newer one is in status_map.

        Args:
            row: the journal's event; a newer snapshot is known.
            status: its ticket's, which is in status_map.
            settling: as for `fold_all`.
            mapped: likewise.
        """
        before, place = JournalEvent, tuple_(row.occurred_at, row.sequence, row.id)
        newer = (tuple_(before.occurred_at, before.sequence, before.id) >= place,)
        is_known = select(before.id).where(before.id == TicketState.mapped_event_id, *newer).exists()
        self._set(
            and_(
                TicketState.ticket_id == row.ticket_id,
                TicketState.status.not_in(mapped),
                tuple_(TicketState.occurred_at, TicketState.sequence, TicketState.event_id) > place,
                ~is_known,
            ),
            mapped_status=status,
            mapped_event_id=row.id,
            status_due=True,
            status_next_at=_settled_by(settling),
        )

    def give_again(
        self,
        ticket_id: int,
        event_id: int,
        settling: float,
        wanted: int | None,
        *,
        is_update: bool,
        is_fresh: bool,
    ) -> None:
        """Make the status due again for a replayed event that the tracker was never given, or was by another map.

        Args:
            ticket_id: the ticket.
            event_id: the pending event, where it is still the newest.
            settling: as for `fold_all`.
            wanted: the tracker status that the event's is mapped to.
            is_update: a ticket update; another event only where its status had been dropped.
            is_fresh: it has all its attempts before it, as after a replay.
        """
        attempts = {"status_attempts": 0} if is_fresh else {}
        self._set(
            and_(
                TicketState.ticket_id == ticket_id,
                TicketState.event_id == event_id,
                or_(
                    TicketState.given_event_id.is_(None),
                    TicketState.given_event_id != event_id,
                    and_(literal(wanted is not None), TicketState.given_status_id.is_distinct_from(wanted)),
                ),
                or_(literal(is_update), IS_DROPPED),
            ),
            status_due=True,
            status_next_at=_settled_by(settling),
            **attempts,
        )

    def given_all(self, given: Sequence[tuple[int, int, int | None]]) -> set[int]:
        """Note that the tracker was given the statuses of these events' snapshots.

        Where a newer one came since, the tracker may have got the older one last: the newer is due (again).

        Args:
            given: of each the ticket, the event, and what status_map made of its status; where it makes nothing, what
                the issue has.

        Returns:
            The tickets whose newest it is, so that nothing is due.
        """
        if not given:
            return set()
        rows = [dict(zip(("of_ticket", "of_event", "has"), one, strict=True)) for one in sorted(given)]
        statement = _giving(postgresql=is_on_postgresql(self._session))
        found = carry_out(self._session, statement, GIVEN.parameters(self._session, rows))
        newest = {ticket_id for (ticket_id,) in found}
        for ticket_id, _, _ in given:
            if ticket_id not in newest:
                self._set(TicketState.ticket_id == ticket_id, status_due=True)
        return newest

    def owe(self, has: Mapping[int, int | None], status_map: Mapping[int, int]) -> None:
        """After issues came to be: their statuses are due unless the tracker took the newest snapshots'.

        Args:
            has: ticket to the status that its issue has.
            status_map: helpdesk status to tracker status id, as it is now (`Configs.status_map`).
        """
        if not has:
            return
        these = TicketState.ticket_id.in_(has)
        state = TicketState
        newest = select(state.ticket_id, state.event_id, state.status, state.mapped_status).where(these)
        given, owed = list[tuple[int, int, int | None]](), list[int]()
        in_order = newest.order_by(TicketState.ticket_id).with_for_update()
        for ticket_id, event_id, status, mapped in self._session.execute(in_order):
            wanted = status_map.get(status) or (status_map.get(mapped) if mapped is not None else None)
            if wanted in (None, has[ticket_id]):
                given.append((ticket_id, event_id, has[ticket_id]))
            else:
                owed.append(ticket_id)
        self.given_all(given)
        if owed:
            self._set(TicketState.ticket_id.in_(owed), status_due=True, status_next_at=None)

    def owed(
        self,
        status_map: Mapping[int, int],
        before: Mapping[int, int],
    ) -> list[int]:
        """Return the tickets with an issue that was given another status than the map says now, where none is due.

        Args:
            status_map: helpdesk status to tracker status id.
            before: what it was; it tells what was given where nothing else does.
        """
        if not status_map:
            return []
        wanted = _mapped(status_map)
        has = (
            func.coalesce(TicketState.given_status_id, _mapped(before))
            if before
            else TicketState.given_status_id
        )
        statement = (
            select(TicketState.ticket_id)
            .join(TicketIssueLink, TicketIssueLink.ticket_id == TicketState.ticket_id)
            .where(
                TicketIssueLink.state == LedgerState.LINKED,
                TicketState.status_due.is_(False),
                or_(TicketState.status.in_(status_map), TicketState.mapped_status.in_(status_map)),
                wanted.is_distinct_from(has),
            )
            .order_by(TicketState.ticket_id)
        )
        return list(self._session.scalars(statement))

    def dropped_for(self, code: Code) -> Sequence[tuple[int, dict[str, Any]]]:
        """Return the tickets whose status was dropped for a reason, and their newest snapshots."""
        statement = select(TicketState.ticket_id, TicketState.snapshot).where(
            IS_DROPPED,
            TicketState.status_due.is_(False),
            TicketState.status_reason_text.in_(texts_of(code)),
        )
        return [(ticket_id, snapshot) for ticket_id, snapshot in self._session.execute(statement)]

    def not_given(self, limit: int) -> tuple[int, list[tuple[int, int, Notice | None]]]:
        """Return of how many tickets' issues the tracker did not take the status, and some of these tickets.

        Returns:
            The count, and of the newest the ticket, the event whose replay has the status given again, and why.
        """
        state = TicketState
        refused = _was_not_taken()
        count = self._session.scalar(select(func.count()).select_from(state).where(*refused))
        why = (state.status_reason_text, state.status_code, state.status_params)
        newest = select(state.ticket_id, state.event_id, *why).where(*refused).order_by(state.event_id.desc())
        found = self._session.execute(newest.limit(limit))
        return count or 0, [(ticket_id, event_id, kept(*reason)) for ticket_id, event_id, *reason in found]

    def give(self, ticket_ids: Sequence[int]) -> None:
        """Make the status of some tickets due now, with all its attempts before it."""
        for start in range(0, len(ticket_ids), AT_ONCE):
            self._set(
                TicketState.ticket_id.in_(ticket_ids[start : start + AT_ONCE]),
                status_due=True,
                status_attempts=0,
                status_next_at=None,
            )

    def give_dropped(self, ticket_ids: Sequence[int], code: Code) -> None:
        """Make the statuses of some tickets due now that were dropped for a reason."""
        for start in range(0, len(ticket_ids), AT_ONCE):
            self._set(
                and_(
                    TicketState.ticket_id.in_(ticket_ids[start : start + AT_ONCE]),
                    IS_DROPPED,
                    TicketState.status_reason_text.in_(texts_of(code)),
                ),
                status_due=True,
                status_attempts=0,
                status_next_at=None,
            )

    def note_unlinked(self, places: Mapping[int, str | None]) -> None:
        """Note of some tickets where they were when something was skipped for lack of a link; None: nothing is."""
        for place in dict.fromkeys(places.values()):
            there = [ticket_id for ticket_id, other in places.items() if other == place]
            self._set(TicketState.ticket_id.in_(there), unlinked_place=place)

    def dropped(self, ticket_id: int, event_id: int, reason: Notice) -> None:
        """Note that this snapshot's status cannot be given, and why; a newer one is tried again."""
        self._set(
            self._still(ticket_id, event_id),
            status_due=False,
            status_next_at=None,
            status_dropped=True,
            **keeping(reason, "status_"),
        )

    def wait(
        self, ticket_id: int, event_id: int, until: datetime | None, reason: Notice, *, attempt: bool
    ) -> None:
        """Keep the status due and look again at `until` (database clock)."""
        attempts = TicketState.status_attempts + (1 if attempt else 0)
        self._set(
            self._still(ticket_id, event_id),
            status_next_at=until,
            **keeping(reason, "status_"),
            status_attempts=attempts,
        )

    def owe_fields(self, ticket_id: int, names: Sequence[str]) -> None:
        """Note which fields of a ticket's issue the tracker did not take; none: nothing is due of an earlier issue."""
        self._set(
            TicketState.ticket_id == ticket_id,
            fields_due=list(names) or None,
            fields_kept=None,
            fields_attempts=None,
            fields_at=None,
        )

    def fields_wait(self, ticket_id: int, until: datetime) -> None:
        """Have the fields given again, not before `until` (database clock)."""
        attempts = func.coalesce(TicketState.fields_attempts, 0) + 1
        self._set(TicketState.ticket_id == ticket_id, fields_attempts=attempts, fields_at=until)

    def fields_done(self, ticket_id: int, kept: Sequence[str]) -> None:
        """Note that no field is due any more, and which the tracker has otherwise."""
        self._set(
            TicketState.ticket_id == ticket_id,
            fields_due=None,
            fields_kept=list(kept) or None,
            fields_at=clock() if kept else None,
        )

    def with_fields_kept(self, days: int, limit: int) -> tuple[int, list[int]]:
        """Return how many tickets' issues lack fields since some days at most, and the newest of these tickets."""
        recently = _were_kept(days)
        count = self._session.scalar(select(func.count()).select_from(TicketState).where(*recently))
        newest = select(TicketState.ticket_id).where(*recently).order_by(TicketState.fields_at.desc())
        return count or 0, list(self._session.scalars(newest.limit(limit)))

    def due_tickets(self, limit: int) -> list[int]:
        """Return linked tickets whose status is due, or fields of whose issues are."""
        linked = select(TicketState.ticket_id).join(
            TicketIssueLink,
            and_(
                TicketIssueLink.ticket_id == TicketState.ticket_id,
                TicketIssueLink.state == LedgerState.LINKED,
            ),
        )
        next_at, at = TicketState.status_next_at, TicketState.fields_at
        due = union(
            linked.where(TicketState.status_due, or_(next_at.is_(None), next_at <= moment())),
            linked.where(FIELDS_ARE_DUE, or_(at.is_(None), at <= moment())),
        )
        return list(self._session.scalars(select(due.subquery().c.ticket_id).limit(limit)))

    @staticmethod
    def _still(ticket_id: int, event_id: int) -> ColumnElement[bool]:
        return and_(TicketState.ticket_id == ticket_id, TicketState.event_id == event_id)

    def _set(self, where: ColumnElement[bool], **values: object) -> bool:
        statement = update(TICKETS).where(where).values(**values).returning(TicketState.ticket_id)
        return self._session.scalar(statement) is not None


@cache
def _giving(*, postgresql: bool) -> Any:
    """Return the statement of `given_all`; made once."""
    given = GIVEN.table(postgresql=postgresql).c
    return (
        update(TICKETS)
        .where(TICKETS.c.ticket_id == given.of_ticket, TICKETS.c.event_id == given.of_event)
        .values(
            status_due=False,
            given_event_id=func.coalesce(TICKETS.c.mapped_event_id, given.of_event),
            given_status_id=given.has,
            status_next_at=None,
            status_dropped=None,
            status_attempts=0,
            **keeping(None, "status_"),
        )
        .returning(TICKETS.c.ticket_id)
    )


@cache
def _folding(insert: Insert) -> Any:
    """Return the statement of `fold_all`; made once, since that costs more than to carry it out."""
    given = select(FOLDED.table(postgresql=insert is postgresql.insert)).cte("folded")
    first = {
        "status_due": True,
        "given_event_id": None,
        "status_next_at": None,
        "status_attempts": 0,
        "status_dropped": None,
        **keeping(None, "status_"),
    }
    values = [literal(value, TICKETS.c[name].type).label(name) for name, value in first.items()]
    values += [
        case((given.c.is_mapped, given.c[of])).label(name)
        for name, of in (("mapped_status", "status"), ("mapped_event_id", "event_id"))
    ]
    row = select(*(given.c[name] for name in SNAPSHOT), *values).where(literal(True))
    inserting = insert(TICKETS).from_select(list(row.selected_columns.keys()), row)
    new, old = inserting.excluded, TICKETS.c
    moved = (
        "event_id",
        "occurred_at",
        "sequence",
        "status",
        "snapshot",
        "status_attempts",
        "status_dropped",
        *keeping(None, "status_"),
    )
    this_ticket = given.c.ticket_id == literal_column("excluded.ticket_id")
    is_due = or_(
        select(given.c.is_update).where(this_ticket).scalar_subquery(),
        old.status != new.status,
        old.status_due,
        IS_DROPPED,  # an earlier one is still owed
    )
    known = tuple_(old.occurred_at, old.sequence, old.event_id)
    return inserting.on_conflict_do_update(
        index_elements=["ticket_id"],
        set_={
            **{name: new[name] for name in moved},
            **{name: func.coalesce(new[name], old[name]) for name in ("mapped_status", "mapped_event_id")},
            "status_due": case((is_due, true()), else_=false()),
            "status_next_at": _settled_by(bindparam("settling", type_=Float)),
        },
        where=known < tuple_(new.occurred_at, new.sequence, new.event_id),
    ).returning(*old)


def _mapped(status_map: Mapping[int, int]) -> ColumnElement[int | None]:
    """What a map makes of the newest status, or of the newest that was mapped when it came."""
    return func.coalesce(
        case(dict(status_map), value=TicketState.status),
        case(dict(status_map), value=TicketState.mapped_status),
    )


def _settled_by(settling: float | BindParameter[float]) -> ColumnElement[datetime | None]:
    """When the next status may be given: not while one that got no clear answer may still take effect.

    A call that was given up may be carried out later; what is given in between would be overwritten by the older.
    """
    latest = moment(settling)
    return case((TicketState.status_next_at > latest, latest), else_=TicketState.status_next_at)


def not_given() -> Select[Any]:
    """Return the statement for the tickets whose status the tracker did not take."""
    return select(TicketState.ticket_id).where(*_was_not_taken())


def with_fields_kept(days: int) -> Select[Any]:
    """Return the statement for the tickets whose issues lack fields since some days at most."""
    return select(TicketState.ticket_id).where(*_were_kept(days))


def _was_not_taken() -> tuple[ColumnElement[bool] | TextClause, ...]:
    return text(STATUS_DROPPED), TicketState.status_reason_text == Reason.STATUS_REFUSED


def _were_kept(days: int) -> tuple[ColumnElement[bool] | TextClause, ...]:
    return FIELDS_ARE_KEPT, TicketState.fields_at >= moment(-days * 86400)
