"""Carries one creation through the ledger: claim, call, link (DESIGN "The ledger"). Issues and time entries alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.codes.authors import Misattribution
from shared.codes.coded import Coded
from shared.codes.faults import Detail
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.errors import (
    LeaseOver,
    LockBusy,
    NotYet,
    OutcomeUnknown,
    TrackerError,
    TrackerOutage,
    TrackerRejected,
)
from shared.ids import LARGEST
from shared.kinds import Kind
from shared.send_window import SendWindow
from shared.store.ledger import Claim, Row
from shared.store.models import LedgerState, RecoveryMode
from shared.tracker.answers import Answer
from worker.retry import backoff
from worker.sync.bodies import tell_choice
from worker.sync.creation import Creation
from worker.sync.linking import link
from worker.sync.reconcile import reconcile
from worker.sync.recovery import look_first
from worker.sync.refusals import OPERATIONS, explained
from worker.sync.results import Created, Waiting
from worker.sync.run import Run

MOST_TURNS = 4
IGNORED = Misattribution.SWITCH_IGNORED


def ensure(
    run: Run,
    kind: Kind,
    key: int,
    row: Row | None,
    now: datetime,
    prepare: Callable[[], Creation] | None,
) -> Created | Waiting | None:
    """Bring a creation as far as it can go now.

    Args:
        run: the drain.
        kind: issue or time entry.
        key: ticket id or ticket-task id.
        row: its ledger row as just read.
        now: the database's clock.
        prepare: makes the creation where one is wanted; None: only what was begun is settled.

    Returns:
        The linked object, what it waits for, or None where nothing is linked and nothing wanted.

    Raises:
        TrackerError: an outage, or a refusal for good.
    """
    for turn in range(MOST_TURNS):
        if turn and row is not None and row.state == LedgerState.FREE:
            # what was asked about a moment ago may still arrive: it is never sent again in the same pass
            seconds = backoff(row.unclear or 0, random.random())  # noqa: S311 (jitter)
            return Waiting(Reason.ABSENT_ON_TRACKER(), until=now + timedelta(seconds=seconds))
        if row is None or row.state == LedgerState.FREE:
            return _create(run, prepare(), row) if prepare else None
        if row.state == LedgerState.LINKED and row.tracker_id is not None:
            return Created(row.tracker_id, row.tracker_project_id or 0)
        if row.state in (LedgerState.HELD, LedgerState.GONE):
            return Waiting(Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=row.coded), held=(kind, key))
        waiting = _unsettled(run, kind, row, now)
        if waiting:
            return waiting
        with run.store.transaction() as tx:
            row, now = tx.ledger(kind).get(key), tx.now()
    return Waiting(Reason.BEING_WORKED_ON(kind=kind, key=key))


def _unsettled(run: Run, kind: Kind, row: Row, now: datetime) -> Waiting | None:
    """Settle a claimed or doubtful row where its time has come; else return what it waits for."""
    settling = run.settings.settling_time
    if row.state == LedgerState.CLAIMED:
        due = row.lease_until + timedelta(seconds=settling) if row.lease_until else now
        if now < due:
            return Waiting(Reason.BEING_CREATED(kind=kind), until=due)
        with run.transaction() as tx:
            tx.ledger(kind).expire(row.key, row.attempt, settling)
        return None
    if row.settle_after and now < row.settle_after:
        return Waiting(_in_doubt(kind, row.coded), until=row.settle_after)
    try:
        reconcile(run, kind, row)
    except LockBusy as busy:
        return Waiting(_in_doubt(kind, busy.coded))
    return None


def _create(run: Run, creation: Creation, row: Row | None, *, looked: bool = False) -> Created | Waiting:
    kind, key, sender = creation.kind, creation.key, creation.sender
    if not looked:
        sender.prepare()
    run.tracker.take_turn()
    run.lock.renew()
    window = SendWindow(run.settings.claim_lease)
    with run.transaction() as tx:
        mode = None if looked else tx.recovery.get()
        look = mode is not None and not _is_decided(row, mode)
        attempt = (
            None
            if look
            else tx.ledger(kind).claim(
                _as_read(creation.claim(run.ticket_id, row), row), run.settings.claim_lease
            )
        )
    if look and mode is not None:
        return look_first(run, creation, mode.since) or _create(run, creation, row, looked=True)
    if attempt is None:
        return Waiting(Reason.ROW_CHANGED())
    tell_choice(run, OPERATIONS[kind], creation.chosen, key if kind is Kind.TICKET_TASK else None)
    try:
        answer = sender.send("POST", kind.path, creation.body, window.check)
        found, tracker_id = _created(kind, answer)
    except OutcomeUnknown as unclear:
        return _doubt(run, kind, key, attempt, unclear)
    except (LeaseOver, NotYet, TrackerError) as definite:
        if isinstance(definite, TrackerOutage) and definite.may_have_acted:
            _doubt(run, kind, key, attempt, definite)
            raise
        with run.transaction() as tx:
            tx.ledger(kind).free(key, attempt, definite.coded)
        if isinstance(definite, TrackerRejected):
            task_id = key if kind is Kind.TICKET_TASK else None
            raise explained(
                run, OPERATIONS[kind], creation.body, sender.project_id, definite, task_id
            ) from None
        raise
    created = link(run, creation, attempt, found, tracker_id)
    if isinstance(created, Created) and created.wrong_author and created.wrong_author.code == IGNORED:
        run.lists.ask_whether_open()  # it is not for a key that has lost its rights: everything waits
    return created


def _as_read(claim: Claim, row: Row | None) -> Claim:
    """Return a claim that counts only as long as its row, and what is known of its key, are as they were read."""
    return replace(claim, attempt_before=row.attempt if row else 0, is_newest=True)


def _is_decided(row: Row | None, mode: RecoveryMode) -> bool:
    """Tell whether a person has decided since the restore that it is to be created."""
    return row is not None and row.first_claimed_at is None and row.changed_at >= mode.began_at


def _created(kind: Kind, answer: Answer) -> tuple[dict[str, Any], int]:
    try:
        found = answer.object(kind.wire_name)
        tracker_id = found["id"]
    except KeyError:
        tracker_id = None
    if not isinstance(tracker_id, int) or not 0 < tracker_id <= LARGEST:
        detail = Detail.NO_OBJECT(kind=kind)
        raise OutcomeUnknown("POST", kind.path, status=answer.status, detail=detail)
    return found, tracker_id


def _doubt(run: Run, kind: Kind, key: int, attempt: int, unclear: TrackerError) -> Waiting:
    settling = run.settings.settling_time
    is_held = run.config.in_doubt_policy == "hold"
    began = (
        What.DOUBT_HELD(kind=kind, because=unclear.coded)
        if is_held
        else What.DOUBT_BEGAN(kind=kind, because=unclear.coded, settling=settling)
    )
    run.warn(began, task_id=key if kind is Kind.TICKET_TASK else None)
    with run.transaction() as tx:
        ledger = tx.ledger(kind)
        if is_held:
            ledger.hold(key, attempt, unclear.coded)
            return Waiting(
                Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=unclear.coded), held=(kind, key)
            )
        ledger.doubt(key, attempt, settling, unclear.coded)
        until = tx.now() + timedelta(seconds=settling)
    return Waiting(_in_doubt(kind, unclear.coded), until=until, attempt=True)


def _in_doubt(kind: Kind, because: Coded | None) -> Coded:
    return Reason.CREATION_IN_DOUBT(kind=kind, because=because)
