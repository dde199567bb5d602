"""One creation, from top to bottom: claim, call, link (DESIGN "The ledger"). Issues and time entries alike.

Nothing is created twice, since whoever sends has claimed the row, and has committed that, before:

- The claim is given only for a row that is free and still at the attempt that was read, and raises the attempt. Of
  several claims that are committed together each row's first one alone is made.
- It counts only as long as what it was built from stands: configuration, links, people, metadata and templates.
- It is sent only as long as the claim's lease lasts; nobody else takes the row over before that and the settling
  time have gone, and then only by asking the tracker.
- A refusal, or a call that never left, makes the row free again. No clear answer puts it in doubt (`doubt.py`).
- The answer is recorded for its own attempt; what comes after another one was begun is a person's to decide. Where the
  next creation only waits for that, its claim is committed with it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from sqlalchemy.exc import DBAPIError

from shared.codes.authors import Misattribution
from shared.codes.coded import Coded
from shared.codes.faults import Detail, Fault
from shared.codes.kinds import Kind
from shared.codes.reasons import Reason
from shared.codes.steps import What
from shared.errors import (
    LeaseOver,
    NotBegun,
    NotYet,
    OutcomeUnknown,
    Outdated,
    TrackerError,
    TrackerOutage,
    TrackerRejected,
)
from shared.store.ledger.ledger import Answered, LedgerRow
from shared.store.ledger.ledger import Claim as Asked
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.models import LedgerState, RecoveryMode
from shared.store.transaction import Transaction
from shared.store.verdicts import Verdicts
from shared.telemetry.logs import get_logger
from shared.tracker.client import Exchange
from shared.values.ids import id_in, is_id
from worker.sync.actions import Step, aside, begin
from worker.sync.bodies import takes_long, tell_choice
from worker.sync.doubt import doubt
from worker.sync.drain import DbOp, TicketContext
from worker.sync.gates import Pending
from worker.sync.matching import sent_essence
from worker.sync.recovery import look_first
from worker.sync.refusals import explained
from worker.sync.results import Created, Waiting
from worker.sync.wanted import Creation, Linked, TimeEntryCreation

log = get_logger("sync")
LONG_S = 1.0
LINK_AGAIN_S = (0.05, 0.5, 2.0)


async def create(
    creation: Creation,
    row: LedgerRow | None,
    begun: Attempt | None = None,
    following: Pending | None = None,
) -> tuple[Created | Waiting, Begun | None]:
    """Create what is wanted, once.

    Args:
        creation: what is wanted.
        row: its ledger row as it was read: free; None where there is none.
        begun: its claim, where that was committed with the link before it.
        following: the event that asks for the issue's first time entry.

    Returns:
        The linked object, or what it waits for; and what was claimed with its link, which is to be sent at once.

    Raises:
        TrackerError: an outage, or a refusal for good.
        LeaseOver, NotYet: nothing was created, and it may be another time.
        Outdated: nothing was; what it was built from was changed meanwhile.
        LockBusy: nothing was; the ticket's lock was lost before its turn came, the process is to end, or a pause began.
    """
    ctx, attempt = creation.ctx, begun or await _claimed(creation, row)
    if not isinstance(attempt, Attempt):
        return attempt, None
    tell_choice(ctx, creation.operation, creation.chosen, creation.task_id)
    try:
        found_id, found = await Call(creation, attempt.window)
    except OutcomeUnknown as unclear:
        return await aside(doubt, creation, attempt.number, unclear), None
    except (LeaseOver, NotYet, NotBegun, TrackerError) as definite:
        if isinstance(definite, TrackerOutage) and definite.may_have_acted:
            await aside(doubt, creation, attempt.number, definite)
            raise
        reason, number = definite.coded, attempt.number
        await ctx.write(lambda tx: tx.ledger(creation.kind).free(creation.key, number, reason))
        if isinstance(definite, TrackerRejected):
            project_id = creation.sender.project_id  # it may have been found to be another
            raise await begin(
                explained, ctx, creation.operation, creation.body, project_id, definite, creation.task_id
            ) from None
        raise
    link = Link(creation, attempt, found_id, found)
    created, after = await _linked(link, following)
    if isinstance(created, Created) and _is_switch_ignored(created):
        await begin(ctx.lists.ask_whether_open)  # a key that has lost its rights: everything waits
    return created, after


async def _claimed(creation: Creation, row: LedgerRow | None) -> Attempt | Created | Waiting:
    """Claim the row; where that was not given, return what it waits for, or what is there already."""
    ctx = creation.ctx
    await creation.sender.prepare()
    await _turn(ctx)
    asked = time.monotonic()
    attempt = await Claim(creation, row)
    _tell_wait(ctx, time.monotonic() - asked, creation.task_id)
    if isinstance(attempt, RecoveryMode):
        if known := await begin(look_first, creation, attempt.since):
            return known
        await _turn(ctx)
        attempt = await Claim(creation, row, looked=True)
    if isinstance(attempt, Outdated):
        raise attempt
    return attempt if isinstance(attempt, Attempt) else Waiting(Reason.ROW_CHANGED())


async def _linked(link: Link, following: Pending | None) -> tuple[Created | Waiting, Begun | None]:
    """Record an answer, and claim what follows with it where nothing else comes before."""
    coming = _coming(link, following) if following else None
    if coming is None:
        return await link, None
    try:
        created, attempt = await LinkAndClaim(link, Claim(coming, None))
    except NotBegun:  # what was answered is recorded all the same
        return await link, None
    return created, Begun(coming, attempt) if isinstance(attempt, Attempt) else None


def _coming(link: Link, asking: Pending) -> TimeEntryCreation | None:
    """Return the time entry that can be claimed as soon as its issue is linked; None: more is to be done before."""
    ctx, work = link.creation.ctx, link.creation.work
    is_new = asking.task.id not in work.time_rows
    if not is_new or takes_long(ctx) or ctx.tracker.is_limited or not ctx.lock.is_held:
        return None
    try:
        coming = TimeEntryCreation.of(ctx, work, asking, link.expected())
    except Exception as fault:  # noqa: BLE001 (it is raised again where it is built after the link)
        log.warning("not built before its issue is linked", error=type(fault).__name__)
        return None
    return coming if coming.sender.is_prepared else None


def _tell_wait(ctx: TicketContext, seconds: float, task_id: int | None) -> None:
    """Note that a claim waited for one of the calls that may be made at once."""
    limit = ctx.call_limit()
    if limit and seconds > LONG_S:
        told = What.WAITED_FOR_CALL(seconds=seconds, count=math.floor(limit.calls), because=limit.because)
        ctx.note(told, task_id=task_id)


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


async def _turn(ctx: TicketContext) -> None:
    """Wait until a call may be made: before the claim, whose lease does not wait for it.

    Raises:
        LockBusy: the ticket's lock was lost meanwhile; somebody else may be at work on it.
    """
    if ctx.tracker.is_limited:
        await begin(ctx.tracker.take_turn)
    ctx.lock.check()


@dataclass(frozen=True, eq=False)
class Claim(DbOp[Claimed]):
    """Take the row for one attempt, before anything is sent.

    Comes to an attempt; None where the row is not as it was read; an error where what it was built from was changed
    meanwhile; and after a restore, as long as nobody has looked on the tracker, to that mode.
    """

    creation: Creation
    row: LedgerRow | None
    looked: bool = False
    begins = True
    precedes_a_call = True

    def drain(self) -> TicketContext:
        return self.creation.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, actions: Sequence[Self]) -> Sequence[Claimed]:
        """Claim some rows; the time in which they may be sent begins before.

        Where two ask for one row, it is the first who asks: the row holds what it sends. The other may ask again later.
        """
        asking, given = dict[tuple[Kind, int], Self](), dict[Self, int]()
        for one in actions:
            asking.setdefault((one.creation.kind, one.creation.key), one)
        lease = actions[0].creation.ctx.settings.claim_lease
        window = SendWindow(lease)
        for kind in Kind:
            if some := {key: one for (of_kind, key), one in asking.items() if of_kind is kind}:
                attempts = tx.ledger(kind).claim_all([one._claim() for one in some.values()], lease)
                given |= {some[key]: attempt for key, attempt in attempts.items()}
        found = list[Claimed]()
        for one in actions:
            if one in given:
                found.append(Attempt(given[one], window))
            else:
                is_first = asking[one.creation.kind, one.creation.key] is one
                found.append(one._not_given(tx) if is_first else None)
        return found

    def _claim(self) -> Asked:
        """Return what counts only as long as its row, and what is known of its key, are as they were read."""
        return replace(
            self.creation.claim(self.row),
            attempt_before=self.row.attempt if self.row else 0,
            is_newest=True,
            basis=self.creation.ctx.basis,
            unless_recovering=not self.looked,
        )

    def _not_given(self, tx: Transaction) -> Claimed:
        """Return why it was not: a backup was restored, and nobody has looked or decided yet; None: it is not free.

        What was built from settings that were replaced is outdated, whatever else there is.
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
    """Tell whether a person has decided since the restore that it is to be created."""
    return row is not None and row.first_claimed_at is None and row.changed_at >= mode.began_at


