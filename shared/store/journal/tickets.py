"""Desired states: one row per ticket with its newest snapshot, and whether its status or fields are due."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, update

from shared.notices.notice import Code, Notice
from shared.notices.reasons import Reason
from shared.store.journal.folding import TicketFolding, settled_by
from shared.store.journal.ticket_queries import IS_DROPPED, TICKETS, TicketQueries
from shared.store.tables.explained import reason_columns
from shared.store.tables.functions import Rows
from shared.store.tables.journal import TicketState
from shared.store.tables.ledger import LedgerState, TicketIssueLink
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import Key, clock

AT_ONCE = 500
"""Tickets per statement; a caller with more tickets uses several transactions, since each locks its rows."""
GIVEN = Rows({"of_ticket": Key, "of_event": Key, "has": Key})


class TicketStates(TicketQueries, TicketFolding):
    """Reads, folds and changes desired states within one transaction."""

    def note_unlinked(self, places: Mapping[int, str | None]) -> None:
        """Record where tickets were when events were skipped for lack of a project mapping; None clears it."""
        for place in dict.fromkeys(places.values()):
            there = [ticket_id for ticket_id, other in places.items() if other == place]
            self._set(TicketState.ticket_id.in_(there), unlinked_place=place)

    def note_waiting(self, ticket_ids: Collection[int], *, wait: bool) -> None:
        """Record whether additions of some tickets were skipped because the tickets had no issue yet."""
        self._set(TicketState.ticket_id.in_(ticket_ids), notes_wait=wait or None)

    def retry_late_status(
        self,
        ticket_id: int,
        event_id: int,
        settling: float,
        wanted: int | None,
        *,
        is_update: bool,
        is_fresh: bool,
    ) -> None:
        """Make the status of a replayed event due again if it was never set, was dropped, or was set by another map.

        Args:
            ticket_id: the ticket.
            event_id: the pending event; it counts only if it is still the newest.
            settling: as for `fold_all`.
            wanted: the tracker status that the event's status is mapped to.
            is_update: whether it is a ticket update; other events count only if the status was dropped.
            is_fresh: whether to restore the full number of attempts, as after a replay.
        """
        attempts = {"status_attempts": 0} if is_fresh else {}
        self._set(
            and_(
                TicketState.ticket_id == ticket_id,
                TicketState.event_id == event_id,
                or_(
                    IS_DROPPED,
                    TicketState.given_event_id.is_(None),
                    TicketState.given_event_id != event_id,
                    and_(literal(wanted is not None), TicketState.given_status_id.is_distinct_from(wanted)),
                ),
                or_(literal(is_update), IS_DROPPED),
            ),
            status_due=True,
            status_next_at=settled_by(settling),
            **attempts,
        )

    def record_set(self, given: Sequence[tuple[int, int, int | None]]) -> set[int]:
        """Record that the statuses of these events' snapshots were set on the tracker.

        If a newer snapshot has arrived since, its status is due again: the tracker may have applied the older one last.

        Args:
            given: ticket, event, and the tracker status that the event's status is mapped to; if it is unmapped, the
                issue's status.

        Returns:
            The tickets whose newest snapshot it is, so that no status is due.
        """
        if not given:
            return set()
        rows = [dict(zip(("of_ticket", "of_event", "has"), one, strict=True)) for one in sorted(given)]
        found = execute_prepared(self._session, _giving(), GIVEN.parameters(self._session, rows))
        newest = {ticket_id for (ticket_id,) in found}
        for ticket_id, _, _ in given:
            if ticket_id not in newest:
                self._set(TicketState.ticket_id == ticket_id, status_due=True)
        return newest

    def mark_due(self, has: Mapping[int, int | None], status_map: Mapping[int, int]) -> None:
        """Make the statuses of new issues due, unless they are unmapped or the issues already have them.

        Args:
            has: ticket to its issue's status.
            status_map: help desk status to tracker status id, as it is now (`Configs.status_map`).
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
        self.record_set(given)
        if owed:
            self._set(TicketState.ticket_id.in_(owed), status_due=True, status_next_at=None)

    def give(self, ticket_ids: Sequence[int]) -> None:
        """Make the statuses of some tickets due now, with their full number of attempts."""
        for start in range(0, len(ticket_ids), AT_ONCE):
            self._set(
                TicketState.ticket_id.in_(ticket_ids[start : start + AT_ONCE]),
                status_due=True,
                status_attempts=0,
                status_next_at=None,
            )

    def give_deleted(self, ticket_ids: Sequence[int], settling: float) -> None:
        """Make the statuses of deleted tickets due, unless an earlier event has reported the deletion.

        Args:
            ticket_ids: the tickets.
            settling: as for `fold_all`.
        """
        is_new = or_(~IS_DROPPED, TicketState.status_code.is_distinct_from(Reason.TICKET_DELETED))
        self._set(
            and_(TicketState.ticket_id.in_(ticket_ids), is_new),
            status_due=True,
            status_attempts=0,
            status_next_at=settled_by(settling),
        )

    def give_dropped(self, ticket_ids: Sequence[int], *codes: Code) -> None:
        """Make those statuses of some tickets due now that were dropped with one of these reason codes."""
        for start in range(0, len(ticket_ids), AT_ONCE):
            self._set(
                and_(
                    TicketState.ticket_id.in_(ticket_ids[start : start + AT_ONCE]),
                    IS_DROPPED,
                    TicketState.status_code.in_(codes),
                ),
                status_due=True,
                status_attempts=0,
                status_next_at=None,
            )

    def dropped(self, ticket_id: int, event_id: int, reason: Notice) -> None:
        """Record that this snapshot's status cannot be set, and why; a newer snapshot's status is tried again."""
        self._set(
            self._still(ticket_id, event_id),
            status_due=False,
            status_next_at=None,
            status_dropped=True,
            **reason_columns(reason, "status_"),
        )

    def drop_due(self, reason: Notice) -> list[int]:
        """Drop the due statuses of all linked tickets for this reason; return the tickets."""
        linked = select(TicketIssueLink.ticket_id).where(TicketIssueLink.state == LedgerState.LINKED)
        is_due = and_(TicketState.status_due.is_(True), TicketState.ticket_id.in_(linked))
        dropped = (
            update(TICKETS)
            .where(is_due)
            .values(
                status_due=False,
                status_next_at=None,
                status_dropped=True,
                **reason_columns(reason, "status_"),
            )
            .returning(TicketState.ticket_id)
        )
        return list(self._session.scalars(dropped))

    def wait(
        self, ticket_id: int, event_id: int, until: datetime | None, reason: Notice, *, attempt: bool
    ) -> None:
        """Keep the status due and retry it at `until` (database clock); count an attempt if `attempt`."""
        attempts = TicketState.status_attempts + (1 if attempt else 0)
        self._set(
            self._still(ticket_id, event_id),
            status_next_at=until,
            **reason_columns(reason, "status_"),
            status_attempts=attempts,
        )

    def owe_fields(self, ticket_id: int, names: Sequence[str]) -> None:
        """Record the fields of a ticket's issue that the tracker ignored, in place of those of an earlier issue."""
        self._set(
            TicketState.ticket_id == ticket_id,
            fields_due=list(names) or None,
            fields_kept=None,
            fields_attempts=None,
            fields_at=None,
        )

    def fields_wait(self, ticket_id: int, until: datetime) -> None:
        """Count an attempt to set the fields; they are not tried again before `until` (database clock)."""
        attempts = func.coalesce(TicketState.fields_attempts, 0) + 1
        self._set(TicketState.ticket_id == ticket_id, fields_attempts=attempts, fields_at=until)

    def fields_done(self, ticket_id: int, kept: Sequence[str]) -> None:
        """Record that no fields are due any more, and which fields still differ on the tracker."""
        self._set(
            TicketState.ticket_id == ticket_id,
            fields_due=None,
            fields_kept=list(kept) or None,
            fields_at=clock() if kept else None,
        )

    @staticmethod
    def _still(ticket_id: int, event_id: int) -> ColumnElement[bool]:
        return and_(TicketState.ticket_id == ticket_id, TicketState.event_id == event_id)

    def _set(self, where: ColumnElement[bool], **values: object) -> bool:
        statement = update(TICKETS).where(where).values(**values).returning(TicketState.ticket_id)
        return self._session.scalar(statement) is not None


@cache
def _giving() -> Any:
    """Return the statement of `record_set`; built once, as in `folding`."""
    given = GIVEN.table().c
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
            **reason_columns(None, "status_"),
        )
        .returning(TICKETS.c.ticket_id)
    )
