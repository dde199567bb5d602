"""Rows of `deskbridge event send --sample` in the tables: found by their reserved id, and deleted."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, union, union_all
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
        """Return the ids of the samples of which rows are left."""
        found = union_all(
            *(select(one.ticket_id).where(one.ticket_id > LARGEST - SAMPLES) for one in OF_A_TICKET)
        )
        return sorted(set(self._session.scalars(found)))

    def delete(self, sample_id: int) -> None:
        """Delete every row of a sample's ticket, ticket task and person.

        Raises:
            ValueError: if the id is no sample's.
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
        """Return the help desk user with an e-mail in events, or with its tracker user by a mapping or a match.

        A sample acts as that user, because deskbridge does not match a second user with the same tracker user.
        """
        owner = select(TrackerUser.tracker_user_id).where(TrackerUser.mail_key == mail_key(email))
        ids = union(
            select(HelpdeskPerson.helpdesk_user_id).where(func.lower(HelpdeskPerson.email) == email.lower()),
            *(
                select(one.helpdesk_user_id).where(one.tracker_user_id.in_(owner))
                for one in (UserMap, UserPin)
            ),
        ).subquery()
        column = ids.c.helpdesk_user_id
        lowest = self._session.scalar(select(func.min(column)).where(column <= LARGEST - SAMPLES))
        if lowest is None:
            return None
        row = self._session.get(HelpdeskPerson, lowest)
        return HelpdeskUser(id=lowest, email=(row and row.email) or email)
