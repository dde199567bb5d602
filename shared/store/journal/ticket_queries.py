"""Queries on tickets' desired states; `shared.store.journal.tickets` changes their rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    TextClause,
    and_,
    case,
    func,
    literal,
    or_,
    select,
    text,
    union,
)
from sqlalchemy.orm import Session

from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.store.tables.explained import reason_from_columns
from shared.store.tables.functions import among
from shared.store.tables.journal import FIELDS_DUE, FIELDS_KEPT, STATUS_DROPPED, TicketState
from shared.store.tables.ledger import LedgerState, TicketIssueLink
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import moment

TICKETS = cast(Table, TicketState.__table__)
MOST_STATUSES = 100
MOST_COUNTED = 1001
IS_DROPPED = TicketState.status_dropped.is_(True)
"""Matches tickets whose newest snapshot's status could not be set."""

FIELDS_ARE_DUE, FIELDS_ARE_KEPT = text(FIELDS_DUE), text(FIELDS_KEPT)
"""Literal SQL, so that both databases use the small partial indexes of these rows."""

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
    status_code: str | None
    status_params: dict[str, Any] | None
    mapped_status: int | None
    mapped_event_id: int | None
    fields_due: list[str] | None
    fields_kept: list[str] | None
    fields_attempts: int | None
    fields_at: datetime | None
    unlinked_place: str | None
    notes_wait: bool | None = None

    def newest_mapped(self, status_map: Mapping[int, int]) -> tuple[int, int]:
        """Return event and status of the newest snapshot, or of the newest mapped status if the snapshot's is unmapped.

        Args:
            status_map: help desk status to tracker status id.
        """
        event_id, status = self.mapped_event_id, self.mapped_status
        if self.status in status_map or event_id is None or status is None or status not in status_map:
            return self.event_id, self.status
        return event_id, status

    def owes(self, status_map: Mapping[int, int]) -> int | None:
        """Return the tracker status to set; None if none is mapped, or if an earlier event's mapped one was set."""
        event_id, status = self.newest_mapped(status_map)
        wanted = status_map.get(status)
        is_given = self.given_event_id == event_id and self.given_status_id in (None, wanted)
        return None if event_id != self.event_id and is_given else wanted

    @property
    def status_notice(self) -> Notice | None:
        """Why the status is not set yet or was dropped; None if there was no obstacle."""
        return reason_from_columns(self.status_code, self.status_params)

    @property
    def status_reason(self) -> str | None:
        """The same reason in English, for people."""
        notice = self.status_notice
        return None if notice is None else sentence(notice)


class TicketQueries:
    """Reads desired states within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, ticket_id: int) -> Desired | None:
        """Return a ticket's desired state."""
        return self.some([ticket_id]).get(ticket_id)

    def some(self, ticket_ids: Collection[int]) -> dict[int, Desired]:
        """Return the desired states of some tickets, by ticket id; tickets without one are left out."""
        if not ticket_ids:
            return {}
        found = execute_prepared(self._session, SOME, {"ticket_ids": list(ticket_ids)})
        return {row.ticket_id: Desired(*row) for row in found}

    def statuses_seen(self) -> dict[int, int]:
        """Return the help desk statuses of tickets' newest snapshots, and how many tickets have each.

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

    def owed(
        self,
        status_map: Mapping[int, int],
        before: Mapping[int, int],
    ) -> list[int]:
        """Return the linked tickets without a due status whose issue was set to another status than the map now gives.

        Args:
            status_map: help desk status to tracker status id.
            before: the map before its change; it determines the status that was set if none is recorded.
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
                TicketState.status_code.is_distinct_from(Reason.TICKET_DELETED),
                or_(TicketState.status.in_(status_map), TicketState.mapped_status.in_(status_map)),
                wanted.is_distinct_from(has),
            )
            .order_by(TicketState.ticket_id)
        )
        return list(self._session.scalars(statement))

    def dropped_for(self, code: Code) -> Sequence[tuple[int, dict[str, Any]]]:
        """Return the tickets whose status was dropped with a reason code, and their newest snapshots."""
        statement = select(TicketState.ticket_id, TicketState.snapshot).where(
            text(STATUS_DROPPED),
            TicketState.status_due.is_(False),
            TicketState.status_code == code,
        )
        return [(ticket_id, snapshot) for ticket_id, snapshot in self._session.execute(statement)]

    def not_given(self, limit: int) -> tuple[int, list[tuple[int, int, Notice | None]]]:
        """Return the number of tickets whose status the tracker refused, and the newest of them.

        Returns:
            The number, and for each of the newest: ticket, event whose replay sets the status again, and reason.
        """
        state = TicketState
        refused = _was_not_taken()
        count = self._session.scalar(select(func.count()).select_from(state).where(*refused))
        why = (state.status_code, state.status_params)
        newest = select(state.ticket_id, state.event_id, *why).where(*refused).order_by(state.event_id.desc())
        found = self._session.execute(newest.limit(limit))
        return count or 0, [
            (ticket_id, event_id, reason_from_columns(*reason)) for ticket_id, event_id, *reason in found
        ]

    def with_fields_kept(self, days: int, limit: int) -> tuple[int, list[int]]:
        """Return how many tickets' issues kept differing fields in the last `days`, and the newest of these tickets."""
        recently = _were_kept(days)
        count = self._session.scalar(select(func.count()).select_from(TicketState).where(*recently))
        newest = select(TicketState.ticket_id).where(*recently).order_by(TicketState.fields_at.desc())
        return count or 0, list(self._session.scalars(newest.limit(limit)))

    def due_tickets(self, limit: int) -> list[int]:
        """Return linked tickets whose status or issue fields are due."""
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


def not_given() -> Select[Any]:
    """Return the statement for the tickets whose status the tracker refused."""
    return select(TicketState.ticket_id).where(*_was_not_taken())


def with_fields_kept(days: int) -> Select[Any]:
    """Return the statement for the tickets whose issues kept differing fields in the last `days`."""
    return select(TicketState.ticket_id).where(*_were_kept(days))


def _was_not_taken() -> tuple[ColumnElement[bool] | TextClause, ...]:
    return text(STATUS_DROPPED), TicketState.status_code == Reason.STATUS_REFUSED


def _were_kept(days: int) -> tuple[ColumnElement[bool] | TextClause, ...]:
    return FIELDS_ARE_KEPT, TicketState.fields_at >= moment(-days * 86400)


def _mapped(status_map: Mapping[int, int]) -> ColumnElement[int | None]:
    """Return the tracker status that a map gives for the newest status, or for the newest one mapped on arrival."""
    return func.coalesce(
        case(dict(status_map), value=TicketState.status),
        case(dict(status_map), value=TicketState.mapped_status),
    )
