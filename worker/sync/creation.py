"""One creation, from top to bottom: claim, call, link (DESIGN "The ledger"). Issues and time entries alike.

Nothing is created twice, since whoever sends has claimed the row, and has committed that, before:

- The claim is given only for a row that is free and still at the attempt that was read, and raises the attempt.
- It is sent only as long as the claim's lease lasts; nobody else takes the row over before that and the settling
  time have gone, and then only by asking the tracker.
- A refusal, or a call that never left, makes the row free again. No clear answer puts it in doubt (`doubt.py`).
- The answer is recorded for its own attempt; what comes after another one was begun is a person's to decide.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.exc import DBAPIError

from shared.codes.authors import Misattribution
from shared.codes.coded import Coded
from shared.codes.faults import Detail
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.errors import LeaseOver, NotYet, OutcomeUnknown, TrackerError, TrackerOutage, TrackerRejected
from shared.ids import is_id
from shared.kinds import Kind
from shared.logs import get_logger
from shared.send_window import SendWindow
from shared.store import Transaction
from shared.store.ledger import Row
from shared.store.models import LedgerState, RecoveryMode
from shared.verdicts import Verdicts
from worker.sync.actions import Action, apart
from worker.sync.bodies import tell_choice
from worker.sync.doubt import doubt
from worker.sync.matching import sent_essence
from worker.sync.recovery import look_first
from worker.sync.refusals import explained
from worker.sync.results import Created, Waiting
from worker.sync.run import Run, Stored
from worker.sync.wanted import Creation

log = get_logger("sync")
LINK_AGAIN_S = (0.05, 0.5, 2.0)


async def create(creation: Creation, row: Row | None) -> Created | Waiting:
    """Create what is wanted, once.

    Args:
        creation: what is wanted.
        row: its ledger row as it was read: free; None where there is none.

    Returns:
        The linked object, or what it waits for.

    Raises:
        TrackerError: an outage, or a refusal for good.
        LeaseOver, NotYet: nothing was created, and it may be another time.
    """
    run = creation.run
    await creation.sender.prepare()
    await Turn(run)
    attempt = await Claim(creation, row)
    if isinstance(attempt, RecoveryMode):
        if known := await apart(look_first, creation, attempt.since):
            return known
        await Turn(run)
        attempt = await Claim(creation, row, looked=True)
    if not isinstance(attempt, Attempt):
        return Waiting(Reason.ROW_CHANGED())
    tell_choice(run, creation.operation, creation.chosen, creation.task_id)
    try:
        found_id, found = await Call(creation, attempt.window)
    except OutcomeUnknown as unclear:
        return await apart(doubt, creation, attempt.number, unclear)
    except (LeaseOver, NotYet, TrackerError) as definite:
        if isinstance(definite, TrackerOutage) and definite.may_have_acted:
            await apart(doubt, creation, attempt.number, definite)
            raise
        reason, number = definite.coded, attempt.number
        await run.write(lambda tx: tx.ledger(creation.kind).free(creation.key, number, reason))
        if isinstance(definite, TrackerRejected):
            project_id = creation.sender.project_id  # it may have been found to be another
            raise await apart(
                explained, run, creation.operation, creation.body, project_id, definite, creation.task_id
            ) from None
        raise
    created = await Link(creation, attempt, found_id, found)
    if isinstance(created, Created) and _is_switch_ignored(created):
        await apart(run.lists.ask_whether_open)  # a key that has lost its rights: everything waits
    return created


@dataclass(frozen=True)
class Attempt:
    """A claim that was given: its number, and the time in which it may be sent."""

    number: int
    window: SendWindow


@dataclass(frozen=True)
class Turn(Action[None]):
    """Wait until the rate limit lets a call be made: before the claim, whose lease does not wait for it."""

    run: Run

    @property
    def is_immediate(self) -> bool:
        """Whether there is no rate limit."""
        return not self.run.tracker.is_limited

    def carry_out(self) -> None:
        """Wait."""
        self.run.tracker.take_turn()


@dataclass(frozen=True)
class Claim(Stored[Attempt | RecoveryMode | None]):
    """Take the row for one attempt, before anything is sent.

    Comes to an attempt; None where the row is not as it was read; and after a restore, as long as nobody has looked
    on the tracker, to that mode.
    """

    creation: Creation
    row: Row | None
    looked: bool = False
    is_sent = True

    def noted_by(self) -> Run:
        """Return the drain."""
        return self.creation.run

    def get_ready(self) -> None:
        """Keep the ticket's lock: somebody else may be at work on it.

        Raises:
            LockBusy: it ran out.
        """
        self.creation.run.lock.renew()

    def carry_out(self) -> Attempt | RecoveryMode | None:
        """Claim it and commit."""
        self.get_ready()
        with self.creation.run.transaction() as tx:
            return self.within(tx)

    def within(self, tx: Transaction) -> Attempt | RecoveryMode | None:
        """Claim it."""
        run, creation, row = self.creation.run, self.creation, self.row
        window = SendWindow(run.settings.claim_lease)
        # it counts only as long as its row, and what is known of its key, are as they were read
        claim = replace(
            creation.claim(row),
            attempt_before=row.attempt if row else 0,
            is_newest=True,
            unless_recovering=not self.looked,
        )
        ledger, lease = tx.ledger(creation.kind), run.settings.claim_lease
        number = ledger.claim(claim, lease)
        if number is None and not self.looked and (mode := tx.recovery.get()):
            if not _is_decided(row, mode):
                return mode
            number = ledger.claim(replace(claim, unless_recovering=False), lease)
        return None if number is None else Attempt(number, window)


def _is_decided(row: Row | None, mode: RecoveryMode) -> bool:
    """Tell whether a person has decided since the restore that it is to be created."""
    return row is not None and row.first_claimed_at is None and row.changed_at >= mode.began_at


@dataclass(frozen=True)
class Call(Action[tuple[int, dict[str, Any]]]):
    """Have the tracker create it: comes to its id, and the object."""

    creation: Creation
    window: SendWindow

    def carry_out(self) -> tuple[int, dict[str, Any]]:
        """Send it within the claim's window, as the person, or else as the administrator.

        Raises:
            OutcomeUnknown: no clear answer; it may have been created.
            TrackerError, LeaseOver, NotYet: it was not.
        """
        kind = self.creation.kind
        self.creation.run.tracker.use_turn()
        answer = self.creation.sender.send("POST", kind.path, self.creation.body, self.window.check)
        try:
            found = answer.object(kind.wire_name)
            tracker_id = found["id"]
        except KeyError:
            tracker_id = None
        if not is_id(tracker_id):
            detail = Detail.NO_OBJECT(kind=kind)
            raise OutcomeUnknown("POST", kind.path, status=answer.status, detail=detail)
        return tracker_id, found


@dataclass(frozen=True)
class Link(Stored[Created | Waiting]):
    """Record the tracker's definite answer: row, journal and status in one commit, whatever happened meanwhile.

    Comes to the linked object, or that a person is to decide: the answer came too late and is a possible duplicate.
    """

    creation: Creation
    attempt: Attempt
    tracker_id: int
    found: dict[str, Any]

    def noted_by(self) -> Run:
        """Return the drain."""
        return self.creation.run

    def carry_out(self) -> Created | Waiting:
        """Record it and commit, once more where a sibling's adoption collides or the database fails."""
        for delay in LINK_AGAIN_S:
            try:
                return self._record()
            except DBAPIError as error:
                log.warning(
                    "not linked yet", error=type(error).__name__, ticket_id=self.creation.run.ticket_id
                )
                time.sleep(delay)
        return self._record()

    def _author_id(self) -> int | None:
        author = self.found.get("author" if self.creation.kind is Kind.TICKET else "user")
        author_id = author.get("id") if isinstance(author, dict) else None
        return author_id if isinstance(author_id, int) else None

    def _wrong_author(self, author_id: int | None) -> Coded | None:
        """Return why the author is another than was meant, and tell of it (SPEC section 5)."""
        creation, sender = self.creation, self.creation.sender
        wrong = None if author_id in creation.named else sender.wrong_author(author_id)
        if wrong and sender.person:
            told = What.AUTHOR_DIFFERS(kind=creation.kind, because=wrong)
            creation.run.warn(told, task_id=creation.task_id)
        return wrong

    def _record(self) -> Created | Waiting:
        with self.creation.run.transaction() as tx:
            return self.within(tx)

    def within(self, tx: Transaction) -> Created | Waiting:
        """Record it."""
        author_id = self._author_id()
        wrong = self._wrong_author(author_id)
        creation, tracker_id, number = self.creation, self.tracker_id, self.attempt.number
        run, kind, key, project_id = creation.run, creation.kind, creation.key, creation.sender.project_id
        reason = Reason.CREATED_BY_EVENT(event_id=creation.asking.id)
        verdicts = run.verdicts(tx, kind)
        found = self.found
        if not verdicts.link_claimed(key, number, tracker_id, author_id, reason):
            found = {**found, "status": None}  # a sibling that had adopted it may have given it another
            row = tx.ledger(kind).lock(key)
            if odd := self._at_odds(tx, verdicts, row):
                return odd
            assert row is not None  # noqa: S101 (`_at_odds`)
            verdicts.link(row, number, tracker_id, author_id, reason)
        if wrong:
            tx.misattributed.put(kind, key, run.ticket_id, tracker_id, wrong)
        is_status_given = creation.linked(tx, found, wrong)
        return Created(tracker_id, project_id, now=True, wrong_author=wrong, is_status_given=is_status_given)

    def _at_odds(self, tx: Transaction, verdicts: Verdicts, row: Row | None) -> Created | Waiting | None:
        """Return what is so where somebody else was at the row meanwhile; None: it is to be linked all the same."""
        creation, tracker_id, number = self.creation, self.tracker_id, self.attempt.number
        run, kind, key, project_id = creation.run, creation.kind, creation.key, creation.sender.project_id
        linked_to = row.tracker_id if row and row.state == LedgerState.LINKED else None
        if linked_to == tracker_id:
            return Created(tracker_id, project_id)
        if _is_exchanged(tx, kind, row, number, tracker_id):
            run.note(What.LATE_AND_EXCHANGED(kind=kind, tracker_id=tracker_id))
            if linked_to:
                return Created(linked_to, project_id)
            return Waiting(Reason.BEGUN_ANEW(kind=kind, key=key))
        if row is None or row.attempt != number or row.duplicate or _orphans(tx, kind, row, linked_to):
            verdicts.late(key, run.ticket_id, tracker_id)
            twice = Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=Reason.POSSIBLY_TWICE())
            return Waiting(twice, held=(kind, key))
        return None


def _is_exchanged(tx: Transaction, kind: Kind, row: Row | None, attempt: int, tracker_id: int) -> bool:
    """Whether a sibling adopted what this answer names, and the row has, or is getting, another in its place.

    Then there is one object for each of them, and nothing was created twice.
    """
    holder = tx.ledger(kind).holder(tracker_id)
    if row is None or holder is None or holder.key == row.key or not holder.adopted:
        return False
    return row.attempt != attempt or row.duplicate or row.state == LedgerState.LINKED


def _orphans(tx: Transaction, kind: Kind, row: Row, linked_to: int | None) -> bool:
    """Whether what the row had adopted would belong to nobody once its own answer replaces it."""
    if linked_to is None:
        return False
    alike = tx.ledger(kind).in_doubt_like(row.fingerprint or "", settleable=False)
    own = sent_essence(kind, row.body or {})
    return not any(sent_essence(kind, one.body or {}).meets(own) for one in alike)


def _is_switch_ignored(created: Created) -> bool:
    return created.wrong_author is not None and created.wrong_author.code == Misattribution.SWITCH_IGNORED
