"""Records the tracker's definite answer: ledger row and journal in one commit, whatever happened meanwhile."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy.exc import DBAPIError

from shared.codes.coded import Coded
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.kinds import Kind
from shared.logs import get_logger
from shared.store import Transaction
from shared.store.ledger import Row
from shared.store.models import LedgerState
from worker.sync.creation import Creation
from worker.sync.matching import sent_essence
from worker.sync.results import Created, Waiting
from worker.sync.run import Run

log = get_logger("sync")
LINK_AGAIN_S = (0.05, 0.5, 2.0)


def link(
    run: Run, creation: Creation, attempt: int, found: dict[str, Any], tracker_id: int
) -> Created | Waiting:
    """Record a definite answer, once more where a sibling's adoption collides or the database fails.

    Args:
        run: the drain.
        creation: what was asked for.
        attempt: the claim's attempt number.
        found: the tracker's object.
        tracker_id: its id.

    Returns:
        The linked object, or that a person has to decide: the answer came too late and is a possible duplicate.
    """
    author_id = _author_id(creation, found)
    wrong = _wrong_author(run, creation, author_id)
    for delay in LINK_AGAIN_S:
        try:
            return _record(run, creation, attempt, found, tracker_id, author_id, wrong)
        except DBAPIError as error:
            log.warning("not linked yet", error=type(error).__name__, ticket_id=run.ticket_id)
            time.sleep(delay)
    return _record(run, creation, attempt, found, tracker_id, author_id, wrong)


def _record(
    run: Run,
    creation: Creation,
    attempt: int,
    found: dict[str, Any],
    tracker_id: int,
    author_id: int | None,
    wrong: Coded | None,
) -> Created | Waiting:
    kind, key = creation.kind, creation.key
    with run.transaction() as tx:
        verdicts = run.verdicts(tx, kind)
        row = tx.ledger(kind).lock(key)
        linked_to = row.tracker_id if row and row.state == LedgerState.LINKED else None
        if linked_to == tracker_id:
            return Created(tracker_id, creation.sender.project_id)
        if _is_exchanged(tx, kind, row, attempt, tracker_id):
            run.note(What.LATE_AND_EXCHANGED(kind=kind, tracker_id=tracker_id))
            project_id = creation.sender.project_id
            return (
                Created(linked_to, project_id)
                if linked_to
                else Waiting(Reason.BEGUN_ANEW(kind=kind, key=key))
            )
        if row is None or row.attempt != attempt or row.duplicate or _orphans(tx, kind, row, linked_to):
            verdicts.late(key, run.ticket_id, tracker_id)
            twice = Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=Reason.POSSIBLY_TWICE())
            return Waiting(twice, held=(kind, key))
        reason = Reason.CREATED_BY_EVENT(event_id=creation.event_id)
        verdicts.link(row, attempt, tracker_id, author_id, reason)
        if wrong:
            tx.misattributed.put(kind, key, run.ticket_id, tracker_id, wrong)
        creation.on_linked(tx, found, wrong)
    return Created(tracker_id, creation.sender.project_id, now=True, wrong_author=wrong)


def _orphans(tx: Transaction, kind: Kind, row: Row, linked_to: int | None) -> bool:
    """Whether what the row had adopted would belong to nobody once its own answer replaces it."""
    if linked_to is None:
        return False
    alike = tx.ledger(kind).in_doubt_like(row.fingerprint or "", settleable=False)
    own = sent_essence(kind, row.body or {})
    return not any(sent_essence(kind, one.body or {}).meets(own) for one in alike)


def _is_exchanged(tx: Transaction, kind: Kind, row: Row | None, attempt: int, tracker_id: int) -> bool:
    """Whether a sibling adopted what this answer names, and the row has, or is getting, another in its place.

    Then there is one object for each of them, and nothing was created twice.
    """
    holder = tx.ledger(kind).holder(tracker_id)
    if row is None or holder is None or holder.key == row.key or not holder.adopted:
        return False
    return row.attempt != attempt or row.duplicate or row.state == LedgerState.LINKED


def _author_id(creation: Creation, found: dict[str, Any]) -> int | None:
    author = found.get("author" if creation.kind is Kind.TICKET else "user")
    author_id = author.get("id") if isinstance(author, dict) else None
    return author_id if isinstance(author_id, int) else None


def _wrong_author(run: Run, creation: Creation, author_id: int | None) -> Coded | None:
    """Return why the author is another than was meant, and tell of it (SPEC section 5); None where nobody else was."""
    wrong = None if author_id in creation.named else creation.sender.wrong_author(author_id)
    if wrong and creation.sender.person:
        task_id = creation.key if creation.kind is Kind.TICKET_TASK else None
        run.warn(What.AUTHOR_DIFFERS(kind=creation.kind, because=wrong), task_id=task_id)
    return wrong
