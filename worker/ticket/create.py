"""One creation from start to end: claim, call, link. The same for issues, time entries, notes and attachments.

Why nothing is created twice, for each thing that can go wrong:

- *Two workers want one row.* A claim is granted only if the row is free and its attempt is still the one that was
  read. It raises the attempt, and is committed before anything is sent. `Ledger` checks state and guards in one
  statement, so only one worker gets the claim. The ticket's lock only saves work.
- *Settings, mappings, people, metadata or templates change in between.* The claim is refused, and all is loaded again.
- *The worker stops after its claim.* A worker checks its lease right before it sends the request. Other workers do not
  touch the row until the lease and then the settling time are over, which the tracker may need for a request that was
  sent in time. Then the row is in doubt, and `resolve.py` searches the tracker before the row can be claimed again.
- *There is no clear answer.* The row is in doubt at once (`put_in_doubt`). Only a refusal, or a call that was never
  sent, frees it. Once the tracker has named the object, no error frees the row.
- *A backup was restored.* Until a person ends restore mode, no claim is granted before the tracker was searched
  (`restore.py`).
- *An older attempt is answered late.* Its process was suspended between the check and the call, or a person decided
  before the answer came, which also raises the attempt. Then two objects may exist. The answer is recorded only for
  its own attempt, so the row goes on hold with both objects, and a person decides.

The first time entry of a new issue is claimed in the commit that links the issue, which saves one commit per ticket.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from shared.errors import (
    BridgeError,
    OutcomeUnknown,
    Outdated,
    TrackerError,
    TrackerOutage,
    TrackerRejected,
)
from shared.notices.authors import Misattribution
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import ATTRIBUTED, Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.decisions import Decisions
from shared.store.ledger.send_window import SendWindow
from shared.store.ledger.statements import Answered
from shared.store.ledger.statements import Claim as RowClaim
from shared.store.tables.journal import RecoveryMode
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import DatabaseFailed, Transaction
from shared.telemetry.logs import get_logger
from shared.values.identity import moment_of
from shared.values.ids import id_in, is_id
from worker.ticket.bodies import note_choice, takes_long
from worker.ticket.context import DbOp, TicketContext
from worker.ticket.diagnosis import explained
from worker.ticket.error_table import Row, effect_of
from worker.ticket.gone import issue_replaced
from worker.ticket.match import sent_essence
from worker.ticket.plan import Pending
from worker.ticket.requests import Creation, Linked, TimeEntryCreation
from worker.ticket.resolve import put_in_doubt
from worker.ticket.restore import search_first
from worker.ticket.results import Created, Waiting

log = get_logger("sync")
LONG_S = 1.0
LINK_AGAIN_S = (0.05, 0.5, 2.0)


async def create(
    creation: Creation,
    row: LedgerRow | None,
    begun: Attempt | None = None,
    following: Pending | None = None,
) -> tuple[Created | Waiting, ClaimedCreation | None]:
    """Create an issue, a time entry, a note or an attachment, once.

    Args:
        creation: the object to create.
        row: its free ledger row as it was read, or None if there is none.
        begun: its claim, if that was committed with the previous link.
        following: the event that asks for the issue's first time entry.

    Returns:
        The linked object, or what it waits for; and the creation that was claimed with its link, to send at once.

    Raises:
        TrackerError: on an outage, or if the tracker permanently refuses the creation.
        LeaseExpired, NotYet: if nothing was created, but a later attempt may succeed.
        Outdated: if the data that it was built from has changed; nothing was created.
        LockBusy: if the lock was lost, the process is stopping or an outage has begun; nothing was created.
    """
    ctx, attempt, after = creation.ctx, begun, None
    link: Link | None = None
    created: Created | Waiting | None = None
    if attempt is None:
        if replaced := await _replaced(creation):
            return replaced, None
        await creation.sender.prepare()
        creation = await creation.prepared()
    started = time.monotonic()
    try:
        async with ctx.slot() if attempt is None else nullcontext():
            if attempt is None:
                if replaced := await _replaced(creation):  # the slot may have taken long
                    return replaced, None
                claimed = await _claimed(creation, row, started)
                if not isinstance(claimed, Attempt):
                    return claimed, None
                attempt = claimed
            note_choice(ctx, creation.operation, creation.chosen, creation.task_id)
            link = Link(creation, attempt, *await send(creation, attempt))
            if following and (coming := _coming(link, following)):
                created, after = await _link_and_claim(link, coming)
    except BridgeError as error:
        if attempt is None or link is not None:
            raise  # nothing was claimed; or the object exists, and its row must never be freed
        return await _failed(creation, attempt, error), None
    if created is None:
        created = await ctx.db.run(link)
    if isinstance(created, Created) and _is_switch_ignored(created):
        await ctx.tracker.check_access()  # if the key has lost its rights, all tickets wait
    return created, after


async def _replaced(creation: Creation) -> Waiting | None:
    """Return the wait for a person's decision if the issue of a creation is another one now."""
    if creation.issue is None:
        return None
    return await issue_replaced(creation.ctx, creation.work, creation.issue, creation.read_with_issue)


