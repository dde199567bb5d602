"""Removes one link, such as that of a ticket to its issue, or of a ticket task to its time entry."""

from __future__ import annotations

from dataclasses import dataclass

from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError, NotFound
from shared.notices.changes import Did
from shared.notices.kinds import ON_ISSUE, Kind
from shared.notices.refusals import Refusal
from shared.notices.steps import What
from shared.store.decisions import into_trace
from shared.store.ledger.transitions import FOR_A_PERSON, IN_FLIGHT, LedgerEvent, next_state
from shared.store.tables.ledger import LedgerRow, LedgerState


class NotForgotten(BridgeError):
    """A link that cannot be removed now; nothing was changed."""


@dataclass(frozen=True, slots=True)
class LinkedObject:
    """An object that a ticket, a ticket task or another item is linked to.

    Attributes:
        tracker_id: the id of the object.
        others: for an issue, the number of the ticket's linked time entries, which stay linked.
    """

    kind: Kind
    key: int
    ticket_id: int
    tracker_id: int
    others: int


def link_of(store: Store, kind: Kind, key: int) -> LinkedObject:
    """Return the link that a person is about to remove.

    Raises:
        NotFound, NotForgotten: as `forget_link`.
    """
    with store.transaction() as tx:
        return _linked(tx, kind, key)


def forget_link(store: Store, kind: Kind, key: int) -> LinkedObject:
    """Remove a link; the object stays on the tracker, and the next event of the item creates another one.

    Args:
        store: where the ledger is.
        kind: kind of the ledger row.
        key: key of the row, such as the ticket id or the ticket-task id.

    Returns:
        The link that was removed.

    Raises:
        NotFound: if the row has no link.
        NotForgotten: if a creation is in progress, in doubt, or waits for a person.
    """
    with store.transaction() as tx:
        link = _linked(tx, kind, key)
        if not tx.ledger(kind).unlink(key, link.tracker_id):
            raise NotFound(Refusal.NOT_LINKED_TO_ANY(kind=str(kind), id=key))
        tx.misattributed.remove(kind, key)
        named = {"kind": kind, "tracker_id": link.tracker_id}
        into_trace(tx)(
            What.LINK_FORGOTTEN(**named),
            ticket_id=link.ticket_id,
            task_id=key if kind is Kind.TICKET_TASK else None,
        )
        tx.changes.note(Did.LINK_FORGOTTEN(id=key, **named), before=link.tracker_id)
    return link


def _linked(tx: Transaction, kind: Kind, key: int) -> LinkedObject:
    """Lock a row and return its link."""
    row = tx.ledger(kind).lock(key)
    if row is not None:
        _refuse_what_is_open(kind, row)
    forgets = LedgerEvent.PERSON_FORGETS
    if row is None or row.tracker_id is None or next_state(forgets, LedgerState(row.state)) is None:
        raise NotFound(Refusal.NOT_LINKED_TO_ANY(kind=str(kind), id=key))
    others = 0
    if kind is Kind.TICKET:
        rows = tx.rows_of_ticket(key)
        on_it = [one for on_issue in ON_ISSUE for one in rows[on_issue]]
        for one in on_it:
            if one.state in IN_FLIGHT:
                _refuse_what_is_open(one.kind, one)
        others = sum(one.kind is Kind.TICKET_TASK and one.state == LedgerState.LINKED for one in on_it)
    return LinkedObject(kind, key, row.ticket_id, row.tracker_id, others)


def _refuse_what_is_open(kind: Kind, row: LedgerRow) -> None:
    named = {"kind": str(kind), "id": row.key}
    if row.state in IN_FLIGHT:
        raise NotForgotten(Refusal.LINK_IN_FLIGHT(**named, state=row.state))
    if row.state in FOR_A_PERSON:
        raise NotForgotten(Refusal.LINK_FOR_A_PERSON(**named))
