"""Which tickets the helpdesk has deleted: in its bin, or gone for good (a row is kept also of those that came back)."""

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
class Said:
    """What an event says of a ticket, by its place in time.

    Attributes:
        occurred_at, sequence, event_id: its place in time.
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

    def note(self, said: Iterable[Said]) -> list[int]:
        """Note what events say, unless something newer is known.

        What had been skipped of a ticket that is back is looked at again.

        Returns:
            The tickets that are back.
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
        back = sorted(ticket_id for ticket_id, is_deleted in self._session.execute(moved) if not is_deleted)
        if back:
            Journal(self._session).replay_skipped(back, Reason.TICKET_DELETED, Reason.TICKET_RESTORED())
            TicketStates(self._session).give_dropped(back, Reason.TICKET_DELETED)
        return back
