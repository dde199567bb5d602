"""Issues and time entries with another author than was meant: mostly none, so they are kept beside the ledger."""

from __future__ import annotations

from sqlalchemy import Select, and_, delete, func, select
from sqlalchemy.orm import Session

from shared.codes.coded import Coded
from shared.kinds import Kind
from shared.store.explained import keeping
from shared.store.models import LedgerRow, LedgerState, Misattributed, TaskTimeLink, TicketIssueLink
from shared.store.types import clock, insert_for


class MisattributedObjects:
    """Reads and writes the list within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, kind: Kind, key: int, ticket_id: int, tracker_id: int, why: Coded) -> None:
        """Note the wrong author of what a ledger row is linked to.

        Args:
            kind: issue or time entry.
            key: ticket id or ticket-task id.
            ticket_id: the ticket.
            tracker_id: the object.
            why: a `Misattribution`.
        """
        values = {
            "ticket_id": ticket_id,
            "tracker_id": tracker_id,
            "at": clock(),
            **keeping(why),
        }
        self._session.execute(
            insert_for(self._session)(Misattributed)
            .values(kind=str(kind), key=key, **values)
            .on_conflict_do_update(index_elements=["kind", "key"], set_=values)
        )

    def get(self, kind: Kind, key: int) -> Misattributed | None:
        """Return what is noted of a ledger row."""
        return self._session.get(Misattributed, (str(kind), key))

    def all(self) -> list[tuple[Misattributed, int | None]]:
        """Return everything noted that is linked still, the newest first, and who has it on the tracker."""
        found = [
            (one, author_id) for kind in Kind for one, author_id in self._session.execute(_linked(kind)).all()
        ]
        return sorted(found, key=lambda one: (one[0].at, one[0].key), reverse=True)

    def count(self) -> int:
        """Return how many that are."""
        return sum(
            self._session.scalar(select(func.count()).select_from(_linked(kind).subquery())) or 0
            for kind in Kind
        )

    def remove(self, kind: Kind, key: int) -> None:
        """Forget it: it was put right."""
        where = (Misattributed.kind == str(kind), Misattributed.key == key)
        self._session.execute(delete(Misattributed).where(*where))


def _linked(kind: Kind) -> Select[Misattributed, int | None]:
    model: type[LedgerRow] = TicketIssueLink if kind is Kind.TICKET else TaskTimeLink
    same = and_(model.key == Misattributed.key, model.tracker_id == Misattributed.tracker_id)
    is_linked = (Misattributed.kind == str(kind), model.state == LedgerState.LINKED)
    return select(Misattributed, model.author_id).join(model, same).where(*is_linked)
