"""One creation, from top to bottom: claim, call, link. Issues, time entries, notes and attachments alike.

Why nothing is created twice, by what can go wrong:

- *Two workers want one row.* A claim is given only for a row that is free and still at the attempt that was read. It
  raises the attempt, and is committed before anything is sent. `Ledger` checks state and guards in one statement, so
  only one worker is given it. The ticket's lock only saves work.
- *Settings, mappings, people, metadata or templates change in between.* The claim is not given, and all is read again.
- *The worker stops after its claim.* It checks its lease right before the request leaves. Other workers leave the row
  alone until the lease is over, and the settling time: as long as the tracker may need for a request that left in
  time. Then the row is in doubt, and `resolve.py` searches the tracker before anyone may claim it again.
- *There is no clear answer.* The row is in doubt at once (`doubt`). Only a refusal, or a call that was never sent,
  makes it free. Once the tracker has named the object, no error makes the row free.
- *A backup was restored.* Until a person ends restore mode, no claim is given before the tracker was searched
  (`restore.py`).
- *An older attempt is answered late.* Its process was stopped between the check and the call, or a person decided
  before it came, which raises the attempt too. Then there can be two objects. The answer is recorded for its own
  attempt only, so the row goes on hold with both objects, and a person decides.

The first time entry of a new issue is claimed in the commit that links the issue: one commit less for each ticket.
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
from shared.values.ids import id_in, is_id
from worker.ticket.bodies import takes_long, tell_choice
from worker.ticket.context import DbOp, TicketContext
from worker.ticket.diagnosis import explained
from worker.ticket.error_table import Row, effect_of
from worker.ticket.match import sent_essence
from worker.ticket.plan import Pending
from worker.ticket.requests import Creation, Linked, TimeEntryCreation
from worker.ticket.resolve import doubt
from worker.ticket.restore import look_first
from worker.ticket.results import Created, Waiting

log = get_logger("sync")
LONG_S = 1.0
LINK_AGAIN_S = (0.05, 0.5, 2.0)


async def create(
    creation: Creation,
    row: LedgerRow | None,
    begun: Attempt | None = None,
    following: Pending | None = None,
) -> tuple[Created | Waiting, Begun | None]:
    """Create an issue, a time entry, a note or an attachment, once.

    Args:
        creation: what is to be created.
        row: its ledger row as it was read: free; None: there is none.
        begun: its claim, if it was committed with the link before it.
        following: the event that asks for the issue's first time entry.

    Returns:
        The linked object, or what it waits for; and what was claimed with its link, which is to be sent at once.

    Raises:
        TrackerError: an outage, or a refusal for good.
        LeaseOver, NotYet: nothing was created, and it may be another time.
        Outdated: nothing was created; what it was built from was changed in the meantime.
        LockBusy: nothing was created; the ticket's lock was lost, the process stops, or the tracker is away.
    """
    ctx, attempt, after = creation.ctx, begun, None
    link: Link | None = None
    created: Created | Waiting | None = None
    if attempt is None:
        await creation.sender.prepare()
        creation = await creation.prepared()
    started = time.monotonic()
    try:
        async with ctx.slot() if attempt is None else nullcontext():
            if attempt is None:
                claimed = await _claimed(creation, row, started)
                if not isinstance(claimed, Attempt):
                    return claimed, None
                attempt = claimed
            tell_choice(ctx, creation.operation, creation.chosen, creation.task_id)
            link = Link(creation, attempt, *await send(creation, attempt))
            if following and (coming := _coming(link, following)):
                created, after = await _link_and_claim(link, coming)
    except BridgeError as error:
        if attempt is None or link is not None:
            raise  # nothing was claimed; or it was created, and its row never becomes free again
        return await _failed(creation, attempt, error), None
    if created is None:
        created = await ctx.db.run(link)
    if isinstance(created, Created) and _is_switch_ignored(created):
        await ctx.tracker.check_access()  # a key that has lost its rights: everything waits
    return created, after


async def _link_and_claim(link: Link, coming: TimeEntryCreation) -> tuple[Created | Waiting, Begun | None]:
    created, attempt = await link.creation.ctx.db.run(LinkAndClaim(link, Claim(coming, None)))
    return created, Begun(coming, attempt) if isinstance(attempt, Attempt) else None


async def send(creation: Creation, attempt: Attempt) -> tuple[int, dict[str, Any]]:
    """Send a creation within its claim's window, as the person, or else as the API user.

    Returns:
        The id of the new object, and the object.

    Raises:
        OutcomeUnknown: no clear answer; it may have been created.
        TrackerError, LeaseOver, NotYet, NotBegun: it was not created.
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
    """Do with a claimed row what the table of errors says; return what is waited for if the outcome is unknown.

    An outage during which the tracker may have acted puts the row in doubt too, and is raised: all tickets wait for it.

    Raises:
        BridgeError: any other error itself; a refusal with what explains it.
    """
    ctx, kind, row = creation.ctx, creation.kind, effect_of(error).row
    may_have_acted = isinstance(error, TrackerOutage) and error.may_have_acted
    if isinstance(error, TrackerError) and (row is Row.IN_DOUBT or may_have_acted):
        waiting = await doubt(creation, attempt.number, error)
        if row is Row.IN_DOUBT:
            return waiting
    elif row in (Row.FREE, Row.FREE_OR_IN_DOUBT):
        key, number, reason = creation.key, attempt.number, error.notice
        await ctx.db.change(lambda tx: tx.ledger(kind).free(key, number, reason))
    if isinstance(error, TrackerRejected):
        project_id = creation.sender.project_id  # it may have been found to be another
        error = await explained(ctx, creation.operation, creation.body, project_id, error, creation.task_id)
    raise error from None


