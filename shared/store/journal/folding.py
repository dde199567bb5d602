"""Folds events into tickets' desired states: each ticket's newest snapshot counts and makes its status due."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Float,
    bindparam,
    case,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from shared.events.event import Event
from shared.store.journal.due import Due
from shared.store.journal.ticket_queries import IS_DROPPED, TICKETS, Desired
from shared.store.tables.explained import reason_columns
from shared.store.tables.functions import Rows
from shared.store.tables.journal import JournalEvent, TicketState
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import Insert, insert_for, moment

SNAPSHOT = ("ticket_id", "event_id", "occurred_at", "sequence", "status", "snapshot")
FOLDED = Rows(
    {**{name: TICKETS.c[name].type for name in SNAPSHOT}, "is_update": Boolean(), "is_mapped": Boolean()}
)


class TicketFolding:
    """The part of `TicketStates` that folds events, within one transaction."""

    _session: Session

    def fold_all(
        self,
        events: Sequence[tuple[JournalEvent | Due, Event]],
        settling: float,
        mapped: Collection[int] = (),
    ) -> dict[int, Desired]:
        """Replace tickets' snapshots with those of events, unless a newer snapshot is stored.

        The status becomes due if the event is a ticket update (SPEC section 3) or its status differs.

        Args:
            events: one per ticket: the journal row, whose (occurred_at, sequence, id) is its place in time, and its
                content.
            settling: seconds during which a status that was sent without a clear answer may still take effect.
            mapped: the help desk statuses in status_map.

        Returns:
            The changed desired states, by ticket id.
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
        moved = execute_prepared(self._session, _folding(insert_for(self._session)), asked)
        return {row.ticket_id: Desired(*row) for row in moved}

    def fold_behind(
        self, row: JournalEvent | Due, status: int, settling: float, mapped: Collection[int]
    ) -> None:
        """Make the status of a late event the one to set, if no newer event's status is in status_map.

        Args:
            row: the journal row; a newer snapshot is stored.
            status: the ticket's status in that event, which is in status_map.
            settling: as for `fold_all`.
            mapped: as for `fold_all`.
        """
        before, place = JournalEvent, tuple_(row.occurred_at, row.sequence, row.id)
        newer = (tuple_(before.occurred_at, before.sequence, before.id) >= place,)
        is_known = select(before.id).where(before.id == TicketState.mapped_event_id, *newer).exists()
        self._session.execute(
            update(TICKETS)
            .where(
                TicketState.ticket_id == row.ticket_id,
                TicketState.status.not_in(mapped),
                tuple_(TicketState.occurred_at, TicketState.sequence, TicketState.event_id) > place,
                ~is_known,
            )
            .values(
                mapped_status=status,
                mapped_event_id=row.id,
                status_due=True,
                status_next_at=settled_by(settling),
            )
        )


@cache
def _folding(insert: Insert) -> Any:
    """Return the statement of `fold_all`; it is built once, because building it costs more than executing it."""
    given = select(FOLDED.table()).cte("folded")
    first = {
        "status_due": True,
        "given_event_id": None,
        "status_next_at": None,
        "status_attempts": 0,
        "status_dropped": None,
        **reason_columns(None, "status_"),
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
        *reason_columns(None, "status_"),
    )
    this_ticket = given.c.ticket_id == literal_column("excluded.ticket_id")
    is_due = or_(
        select(given.c.is_update).where(this_ticket).scalar_subquery(),
        old.status != new.status,
        old.status_due,
        IS_DROPPED,  # an earlier status is still due
    )
    known = tuple_(old.occurred_at, old.sequence, old.event_id)
    return inserting.on_conflict_do_update(
        index_elements=["ticket_id"],
        set_={
            **{name: new[name] for name in moved},
            **{name: func.coalesce(new[name], old[name]) for name in ("mapped_status", "mapped_event_id")},
            "status_due": case((is_due, true()), else_=false()),
            "status_next_at": settled_by(bindparam("settling", type_=Float)),
        },
        where=known < tuple_(new.occurred_at, new.sequence, new.event_id),
    ).returning(*old)


def settled_by(settling: float | BindParameter[float]) -> ColumnElement[datetime | None]:
    """Return when the next status may be set: as scheduled, but not later than `settling` seconds from now.

    The tracker may still execute a request that was abandoned, and then overwrite a newer status.
    """
    latest = moment(settling)
    return case((TicketState.status_next_at > latest, latest), else_=TicketState.status_next_at)
