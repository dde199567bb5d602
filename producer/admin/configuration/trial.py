"""Switches trial mode on and off: while it is on, events wait, and nothing is sent to Redmine for them."""

from __future__ import annotations

from dataclasses import dataclass

from producer.admin.records.transaction import Store, Transaction
from producer.admin.services import Services
from shared.notices.changes import Did
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState

AT_ONCE = 500
"""Maximum number of events per transaction."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The state of trial mode.

    Attributes:
        is_on: whether it is on.
        waiting: number of pending events.
    """

    is_on: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of switching trial mode off.

    Attributes:
        was_on: whether it was on; if not, nothing was done.
        sent: how many waiting events are due now.
        dropped: how many were dropped.
    """

    was_on: bool
    sent: int = 0
    dropped: int = 0


def standing(store: Store) -> Trial:
    """Return the state of trial mode."""
    with store.transaction() as tx:
        return _standing(tx)


def begin(store: Store) -> Trial:
    """Switch trial mode on; return its state."""
    with store.transaction() as tx:
        tx.configs.lock_exclusive()
        if not _is_on(tx):
            _switch(tx, Did.TRIAL_BEGUN(), to=True)
        return _standing(tx)


def end(services: Services, *, drops: bool) -> Ended:
    """Switch trial mode off.

    Args:
        services: the collaborators.
        drops: whether to drop the waiting events, which can be replayed. Otherwise they are sent.
    """
    return _end_dropping(services.store) if drops else _end_sending(services)


def release_waiting(services: Services) -> int:
    """Make the events due that trial mode, which is now off, kept waiting; return how many.

    Each batch has its own transaction. If this fails, the events still become due within minutes.
    """
    count = 0
    while True:
        with services.store.transaction() as tx:
            found = tx.journal.make_due_by_code(Reason.TRIAL_MODE, Reason.TRIAL_OVER(), AT_ONCE)
        services.notify(sorted({ticket_id for _, ticket_id in found}))
        count += len(found)
        if len(found) < AT_ONCE:
            return count


def _end_sending(services: Services) -> Ended:
    with services.store.transaction() as tx:
        tx.configs.lock_exclusive()
        before = _standing(tx)
        if not before.is_on:
            return Ended(was_on=False)
        _switch(tx, Did.TRIAL_ENDED_SENDING(count=before.waiting), to=False)
    release_waiting(services)
    return Ended(was_on=True, sent=before.waiting)


def _end_dropping(store: Store) -> Ended:
    """Drop the waiting events while nothing can be sent; the commit that drops the last ones ends trial mode."""
    dropped = 0
    while True:
        with store.transaction() as tx:
            tx.configs.lock_exclusive()
            if not _is_on(tx):
                return Ended(was_on=False, dropped=dropped)
            found = _drop(tx)
            dropped += found
            if found < AT_ONCE:
                tx.statuses.drop_due(Reason.TRIAL_DROPPED())
                _switch(tx, Did.TRIAL_ENDED_DROPPING(count=dropped), to=False)
                return Ended(was_on=True, dropped=dropped)


def _drop(tx: Transaction) -> int:
    """Drop some of the events that wait; return how many."""
    because = Reason.TRIAL_DROPPED()
    dropped = tx.journal.skip_pending(because, AT_ONCE)
    told = {"count": 1, "state": EventState.SKIPPED, "because": because}
    tx.trace.append(
        [Step(ticket_id, What.EVENTS_ENDED(events=[event_id], **told)) for event_id, ticket_id in dropped]
    )
    return len(dropped)


def _standing(tx: Transaction) -> Trial:
    return Trial(_is_on(tx), tx.journal.count(EventState.PENDING))


def _is_on(tx: Transaction) -> bool:
    return tx.configs.get()[0].trial


def _switch(tx: Transaction, told: Notice, *, to: bool) -> None:
    config, _ = tx.configs.get()
    tx.configs.put(config.model_copy(update={"trial": to}))
    tx.changes.note(told, before={"trial": config.trial}, after={"trial": to})