@dataclass(frozen=True)
class Call(Step[tuple[int, dict[str, Any]]]):
    """Have the tracker create it: comes to its id, and the object."""

    creation: Creation
    window: SendWindow
    begins = calls = True

    def send_first(self) -> Exchange | None:
        """Send it within the claim's window, without waiting for anything; None: nothing was done."""
        kind = self.creation.kind
        return self.creation.sender.send_first("POST", kind.path, self.creation.body, self.window.check)

    def carry_out(self, begun: Exchange | None = None) -> tuple[int, dict[str, Any]]:
        """Send it within the claim's window, as the person, or else as the administrator.

        Args:
            begun: the first request, where it has left already (`send_first`).

        Raises:
            OutcomeUnknown: no clear answer; it may have been created.
            TrackerError, LeaseOver, NotYet: it was not.
        """
        kind = self.creation.kind
        if begun is None:
            self.creation.ctx.tracker.use_turn()
        answer = self.creation.sender.send("POST", kind.path, self.creation.body, self.window.check, begun)
        try:
            found = answer.object(kind.wire_name)
            tracker_id = found["id"]
        except KeyError:
            tracker_id = None
        if not is_id(tracker_id):
            detail = Detail.NO_OBJECT(kind=kind)
            raise OutcomeUnknown("POST", kind.path, status=answer.status, detail=detail)
        return tracker_id, found