async def _link_and_claim(
    link: Link, coming: TimeEntryCreation
) -> tuple[Created | Waiting, ClaimedCreation | None]:
    created, attempt = await link.creation.ctx.db.run(LinkAndClaim(link, Claim(coming, None)))
    return created, ClaimedCreation(coming, attempt) if isinstance(attempt, Attempt) else None


async def send(creation: Creation, attempt: Attempt) -> tuple[int, dict[str, Any]]:
    """Send a creation within its claim's window, as the person, or else as the API user.

    Returns:
        The id of the new object, and the object.

    Raises:
        OutcomeUnknown: if there was no clear answer; it may have been created.
        TrackerError, LeaseExpired, NotYet, NotStarted: if it was not created; after an outage it may have been.
    """
    try:
        found = await creation.send(attempt.number, attempt.window.check)
        tracker_id = found["id"]
    except KeyError:
        found, tracker_id = {}, None
    if not is_id(tracker_id):
        detail = Detail.NO_OBJECT(kind=creation.kind)
        raise OutcomeUnknown(creation.method, creation.path, status=201, detail=detail)
    return tracker_id, found


async def _failed(creation: Creation, attempt: Attempt, error: BridgeError) -> Waiting:
    """Apply the error table to a claimed row; if the outcome is unknown, return what the row waits for.

    An outage during which the tracker may have acted also puts the row in doubt, but is raised: all tickets wait.

    Raises:
        BridgeError: any other error itself; a refusal with hints that explain it.
    """
    ctx, kind, row = creation.ctx, creation.kind, effect_of(error).row
    may_have_acted = isinstance(error, TrackerOutage) and error.may_have_acted
    if isinstance(error, TrackerError) and (row is Row.IN_DOUBT or may_have_acted):
        waiting = await put_in_doubt(creation, attempt.number, error)
        if row is Row.IN_DOUBT:
            return waiting
    elif row in (Row.FREE, Row.FREE_OR_IN_DOUBT):
        key, number, reason = creation.key, attempt.number, error.notice
        await ctx.db.change(lambda tx: tx.ledger(kind).free(key, number, reason))
    if isinstance(error, TrackerRejected):
        project_id = creation.sender.project_id  # sending may have found another one
        error = await explained(ctx, creation.operation, creation.body, project_id, error, creation.task_id)
    raise error from None


async def _claimed(creation: Creation, row: LedgerRow | None, started: float) -> Attempt | Created | Waiting:
    """Claim the row; if the claim is not granted, return what it waits for, or the object that exists already."""
    ctx = creation.ctx
    await ctx.tracker.wait_for_rate_limit()
    attempt = await ctx.db.run(Claim(creation, row))
    _tell_wait(ctx, time.monotonic() - started, creation.task_id)
    if isinstance(attempt, RecoveryMode):
        if known := await search_first(creation, attempt.since):
            return known
        await ctx.tracker.wait_for_rate_limit()
        attempt = await ctx.db.run(Claim(creation, row, looked=True))
    if isinstance(attempt, Outdated):
        raise attempt
    return attempt if isinstance(attempt, Attempt) else Waiting(Reason.ROW_CHANGED())


