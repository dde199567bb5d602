"""Carries out a person's verdict on what the machine could not decide (DESIGN "The ledger", point 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import and_, or_
from sqlalchemy.exc import IntegrityError

from shared.codes.coded import written
from shared.codes.reasons import Reason, Verdict
from shared.codes.refusals import Refusal
from shared.codes.steps import What
from shared.errors import BridgeError, NotFound
from shared.kinds import Kind
from shared.store import Store, Transaction
from shared.store.ledger import Row
from shared.store.models import EventState, JournalEvent, LedgerState, TaskTimeLink
from shared.store.trace import Step

DECIDABLE = (LedgerState.HELD, LedgerState.GONE)


class NotResolved(BridgeError):
    """A verdict that cannot be carried out; nothing was changed."""

    otherwise = Refusal.NOT_RESOLVED


def held_rows(store: Store) -> list[tuple[Kind, Row]]:
    """Return every row that waits for a person, those waiting longest first."""
    with store.transaction() as tx:
        found: Sequence[tuple[Kind, Row]] = [
            (kind, row) for kind in Kind for row in tx.ledger(kind).waiting_for_a_person()
        ]
    return sorted(found, key=lambda one: one[1].changed_at)


def resolve(
    store: Store,
    kind: Kind,
    key: int,
    adopt: int | None,
    check: Callable[[Kind, Row, int], None] = lambda *_: None,
) -> int:
    """Link a held row to an existing object of the tracker, or let it be created again.

    Args:
        store: where ledger and journal are.
        kind: an issue of a ticket, or a time entry of a ticket task.
        key: ticket id or ticket-task id.
        adopt: the tracker id to adopt; None: create again.
        check: makes sure that it exists on the tracker; whatever it raises stops the verdict.

    Returns:
        The ticket, to be rung.

    Raises:
        NotFound: nothing of this kind and key waits for a person.
        NotResolved: the tracker id belongs to another row, or no event is left that would have it created again.
    """
    if adopt is not None:
        with store.transaction() as tx:
            waiting = _waiting(tx, kind, key)
        check(kind, waiting, adopt)
    try:
        with store.transaction() as tx:
            row = _waiting(tx, kind, key)
            if adopt is not None:
                _check_free(tx, kind, key, adopt)
            _carry_out(tx, kind, row, adopt)
            return row.ticket_id
    except IntegrityError:
        raise NotResolved(f"{kind.noun} #{adopt} was linked to something else just now") from None


def _waiting(tx: Transaction, kind: Kind, key: int) -> Row:
    """Return a row that waits for a person, locked."""
    row = tx.ledger(kind).lock(key)
    if row is None or row.state not in DECIDABLE:
        state = f"it is {row.state.replace('_', ' ')}" if row else "it is not known"
        raise NotFound(f"{kind} {key} does not wait for a person: {state} (see `deskbridge held`)")
    return row


def _check_free(tx: Transaction, kind: Kind, key: int, adopt: int) -> None:
    holder = tx.ledger(kind).holder(adopt)
    if holder is not None and holder.key != key:
        raise NotResolved(f"{kind.noun} #{adopt} belongs to {kind} {holder.key} already; adopt another one")


def _carry_out(tx: Transaction, kind: Kind, row: Row, adopt: int | None) -> None:
    key, ticket_id, event_id, was, before = row.key, row.ticket_id, row.event_id, row.coded, row.tracker_id
    was_gone = row.state == LedgerState.GONE
    adopting = adopt is not None
    verdict = Verdict.ADOPT(kind=kind, tracker_id=adopt) if adopting else Verdict.CREATE_AGAIN(kind=kind)
    decided = Reason.PERSON_DECIDED(verdict=verdict)
    tx.ledger(kind).resolve(key, adopt, decided)
    waiting = and_(JournalEvent.ticket_id == ticket_id, JournalEvent.state == EventState.HELD)
    if adopt is None and event_id is not None:
        waiting = or_(waiting, JournalEvent.id == event_id)
    tx.journal.reopen(waiting, decided)
    if adopt is None and kind is Kind.TICKET and was_gone and before is not None:
        _log_again(tx, ticket_id, before)
    if adopt is None and kind is Kind.TICKET_TASK and not tx.journal.has_pending(ticket_id):
        raise NotResolved(
            f"nothing would have the time logged again: the events of ticket task {key} are past their retention; "
            f"have the helpdesk send it again, then resolve it"
        )
    if adopt is not None and kind is Kind.TICKET:
        _give_up(tx, ticket_id, before, adopt)
        config, _ = tx.configs.get()
        tx.tickets.owe(ticket_id, config.status_map, tracker_status_id=None)
    task_id = row.task_id if isinstance(row, TaskTimeLink) else None
    what = What.PERSON_DECIDES(kind=kind, key=key, verdict=verdict, before=was or written("unknown"))
    tx.trace.append([Step(ticket_id, what, task_id)])


def _give_up(tx: Transaction, ticket_id: int, before: int | None, adopted: int) -> None:
    """Where an issue is given up for another, a person says what became of the time that was logged on it."""
    if before is None or before == adopted:
        return
    for row in tx.times.linked_to_issue(ticket_id, before):
        reason = Reason.ISSUE_GIVEN_UP(issue_id=before, adopted_id=adopted)
        tx.times.hold(row.key, None, reason, [row.tracker_id] if row.tracker_id else [])
        tx.trace.append([Step(ticket_id, What.TIME_FOR_PERSON(because=reason), row.key)])


def _log_again(tx: Transaction, ticket_id: int, issue_id: int) -> None:
    """The tracker deletes an issue's time entries with it: they are to be logged on the new issue."""
    for row in tx.times.linked_to_issue(ticket_id, issue_id):
        reason = Reason.WENT_WITH_ISSUE(time_entry_id=row.tracker_id, issue_id=issue_id)
        if row.tracker_id is not None and tx.times.forget(row.key, row.tracker_id, reason):
            what = What.TIME_AGAIN
            if not tx.journal.reopen(JournalEvent.id == row.event_id, reason):
                what = What.TIME_AGAIN_LATER
            tx.trace.append([Step(ticket_id, what(because=reason), row.key)])