@dataclass(frozen=True, eq=False)
class Link(DbOp[Created | Waiting]):
    """Record the tracker's definite answer: row, journal and status in one commit, whatever happened meanwhile.

    Comes to the linked object, or that a person is to decide: the answer came too late and is a possible duplicate.
    """

    creation: Creation
    attempt: Attempt
    tracker_id: int
    found: dict[str, Any]
    answers = True

    @property
    def settles(self) -> bool:
        """With an issue its status is given, or owed."""
        return self.creation.kind is Kind.TICKET

    def drain(self) -> TicketContext:
        return self.creation.ctx

    def carry_out(self) -> Created | Waiting:
        """Record it and commit, once more where a sibling's adoption collides or the database fails."""
        for delay in LINK_AGAIN_S:
            try:
                return super().carry_out()
            except DBAPIError as error:
                log.warning(
                    "not linked yet", error=type(error).__name__, ticket_id=self.creation.ctx.ticket_id
                )
                time.sleep(delay)
        return super().carry_out()

    def _author_id(self) -> int | None:
        return id_in(self.found.get("author" if self.creation.kind is Kind.TICKET else "user"))

    def _wrong_author(self, author_id: int | None) -> Coded | None:
        """Return why the author is another than was meant, and tell of it (SPEC section 5)."""
        creation, sender = self.creation, self.creation.sender
        wrong = None if author_id in creation.named else sender.wrong_author(author_id)
        if wrong and sender.person:
            told = What.AUTHOR_DIFFERS(kind=creation.kind, because=wrong)
            creation.ctx.warn(told, task_id=creation.task_id)
        return wrong

    @classmethod
    def execute_many(cls, tx: Transaction, actions: Sequence[Self]) -> Sequence[Created | Waiting]:
        """Record some answers: those at whose rows nobody else was together, every other one as it stands."""
        recorded = dict[Self, Created | Waiting]()
        for kind in Kind:
            some = [one for one in actions if one.creation.kind is kind]
            plain = tx.ledger(kind).link_claimed([one._answered() for one in some]) if some else ()
            linked = dict[Self, Linked[Any]]()
            for one in some:
                key, ctx, found = one.creation.key, one.creation.ctx, one.found
                if (key, one.attempt.number) not in plain:
                    if odd := one._link(tx):
                        recorded[one] = odd
                        continue
                    # a sibling that had adopted it may have given it another
                    found = {**found, "status": None}
                wrong = one._wrong_author(one._author_id())
                if wrong:
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
        return [recorded[one] for one in actions]

    def expected(self) -> Created:
        """Return what it will come to, unless there is more to it."""
        return Created(self.tracker_id, self.creation.sender.project_id, now=True)

    def _answered(self) -> Answered:
        reason = Reason.CREATED_BY_EVENT(event_id=self.creation.asking.id)
        return Answered(self.creation.key, self.attempt.number, self.tracker_id, self._author_id(), reason)

    def _link(self, tx: Transaction) -> Created | Waiting | None:
        """Link a row that somebody else was at meanwhile; return what is so where it is not to be linked."""
        verdicts = self.creation.ctx.verdicts(tx, self.creation.kind)
        row = tx.ledger(self.creation.kind).lock(self.creation.key)
        if odd := self._at_odds(tx, verdicts, row):
            return odd
        assert row is not None  # noqa: S101 (`_at_odds`)
        one = self._answered()
        verdicts.link(row, one.attempt, one.tracker_id, one.author_id, one.reason)
        return None

    def _at_odds(
        self, tx: Transaction, verdicts: Verdicts, row: LedgerRow | None
    ) -> Created | Waiting | None:
        """Return what is so where somebody else was at the row meanwhile; None: it is to be linked all the same."""
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
            verdicts.late(key, ctx.ticket_id, tracker_id)
            twice = Reason.WAITS_FOR_PERSON(kind=kind, key=key, because=Reason.POSSIBLY_TWICE())
            return Waiting(twice, held=(kind, key))
        return None


