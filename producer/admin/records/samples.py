"""What `deskbridge event send --sample` leaves in the tables: found by its reserved id, and deleted."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select, union, union_all
from sqlalchemy.orm import Session

from shared.events.snapshots import HelpdeskUser
from shared.store.configuration.matching import mail_key
from shared.store.tables.configuration import (
    HelpdeskPerson,
    TrackerUser,
    UserMap,
    UserPin,
)
from shared.store.tables.journal import JournalEvent, TicketState, TraceStep
from shared.store.tables.ledger import LEDGERS, Misattributed
from shared.store.tables.types import Base
from shared.values.ids import LARGEST, SAMPLES, is_sample

OF_A_TICKET: tuple[Any, ...] = (JournalEvent, TicketState, *LEDGERS, Misattributed, TraceStep)
OF_A_PERSON = (HelpdeskPerson, UserPin, UserMap)


class Samples:
    """Reads and deletes samples within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def tickets(self) -> list[int]:
        """Return the ids of the samples of which something is left."""
        found = union_all(
            *(select(one.ticket_id).where(one.ticket_id > LARGEST - SAMPLES) for one in OF_A_TICKET)
        )
        return sorted(set(self._session.scalars(found)))

    def delete(self, sample_id: int) -> None:
        """Delete every row of a sample's ticket, ticket task and person.

        Raises:
            ValueError: it is no sample.
        """
        if not is_sample(sample_id):
            raise ValueError(f"{sample_id} is no sample's id")
        rows: list[tuple[type[Base], ColumnElement[bool]]] = [
            *((one, one.ticket_id == sample_id) for one in OF_A_TICKET),
            *((one, one.helpdesk_user_id == sample_id) for one in OF_A_PERSON),
        ]
        for model, where in rows:
            self._session.execute(delete(model).where(where))

    def person(self, email: str) -> HelpdeskUser | None:
        """Return the helpdesk user whom events have named with an e-mail, or who is matched with the one it names.

        A sample acts for that user: to another one of the same e-mail deskbridge gives no one's name.
        """
        owner = select(TrackerUser.tracker_user_id).where(TrackerUser.mail_key == mail_key(email))
        matched = union(
            *(
                select(one.helpdesk_user_id).where(one.tracker_user_id.in_(owner))
                for one in (UserMap, UserPin)
            )
        )
        columns = (HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email)
        is_theirs = or_(func.lower(HelpdeskPerson.email) == email.lower(), columns[0].in_(matched))
        row = self._session.execute(
            select(*columns).where(is_theirs, columns[0] <= LARGEST - SAMPLES).order_by(columns[0]).limit(1)
        ).first()
        return HelpdeskUser(id=row.helpdesk_user_id, email=row.email or email) if row else None
