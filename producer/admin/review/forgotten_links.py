"""Makes deskbridge forget one link: which issue a ticket has, or which time entry a ticket task has."""

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
    """A link that cannot be forgotten now; nothing was changed."""


@dataclass(frozen=True, slots=True)
class LinkedObject:
    """What a ticket or a ticket task is linked to.

    Attributes:
        tracker_id: the issue or the time entry.
        others: of an issue, how many of the ticket's time entries are linked; they stay so.
    """

    kind: Kind
    key: int
    ticket_id: int
    tracker_id: int
    others: int


def link_of(store: Store, kind: Kind, key: int) -> LinkedObject:
    """Return the link that a person is about to have forgotten.

    Raises:
        NotFound, NotForgotten: as `forget_link`.
    """
    with store.transaction() as tx:
        return _linked(tx, kind, key)


def forget_link(store: Store, kind: Kind, key: int) -> LinkedObject:
    """Forget a link; the object stays on the tracker, and the next event of the ticket or task creates another one.

    Args:
        store: where the ledger is.
        kind: an issue of a ticket, or a time entry of a ticket task.
        key: ticket id or ticket-task id.

    Returns:
        What it was linked to.

    Raises:
        NotFound: nothing is linked to it.
        NotForgotten: it is being created at this moment, is in doubt, or waits for a person.
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
    """Return what is linked to a key, its row locked."""
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