@dataclass(frozen=True, eq=False)
class LinkAndClaim(DbOp[tuple[Created | Waiting, Claimed]]):
    """Record an answer and claim what follows, in one commit; where there is more to the answer nothing is claimed."""

    link: Link
    claim: Claim
    begins = True
    precedes_a_call = answers = True

    @property
    def settles(self) -> bool:
        return self.link.settles

    def drain(self) -> TicketContext:
        return self.link.drain()

    def carry_out(self) -> tuple[Created | Waiting, Claimed]:
        """Do one after the other: neither may harm the other."""
        created = self.link.carry_out()
        return created, self.claim.carry_out() if self._is_plain(created) else None

    @classmethod
    def execute_many(
        cls, tx: Transaction, actions: Sequence[Self]
    ) -> Sequence[tuple[Created | Waiting, Claimed]]:
        """Record some answers, then claim what follows each."""
        recorded = Link.execute_many(tx, [one.link for one in actions])
        plain = [one for one, created in zip(actions, recorded, strict=True) if one._is_plain(created)]
        given = Claim.execute_many(tx, [one.claim for one in plain]) if plain else ()
        claimed = dict(zip(plain, given, strict=True))
        return [(created, claimed.get(one)) for one, created in zip(actions, recorded, strict=True)]

    def _is_plain(self, created: Created | Waiting) -> bool:
        return (
            isinstance(created, Created) and replace(created, is_status_given=False) == self.link.expected()
        )


def _is_exchanged(tx: Transaction, kind: Kind, row: LedgerRow | None, attempt: int, tracker_id: int) -> bool:
    """Whether a sibling adopted what this answer names, and the row has, or is getting, another in its place.

    Then there is one object for each of them, and nothing was created twice.
    """
    holder = tx.ledger(kind).holder(tracker_id)
    if row is None or holder is None or holder.key == row.key or not holder.adopted:
        return False
    return row.attempt != attempt or row.duplicate or row.state == LedgerState.LINKED


def _orphans(tx: Transaction, kind: Kind, row: LedgerRow, linked_to: int | None) -> bool:
    """Whether what the row had adopted would belong to nobody once its own answer replaces it."""
    if linked_to is None:
        return False
    alike = tx.ledger(kind).in_doubt_like(row.fingerprint or "", settleable=False)
    own = sent_essence(kind, row.body or {})
    return not any(sent_essence(kind, one.body or {}).meets(own) for one in alike)


def _is_switch_ignored(created: Created) -> bool:
    return created.wrong_author is not None and created.wrong_author.code == Misattribution.SWITCH_IGNORED