def _coming(link: Link, following: Pending) -> TimeEntryCreation | None:
    """Return the time entry to claim together with its issue's link, or None if it needs other work first."""
    ctx, work = link.creation.ctx, link.creation.work
    is_new = following.row_id not in work.rows
    if not is_new or takes_long(ctx) or ctx.client.is_limited or not ctx.lock.is_held:
        return None
    try:
        coming = TimeEntryCreation.of(ctx, work, following, link.expected())
    except Exception as fault:  # noqa: BLE001 (it is raised again when it is built after the link)
        log.warning("not built before its issue is linked", error=type(fault).__name__)
        return None
    return coming if coming.sender.is_prepared else None


def _tell_wait(ctx: TicketContext, seconds: float, task_id: int | None) -> None:
    """Record that a claim waited long for the limit of concurrent calls."""
    limit = ctx.services.call_limit()
    if limit and seconds > LONG_S:
        waited = What.WAITED_FOR_CALL(seconds=seconds, count=limit.size, because=limit.because)
        ctx.note(waited, task_id=task_id)


@dataclass(frozen=True)
class Attempt:
    """A granted claim: its attempt number, and the window in which its request may be sent."""

    number: int
    window: SendWindow


Claimed = Attempt | RecoveryMode | Outdated | None


@dataclass(frozen=True)
class ClaimedCreation:
    """A creation that is claimed and must be sent at once."""

    creation: Creation
    attempt: Attempt


@dataclass(frozen=True, eq=False)
class Claim(DbOp[Claimed]):
    """The claim of a row for one attempt, before anything is sent.

    The result is an attempt; None if the row has changed since it was read; an error if the data that it was built from
    has changed; or the restore mode, if the tracker must be searched first.
    """

    creation: Creation
    row: LedgerRow | None
    looked: bool = False
    order: ClassVar[int] = 1
    """In a batch, claims come after links: others wait for the links, and a lease starts with its claim."""

    def owner(self) -> TicketContext:
        return self.creation.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[Claimed]:
        """Claim several rows; the window in which their requests may be sent starts before that.

        If two operations claim one row, the first gets it, since the row stores its request. The other may retry later.
        """
        first, given = dict[tuple[Kind, int], Self](), dict[Self, int]()
        for one in operations:
            first.setdefault((one.creation.kind, one.creation.key), one)
        lease = operations[0].creation.ctx.settings.claim_lease
        window = SendWindow(lease)
        for kind in Kind:
            if some := {key: one for (of_kind, key), one in first.items() if of_kind is kind}:
                attempts = tx.ledger(kind).claim_all([one._claim() for one in some.values()], lease)
                given |= {some[key]: attempt for key, attempt in attempts.items()}
        found = list[Claimed]()
        for one in operations:
            if one in given:
                found.append(Attempt(given[one], window))
            else:
                is_first = first[one.creation.kind, one.creation.key] is one
                found.append(one._not_given(tx) if is_first else None)
        return found

    def _claim(self) -> RowClaim:
        """Return a claim that is valid only if the row and the events of its key are as they were loaded."""
        return replace(
            self.creation.claim(self.row),
            attempt_before=self.row.attempt if self.row else 0,
            is_newest=True,
            basis=self.creation.ctx.basis,
            unless_recovering=not self.looked,
        )

    def _not_given(self, tx: Transaction) -> Claimed:
        """Return why the claim was not granted: changed settings, restore mode, or None if the row is not free.

        A row that a person has freed since the restore need not be searched for: it is claimed here all the same.
        """
        ctx = self.creation.ctx
        if ctx.basis is not None and not tx.configs.is_basis(ctx.basis):
            return Outdated(Fault.SETTINGS_REPLACED())
        mode = None if self.looked else tx.recovery.get()
        if mode is None or not _is_decided(self.row, mode):
            return mode
        lease = ctx.settings.claim_lease
        window, claim = SendWindow(lease), replace(self._claim(), unless_recovering=False)
        number = tx.ledger(self.creation.kind).claim(claim, lease)
        return None if number is None else Attempt(number, window)