async def _claimed(creation: Creation, row: LedgerRow | None, started: float) -> Attempt | Created | Waiting:
    """Claim the row; if the claim is not given, return what it waits for, or what is there already."""
    ctx = creation.ctx
    await ctx.tracker.wait_for_rate_limit()
    attempt = await ctx.db.run(Claim(creation, row))
    _tell_wait(ctx, time.monotonic() - started, creation.task_id)
    if isinstance(attempt, RecoveryMode):
        if known := await look_first(creation, attempt.since):
            return known
        await ctx.tracker.wait_for_rate_limit()
        attempt = await ctx.db.run(Claim(creation, row, looked=True))
    if isinstance(attempt, Outdated):
        raise attempt
    return attempt if isinstance(attempt, Attempt) else Waiting(Reason.ROW_CHANGED())


def _coming(link: Link, following: Pending) -> TimeEntryCreation | None:
    """Return the time entry that can be claimed as soon as its issue is linked; None: more is to be done before."""
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
    """Note that a claim waited for one of the calls that may be made at once."""
    limit = ctx.services.call_limit()
    if limit and seconds > LONG_S:
        waited = What.WAITED_FOR_CALL(seconds=seconds, count=limit.size, because=limit.because)
        ctx.note(waited, task_id=task_id)


@dataclass(frozen=True)
class Attempt:
    """A claim that was given: its number, and the time in which it may be sent."""

    number: int
    window: SendWindow


Claimed = Attempt | RecoveryMode | Outdated | None


@dataclass(frozen=True)
class Begun:
    """A creation that is claimed, and is to be sent at once."""

    creation: Creation
    attempt: Attempt


@dataclass(frozen=True, eq=False)
class Claim(DbOp[Claimed]):
    """Take the row for one attempt, before anything is sent.

    The result is an attempt; None if the row is not as it was read; an error if what it was built from was changed
    in the meantime; and in restore mode, until the tracker was searched, that mode.
    """

    creation: Creation
    row: LedgerRow | None
    looked: bool = False
    order: ClassVar[int] = 1
    """In a batch claims come after links: others wait for what is linked, and a lease runs from the claim on."""

    def owner(self) -> TicketContext:
        return self.creation.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[Claimed]:
        """Claim some rows; the time in which they may be sent begins before.

        If two ask for one row, the first one gets it: the row holds what it sends. The other may ask again later.
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
        """Return what counts only as long as its row, and what is known of its key, are as they were read."""
        return replace(
            self.creation.claim(self.row),
            attempt_before=self.row.attempt if self.row else 0,
            is_newest=True,
            basis=self.creation.ctx.basis,
            unless_recovering=not self.looked,
        )

    def _not_given(self, tx: Transaction) -> Claimed:
        """Return why it was not given: restore mode, if the tracker was not searched yet; None: the row is not free.

        If the settings were replaced, the claim is outdated in any case.
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
    """Return whether it was freed since the restore by a person, or with its issue: that clears `first_claimed_at`."""
    return row is not None and row.first_claimed_at is None and row.changed_at >= mode.began_at


