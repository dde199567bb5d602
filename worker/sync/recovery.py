"""After a restore: the tracker is asked before each creation, since the journal has lost what came after the backup."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from shared.events import stored_event
from shared.kinds import Kind
from shared.reasons import ALIKE_AFTER_RESTORE
from shared.store import Transaction
from shared.store.models import LedgerState
from worker.sync.gates import closed_gate
from worker.sync.lookup import look_up
from worker.sync.matching import Candidate, Doubt
from worker.sync.recall import Recalled, recall
from worker.sync.results import Created, Waiting
from worker.sync.run import Run

if TYPE_CHECKING:
    from worker.sync.creation import Creation

MOST_PAGES = 500
MARGIN = timedelta(minutes=15)
WHY = "a backup was restored, so the tracker is asked before anything is created (`deskbridge recover`)"


def look_first(run: Run, creation: Creation, since: datetime) -> Created | Waiting | None:
    """Look on the tracker for what may have been created after the backup.

    Args:
        run: the drain.
        creation: what is to be created.
        since: how far to look back (database clock).

    Returns:
        The object that was found, what it waits for, or None where the tracker does not have it.

    Raises:
        TrackerError: nothing is known; nothing was changed.
    """
    kind, key = creation.kind, creation.key
    claim = creation.claim(run.ticket_id)
    with run.store.transaction() as tx:
        if tx.ledger(kind).is_alike_in_flight(claim.fingerprint, key):
            return Waiting(f"an equal {kind.noun} is being settled first")
    recalled = _recall(run, creation, since)
    if recalled.own is not None and run.config.in_doubt_policy == "lookup":
        return _adopt(run, creation, recalled.own)
    alike = [recalled.own] if recalled.own else recalled.alike
    if alike:
        return _hold(run, creation, alike)
    run.note(f"The tracker does not have the {kind.noun} yet", WHY, task_id=_task_id(creation))
    return None


def _recall(run: Run, creation: Creation, since: datetime) -> Recalled:
    """Compare with every snapshot that the journal has: which was the newest back then is not known any more."""
    kind = creation.kind
    forms = _forms(run, creation)
    authors = {one for form in forms for one in form.claim(run.ticket_id).authors}
    anyone = any(not form.claim(run.ticket_id).authors for form in forms)
    places = dict.fromkeys(
        form.issue_id if kind is Kind.TICKET_TASK else form.sender.project_id for form in forms
    )
    listed, ahead = [], timedelta(0)
    for place in places:
        rows, offset = look_up(run, kind, place, since - MARGIN, most_pages=MOST_PAGES)
        listed += rows
        ahead = min(ahead, offset)
    with run.store.transaction() as tx:
        held = tx.ledger(kind).holders([one["id"] for one in listed if isinstance(one.get("id"), int)])
    who = Doubt(creation.key, () if anyone else tuple(sorted(authors)), since - MARGIN + ahead)
    return recall(kind, listed, [form.body for form in forms], who, held)


def _forms(run: Run, creation: Creation) -> list[Creation]:
    """Return the creation as each event of the journal would have asked for it, newest first."""
    with run.store.transaction() as tx:
        rows = tx.journal.find(ticket_id=run.ticket_id, limit=None)
    events = [
        stored_event(row.payload) for row in sorted(rows, key=lambda row: row.occurred_at, reverse=True)
    ]
    if creation.kind is Kind.TICKET_TASK:
        events = [
            event
            for event in events
            if event.task and event.task.id == creation.key and not closed_gate(event.task, run.config)
        ]
    return [creation, *(creation.as_of(event) for event in events)]


def _adopt(run: Run, creation: Creation, own: Candidate) -> Created | Waiting:
    kind, tracker_id = creation.kind, own.tracker_id
    reason = f"found on the tracker as #{tracker_id} after a restore"
    try:
        with run.transaction() as tx:
            ledger = tx.ledger(kind)
            attempt = ledger.claim(creation.claim(run.ticket_id), run.settings.claim_lease)
            if attempt is None:
                return Waiting(f"another worker is creating the {kind.noun}")
            ledger.doubt(creation.key, attempt, 0, WHY)
            ledger.adopt(creation.key, attempt, tracker_id, own.author_id, reason)
            if kind is Kind.TICKET:
                tx.tickets.owe(run.ticket_id, run.config.status_map, own.status_id)
            run.rung |= _narrow(tx, kind, tracker_id)
    except IntegrityError:
        return Waiting(f"{kind.noun} #{tracker_id} was linked to something else just now")
    run.note(f"The {kind.noun} had been created before: #{tracker_id}", WHY, task_id=_task_id(creation))
    return Created(tracker_id, creation.sender.project_id)


def _narrow(tx: Transaction, kind: Kind, tracker_id: int) -> set[int]:
    """Let what was held because it might have been this object go on; return the tickets to ring."""
    freed = set()
    for row in tx.ledger(kind).waiting_for_a_person():
        if row.state != LedgerState.HELD or row.reason != ALIKE_AFTER_RESTORE:
            continue
        left = [one for one in row.candidates or () if one != tracker_id]
        if len(left) < len(row.candidates or ()):
            tx.ledger(kind).narrow(row.key, row.attempt, left, "what was alike belongs to others")
            if not left:
                tx.journal.reopen_held(row.ticket_id, "what was alike on the tracker belongs to others")
                freed.add(row.ticket_id)
    return freed


def _hold(run: Run, creation: Creation, alike: list[Candidate]) -> Waiting:
    kind, key = creation.kind, creation.key
    ids = [one.tracker_id for one in alike]
    with run.transaction() as tx:
        ledger = tx.ledger(kind)
        attempt = ledger.claim(creation.claim(run.ticket_id), run.settings.claim_lease)
        if attempt is None:
            return Waiting(f"another worker is creating the {kind.noun}")
        ledger.hold(key, attempt, ALIKE_AFTER_RESTORE, ids)
    run.note(
        f"Whether the {kind.noun} was created before is for a person to say: {', '.join(f'#{one}' for one in ids)}",
        ALIKE_AFTER_RESTORE,
        task_id=_task_id(creation),
    )
    return Waiting(f"{kind} {key} waits for a person: {ALIKE_AFTER_RESTORE}", for_person=True)


def _task_id(creation: Creation) -> int | None:
    return creation.key if creation.kind is Kind.TICKET_TASK else None