def _is_decided(row: LedgerRow | None, mode: RecoveryMode) -> bool:
    """Return whether the row was freed since the restore, by a person or with its issue (no `first_claimed_at`)."""
    return row is not None and row.first_claimed_at is None and row.changed_at >= mode.began_at


@dataclass(frozen=True, eq=False)
class Link(DbOp[Created | Waiting]):
    """The record of the tracker's definite answer: row, journal and status in one commit, whatever happened meanwhile.

    The result is the linked object. If the answer came late and two objects may exist, a person must decide.
    """

    creation: Creation
    attempt: Attempt
    tracker_id: int
    found: dict[str, Any]

    @property
    def locks_settings(self) -> bool:
        """Whether it links an issue, since that also records whether a status is due."""
        return self.creation.kind is Kind.TICKET

    def owner(self) -> TicketContext:
        return self.creation.ctx

    def carry_out(self) -> Created | Waiting:
        """Record and commit the answer; repeat that if another row takes the object meanwhile or the database fails."""
        for delay in LINK_AGAIN_S:
            try:
                return super().carry_out()
            except DatabaseFailed as error:
                log.warning(
                    "not linked yet", error=type(error).__name__, ticket_id=self.creation.ctx.ticket_id
                )
                time.sleep(delay)
        return super().carry_out()

    def _author_id(self) -> int | None:
        return id_in(self.found.get(self.creation.kind.author))

    def _wrong_author(self, author_id: int | None) -> Notice | None:
        """Return why the author is not the intended one, and record that (SPEC section 5); else return None."""
        creation, sender = self.creation, self.creation.sender
        wrong = None if author_id in creation.named else sender.wrong_author(author_id)
        if wrong and sender.person:
            told = What.AUTHOR_DIFFERS(kind=creation.kind, because=wrong)
            creation.ctx.warn(told, task_id=creation.task_id)
        return wrong

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[Created | Waiting]:
        """Record several answers: together if their rows are unchanged, each of the others separately."""
        recorded = dict[Self, Created | Waiting]()
        for kind in Kind:
            some = [one for one in operations if one.creation.kind is kind]
            plain = tx.ledger(kind).link_claimed([one._answered() for one in some]) if some else ()
            linked = dict[Self, Linked[Any]]()
            for one in some:
                key, ctx, found = one.creation.key, one.creation.ctx, one.found
                if (key, one.attempt.number) not in plain:
                    if odd := one._link(tx):
                        recorded[one] = odd
                        continue
                    # another ticket's row may have adopted the issue and set another status
                    found = {**found, "status": None}
                wrong = one._wrong_author(one._author_id())
                if wrong and kind in ATTRIBUTED:
                    tx.misattributed.put(kind, key, ctx.ticket_id, one.tracker_id, wrong)
                linked[one] = Linked(one.creation, found, wrong)
            if linked:
                given = some[0].creation.all_linked(tx, list(linked.values()))
                for (one, done), is_given in zip(linked.items(), given, strict=True):
                    recorded[one] = replace(
                        one.expected(),
                        wrong_author=done.wrong,
                        is_status_given=is_given,
                        fields=tuple(done.creation.not_taken(one.found)),
                    )
        return [recorded[one] for one in operations]

    def expected(self) -> Created:
        """Return the result of an answer without differences in author, status or fields."""
        return Created(self.tracker_id, self.creation.sender.project_id, now=True)

    def _answered(self) -> Answered:
        reason = Reason.CREATED_BY_EVENT(event_id=self.creation.asking.id)
        created_on = moment_of(self.found.get("created_on"))
        number, author_id = self.attempt.number, self._author_id()
        return Answered(self.creation.key, number, self.tracker_id, author_id, reason, created_on)

    def _link(self, tx: Transaction) -> Created | Waiting | None:
        """Link a row that has changed meanwhile; return the result instead if it must not be linked."""
        decisions = self.creation.ctx.decisions(tx, self.creation.kind)
        row = tx.ledger(self.creation.kind).lock(self.creation.key)
        if odd := self._conflict(tx, decisions, row):
            return odd
        assert row is not None  # noqa: S101 (`_conflict`)
        one = self._answered()
        decisions.link(row, one.attempt, one.tracker_id, one.author_id, one.reason, one.created_on)
        return None

    def _conflict(
        self, tx: Transaction, decisions: Decisions, row: LedgerRow | None
    ) -> Created | Waiting | None:
        """Return the result if the changed row must not be linked, or None if it can be linked all the same."""
        creation, tracker_id, number = self.creation, self.tracker_id, self.attempt.number
        ctx, kind, key, project_id = creation.ctx, creation.kind, creation.key, creation.sender.project_id
        linked_to = row.tracker_id if row and row.state == LedgerState.LINKED else None
        if linked_to == tracker_id:
            return Created(tracker_id, project_id)
        if _is_exchanged(tx, kind, row, number, tracker_id):
            ctx.note(What.LATE_AND_EXCHANGED(kind=kind, tracker_id=tracker_id))
            if linked_to:
                return Created(linked_to, project_id)
            return Waiting(Reason.BEGUN_ANEW(kind=kind, key=key))
        if row is None or row.attempt != number or row.duplicate or _orphans(tx, kind, row, linked_to):
            decisions.late(key, ctx.ticket_id, tracker_id)
            twice = Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=Reason.POSSIBLY_TWICE())
            return Waiting(twice, on_hold=(kind, key))
        return None


