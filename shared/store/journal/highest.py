"""The highest number that the help desk has given to each kind of item, as far as events and links show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, cast, func, select, update
from sqlalchemy.orm import Session

from shared.events.snapshots import LARGEST_DOCUMENT, document_in
from shared.notices.kinds import Kind
from shared.store.tables.journal import InstallationRecord, JournalEvent, TicketDeletion, TicketState
from shared.store.tables.ledger import MODELS, own
from shared.values.ids import LARGEST, SAMPLES, is_sample, read_id


class HighestNumbers:
    """Reads the highest numbers, and keeps those of events that are deleted, within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, events: Iterable[tuple[int, str]]) -> None:
        """Record the numbers of events that are deleted.

        Args:
            events: ticket and key of each.
        """
        kept = self._session.scalar(select(InstallationRecord.highest).with_for_update()) or {}
        highest = dict(kept)
        for ticket_id, key in events:
            kind, _, number = key.partition(":")
            for of_kind, found in ((Kind.TICKET, ticket_id), (kind, read_id(number))):
                if of_kind in set(Kind) and found is not None and not is_sample(found):
                    found = document_in(found) if of_kind == Kind.DOCUMENT else found
                    highest[str(of_kind)] = max(found, highest.get(str(of_kind), 0))
        if highest != kept:
            self._session.execute(update(InstallationRecord).values(highest=highest))

    def get(self) -> dict[Kind, int]:
        """Return the highest number of each kind; 0 if there is none."""
        kept = self._session.scalar(select(InstallationRecord.highest)) or {}
        return {kind: max(kept.get(str(kind), 0), *self._of_kind(kind)) for kind in Kind}

    def _of_kind(self, kind: Kind) -> Iterable[int]:
        number = cast(func.substr(JournalEvent.key, len(kind) + 2), BigInteger)
        yield self._highest(kind, number, JournalEvent.key.like(f"{kind}:%"))
        yield self._highest(kind, MODELS[kind].key, *own(MODELS[kind]))
        if kind is Kind.TICKET:
            for of_ticket in (JournalEvent.ticket_id, TicketState.ticket_id, TicketDeletion.ticket_id):
                yield self._highest(kind, of_ticket)

    def _highest(self, kind: Kind, number: Any, *where: ColumnElement[bool]) -> int:
        value = number % (LARGEST_DOCUMENT + 1) if kind is Kind.DOCUMENT else number
        highest = select(func.max(value)).where(*where, number <= LARGEST - SAMPLES)
        return self._session.scalar(highest) or 0
