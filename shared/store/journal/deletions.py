"""Tickets that the help desk has deleted, to its bin or permanently; rows of restored tickets stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import Table, tuple_
from sqlalchemy.orm import Session

from shared.notices.reasons import Reason
from shared.store.journal.journal import Journal
from shared.store.journal.tickets import TicketStates
from shared.store.tables.journal import TicketDeletion
from shared.store.tables.types import insert_for

DELETIONS = cast(Table, TicketDeletion.__table__)


@dataclass(frozen=True, slots=True, order=True)
class DeletionState:
    """Whether a ticket is deleted according to one event; ordered by the event's place in time.

    Attributes:
        occurred_at, sequence, event_id: the event's place in time.
        is_deleted: whether the ticket is deleted.
    """

    occurred_at: datetime
    sequence: int
    event_id: int
    ticket_id: int
    is_deleted: bool


class TicketDeletions:
    """Reads and writes which tickets are deleted, within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, said: Iterable[DeletionState], settling: float | None = None) -> list[int]:
        """Record deletions and restorations, unless a newer one is known.

        Events and statuses that were skipped because a ticket was deleted are processed again once it is restored.

        Args:
            said: what events report.
            settling: as for `fold_all`; None: the issue of a deleted ticket gets no status of its own.

        Returns:
            The restored tickets.
        """
        newest = {one.ticket_id: one for one in sorted(said)}
        if not newest:
            return []
        inserting = insert_for(self._session)(DELETIONS).values(
            [
                {
                    "ticket_id": ticket_id,
                    "event_id": one.event_id,
                    "occurred_at": one.occurred_at,
                    "sequence": one.sequence,
                    "is_deleted": one.is_deleted,
                }
                for ticket_id, one in sorted(newest.items())
            ]
        )
        old, new = DELETIONS.c, inserting.excluded
        moved = inserting.on_conflict_do_update(
            index_elements=["ticket_id"],
            set_={name: new[name] for name in ("event_id", "occurred_at", "sequence", "is_deleted")},
            where=tuple_(old.occurred_at, old.sequence, old.event_id)
            < tuple_(new.occurred_at, new.sequence, new.event_id),
        ).returning(old.ticket_id, old.is_deleted)
        now = sorted(self._session.execute(moved).all())
        deleted = [ticket_id for ticket_id, is_deleted in now if is_deleted]
        back = [ticket_id for ticket_id, is_deleted in now if not is_deleted]
        states = TicketStates(self._session)
        if back:
            Journal(self._session).replay_skipped(back, Reason.TICKET_DELETED, Reason.TICKET_RESTORED())
            states.give_dropped(back, Reason.TICKET_DELETED, Reason.STATUS_REFUSED)
        if settling is not None:
            states.give_deleted(deleted, settling)
        return back