@dataclass(frozen=True, eq=False)
class LinkAndClaim(DbOp[tuple[Created | Waiting, Claimed]]):
    """The record of an answer and, if that is as expected, the claim of the next creation, in one commit."""

    link: Link
    claim: Claim
    splits: ClassVar[bool] = True

    @property
    def locks_settings(self) -> bool:
        return self.link.locks_settings

    def owner(self) -> TicketContext:
        return self.link.owner()

    def carry_out(self) -> tuple[Created | Waiting, Claimed]:
        """Run both, one after the other, each in its own transaction; claim only if the answer is as expected."""
        created = self.link.carry_out()
        return created, self.claim.carry_out() if self._is_plain(created) else None

    @classmethod
    def execute_many(
        cls, tx: Transaction, operations: Sequence[Self]
    ) -> Sequence[tuple[Created | Waiting, Claimed]]:
        """Record several answers, then claim the creations that follow them."""
        recorded = Link.execute_many(tx, [one.link for one in operations])
        plain = [one for one, created in zip(operations, recorded, strict=True) if one._is_plain(created)]
        given = Claim.execute_many(tx, [one.claim for one in plain]) if plain else ()
        claimed = dict(zip(plain, given, strict=True))
        return [(created, claimed.get(one)) for one, created in zip(operations, recorded, strict=True)]

    def _is_plain(self, created: Created | Waiting) -> bool:
        return (
            isinstance(created, Created) and replace(created, is_status_given=False) == self.link.expected()
        )


def _is_exchanged(tx: Transaction, kind: Kind, row: LedgerRow | None, attempt: int, tracker_id: int) -> bool:
    """Return whether an equal row has adopted this answer's object, and this row has or will get another one.

    Then each of the two rows has one object, and nothing was created twice.
    """
    holder = tx.ledger(kind).holder(tracker_id)
    if row is None or holder is None or holder.key == row.key or not holder.adopted:
        return False
    return row.attempt != attempt or row.duplicate or row.state == LedgerState.LINKED


def _orphans(tx: Transaction, kind: Kind, row: LedgerRow, linked_to: int | None) -> bool:
    """Return whether replacing the object that the row adopted would leave that object without a row.

    A sibling is a row with an equal request, so that either may adopt the other's object. If a sibling is in doubt,
    the adopted object may belong to it; otherwise no row would have it.
    """
    if linked_to is None:
        return False
    alike = tx.ledger(kind).in_doubt_like(row.fingerprint or "", settleable=False)
    own = sent_essence(kind, row.body or {}, row.issue_id)
    return not any(sent_essence(kind, one.body or {}, one.issue_id).meets(own) for one in alike)


def _is_switch_ignored(created: Created) -> bool:
    return created.wrong_author is not None and created.wrong_author.code == Misattribution.SWITCH_IGNORED