@dataclass(frozen=True, eq=False)
class Link(DbOp[Created | Waiting]):
    """Record the tracker's definite answer: row, journal and status in one commit, whatever happened in the meantime.

    The result is the linked object. If the answer came late and there may be two objects, a person is to decide.
    """

    creation: Creation
    attempt: Attempt
    tracker_id: int
    found: dict[str, Any]

    @property
    def locks_settings(self) -> bool:
        """With an issue its status is given, or owed."""
        return self.creation.kind is Kind.TICKET

    def owner(self) -> TicketContext:
        return self.creation.ctx

    def carry_out(self) -> Created | Waiting:
        """Record it and commit; repeat it if another row takes the object at that moment, or the database fails."""
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
        """Return why the author is another than was meant, and note it (SPEC section 5)."""
        creation, sender = self.creation, self.creation.sender
        wrong = None if author_id in creation.named else sender.wrong_author(author_id)
        if wrong and sender.person:
            told = What.AUTHOR_DIFFERS(kind=creation.kind, because=wrong)
            creation.ctx.warn(told, task_id=creation.task_id)
        return wrong

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[Created | Waiting]:
        """Record some answers: together if their rows were left alone in the meantime, each other one by itself."""
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
                    # another ticket's row that had adopted the issue may have given it another status
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
        """Return the result to expect, unless there is more to the answer."""
        return Created(self.tracker_id, self.creation.sender.project_id, now=True)

    def _answered(self) -> Answered:
        reason = Reason.CREATED_BY_EVENT(event_id=self.creation.asking.id)
        return Answered(self.creation.key, self.attempt.number, self.tracker_id, self._author_id(), reason)

    def _link(self, tx: Transaction) -> Created | Waiting | None:
        """Link a row that was changed in the meantime; return the result if it is not to be linked."""
        decisions = self.creation.ctx.decisions(tx, self.creation.kind)
        row = tx.ledger(self.creation.kind).lock(self.creation.key)
        if odd := self._at_odds(tx, decisions, row):
            return odd
        assert row is not None  # noqa: S101 (`_at_odds`)
        one = self._answered()
        decisions.link(row, one.attempt, one.tracker_id, one.author_id, one.reason)
        return None

    def _at_odds(
        self, tx: Transaction, decisions: Decisions, row: LedgerRow | None
    ) -> Created | Waiting | None:
        """Return the result if the row, changed in the meantime, is not to be linked; None: link it all the same."""
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
    """Record an answer and claim what follows, in one commit; if there is more to the answer, nothing is claimed."""

    link: Link
    claim: Claim
    splits: ClassVar[bool] = True

    @property
    def locks_settings(self) -> bool:
        return self.link.locks_settings

    def owner(self) -> TicketContext:
        return self.link.owner()

    def carry_out(self) -> tuple[Created | Waiting, Claimed]:
        """Run both, one after the other, even if the first fails."""
        created = self.link.carry_out()
        return created, self.claim.carry_out() if self._is_plain(created) else None

    @classmethod
    def execute_many(
        cls, tx: Transaction, operations: Sequence[Self]
    ) -> Sequence[tuple[Created | Waiting, Claimed]]:
        """Record some answers, then claim what follows each."""
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
    """Return whether a row that sent the same adopted what this answer names, and this row has or gets another.

    Then there is one object for each of them, and nothing was created twice.
    """
    holder = tx.ledger(kind).holder(tracker_id)
    if row is None or holder is None or holder.key == row.key or not holder.adopted:
        return False
    return row.attempt != attempt or row.duplicate or row.state == LedgerState.LINKED


def _orphans(tx: Transaction, kind: Kind, row: LedgerRow, linked_to: int | None) -> bool:
    """Return whether to replace the object that the row adopted would leave that object without a row.

    A sibling is a row that sent the same, so that either may adopt what the other created. If a sibling is in doubt,
    the adopted object may be its own; else no row has it.
    """
    if linked_to is None:
        return False
    alike = tx.ledger(kind).in_doubt_like(row.fingerprint or "", settleable=False)
    own = sent_essence(kind, row.body or {}, row.issue_id)
    return not any(sent_essence(kind, one.body or {}, one.issue_id).meets(own) for one in alike)


def _is_switch_ignored(created: Created) -> bool:
    return created.wrong_author is not None and created.wrong_author.code == Misattribution.SWITCH_IGNORED
