"""Decisions on creations: what each does to ledger row, journal, status and trace. Nothing else carries one out.

What a verdict does to the row and to the ticket's events stands in `shared.store.ledger.transitions`. Besides:

- `link` takes the tracker id from another row that has it (`release`). What was sent to such an issue is put on hold.
  `Ledger.link_claimed` does the same for rows that are claimed still, if no other row has what they name.
- `adopt`, `adopt_after_restore`: an issue's status is owed, unless it has it already. After a restore, rows that
  were on hold because they might have been this one lose it as candidate.
- `adopt_by_person`: an issue's status is owed; what was sent to the issue that the row had before is put on hold.
- `create_again`: the tracker deletes an issue's time entries, notes and attachments with it. What was logged on one
  that is gone is logged again, from its event or once the helpdesk sends it again; the others are sent again from
  their events.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.gate import closed
from shared.events.payloads import not_taken
from shared.notices.authors import Misattribution
from shared.notices.kinds import ATTRIBUTED, ON_ISSUE, Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason, Verdict
from shared.notices.steps import What
from shared.store.journal.due import snapshot_of
from shared.store.journal.trace import Step
from shared.store.ledger.statements import Claim
from shared.store.ledger.transitions import FOR_A_PERSON, TRANSITIONS, InJournal, LedgerEvent
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerRow, LedgerState, TaskTimeLink
from shared.store.transaction import Transaction

ENDED_WELL = (EventState.DONE, EventState.SUPERSEDED)


class Tell(Protocol):
    """Notes a step of a ticket's trace."""

    def __call__(
        self, what: Notice, *, ticket_id: int | None, task_id: int | None, warning: bool = False
    ) -> None:
        """Note it; it is committed with the transaction."""


def into_trace(tx: Transaction) -> Tell:
    """Return what appends steps within a transaction."""

    def tell(what: Notice, *, ticket_id: int | None, task_id: int | None, warning: bool = False) -> None:  # noqa: ARG001
        tx.trace.append([Step(ticket_id or 0, what, task_id)])

    return tell


def asked_by(tx: Transaction, row: LedgerRow) -> Event | None:
    """Return the event that a row was claimed for; None if it is past its retention."""
    found = tx.journal.get(row.event_id) if row.event_id is not None else None
    return snapshot_of(found) if found else None


class Found(Protocol):
    """What a lookup found on the tracker."""

    @property
    def tracker_id(self) -> int:
        """Its id."""

    @property
    def author_id(self) -> int | None:
        """Who created it, as far as it says."""

    @property
    def status_id(self) -> int | None:
        """The status of an issue."""

    @property
    def listed(self) -> Mapping[str, Any]:
        """It as the tracker lists it; empty: not known."""


@dataclass(frozen=True)
class Decisions:
    """Carries decisions out, within one transaction.

    Attributes:
        tx: the transaction.
        kind: what the rows create.
        tell: notes what happened.
        config: the plugin configuration.
        to_notify: tickets whose waiting work can go on; to be notified after the commit.
    """

    tx: Transaction
    kind: Kind
    tell: Tell
    config: PluginConfig
    to_notify: set[int] = field(default_factory=set)

    def link(
        self, row: LedgerRow, attempt: int, tracker_id: int, author_id: int | None, reason: Notice
    ) -> None:
        """Link a row to what the tracker's own answer to its attempt names."""
        happened = (
            LedgerEvent.ANSWER_WHILE_ON_HOLD if row.state == LedgerState.ON_HOLD else LedgerEvent.ANSWER
        )
        self.release(row.key, tracker_id)
        self.tx.ledger(self.kind).link(row.key, attempt, tracker_id, author_id, reason)
        self._in_journal(happened, row, Reason.ANSWERED_AFTER_ALL())

    def late(self, key: int, ticket_id: int, tracker_id: int) -> None:
        """Hold a row whose superseded attempt created something after all."""
        self.tx.ledger(self.kind).late_answer(key, tracker_id)
        what = What.LATE_AND_TWICE(kind=self.kind, tracker_id=tracker_id)
        self.tell(what, ticket_id=ticket_id, task_id=self._task_id(key), warning=True)

    def adopt(self, row: LedgerRow, found: Found) -> None:
        """Link a row in doubt to what a lookup found; one that is no longer in doubt stays as it is.

        Raises:
            IntegrityError: another row holds it.
        """
        reason = Reason.FOUND_ON_TRACKER(tracker_id=found.tracker_id)
        ledger = self.tx.ledger(self.kind)
        if ledger.adopt(row.key, row.attempt, found.tracker_id, found.author_id, reason):
            self._note(row, What.CREATION_FOUND(kind=self.kind, tracker_id=found.tracker_id))
            self._attribute(row, found)
            self._owe(row.ticket_id, found.status_id)
            if self.kind is Kind.TICKET and row.body and (fields := not_taken(row.body, found.listed)):
                self.tx.statuses.owe_fields(row.ticket_id, fields)
            self._in_journal(LedgerEvent.FOUND, row, reason)

    def adopt_after_restore(self, claim: Claim, lease: float, found: Found) -> bool:
        """Link a new or free row to what was created before a backup was restored; False if it is neither.

        Raises:
            IntegrityError: another row holds it.
        """
        ledger = self.tx.ledger(self.kind)
        attempt = ledger.claim(claim, lease)
        if attempt is None:
            return False
        happened = LedgerEvent.FOUND_AFTER_RESTORE
        reason = Reason.FOUND_AFTER_RESTORE(tracker_id=found.tracker_id)
        ledger.doubt(claim.key, attempt, 0, Reason.ASKED_AFTER_RESTORE())
        ledger.adopt(claim.key, attempt, found.tracker_id, found.author_id, reason, happened)
        self._owe(claim.ticket_id, found.status_id)
        self._narrow(found.tracker_id)
        what = What.CREATED_BEFORE(kind=self.kind, tracker_id=found.tracker_id)
        self.tell(what, ticket_id=claim.ticket_id, task_id=self._task_id(claim.key))
        return True

    def free(self, row: LedgerRow, breaker: float) -> None:
        """Let a row in doubt be created again, not before some seconds: the tracker does not have it."""
        absent, ledger = LedgerEvent.ABSENT, self.tx.ledger(self.kind)
        if ledger.free(row.key, row.attempt, Reason.ABSENT_ON_TRACKER(because=row.notice), absent):
            self._note(row, What.CREATION_ABSENT(kind=self.kind))
            self._in_journal(absent, row, Reason.WAS_NOT_ITS_OWN(), breaker)

    def hold(self, row: LedgerRow, because: Notice, candidates: Collection[int] = ()) -> None:
        """Give a row in doubt to a person."""
        reason = Reason.STAYS_UNDECIDED(before=row.notice, because=because)
        if self.tx.ledger(self.kind).hold(row.key, row.attempt, reason, candidates):
            self._note(row, What.FOR_PERSON_TO_SAY(kind=self.kind, because=because))
            self._in_journal(LedgerEvent.UNDECIDABLE, row, reason)
            self.to_notify.add(row.ticket_id)

    def hold_after_restore(self, claim: Claim, lease: float, candidates: Collection[int]) -> bool:
        """Give a new or free row to a person: the tracker has what is alike in part; False if it is neither."""
        ledger = self.tx.ledger(self.kind)
        attempt = ledger.claim(claim, lease)
        if attempt is None:
            return False
        happened = LedgerEvent.ALIKE_AFTER_RESTORE
        ledger.hold(claim.key, attempt, Reason.ALIKE_AFTER_RESTORE(), candidates, happened)
        what = What.PERHAPS_CREATED_BEFORE(kind=self.kind, candidates=sorted(candidates))
        self.tell(what, ticket_id=claim.ticket_id, task_id=self._task_id(claim.key))
        return True

    def let_wait(self, key: int, event_ids: Collection[int], reason: Notice) -> bool:
        """End events as on hold whose row waits for a person; if it does no more, they stay pending: False."""
        row = self.tx.ledger(self.kind).lock(key)
        waits = row is not None and row.state in FOR_A_PERSON
        if waits:
            self.tx.journal.end(event_ids, EventState.ON_HOLD, reason)
        return waits

    def release(self, key: int, tracker_id: int) -> None:
        """Take a tracker id from another row that has it, for the row whose own answer named it."""
        sibling = self.tx.ledger(self.kind).take_from_sibling(key, tracker_id)
        if sibling is None:
            return
        self.to_notify.add(sibling.ticket_id)
        self._note(sibling, What.OWNER_ANSWERED(kind=self.kind, key=key, tracker_id=tracker_id))
        happened = LedgerEvent.ADOPTION_TAKEN if sibling.adopted else LedgerEvent.ID_GIVEN_AWAY
        replace(self, kind=sibling.kind)._in_journal(happened, sibling, Reason.ADOPTED_ANOTHERS())
        if self.kind is Kind.TICKET:
            self._hold_on_issue(
                sibling.ticket_id, tracker_id, Reason.ISSUE_IS_ANOTHERS(issue_id=tracker_id, ticket_id=key)
            )

    def gone(self, ticket_id: int, issue_id: int) -> Notice:
        """Mark a ticket's issue as deleted on the tracker, for a person to decide on; return the reason."""
        reason = Reason.ISSUE_GONE(issue_id=issue_id)
        self.tx.issues.gone(ticket_id, issue_id, reason)
        self.tell(What.ISSUE_WENT_AWAY(issue_id=issue_id), ticket_id=ticket_id, task_id=None, warning=True)
        return reason

    def adopt_by_person(self, row: LedgerRow, tracker_id: int, tracker_project_id: int | None = None) -> None:
        """Link a row on hold, or gone, to what a person named, in the project if it was seen."""
        ticket_id, before = row.ticket_id, row.tracker_id
        adopt = Verdict.ADOPT(kind=self.kind, tracker_id=tracker_id)
        self._decide(row, adopt, tracker_id, tracker_project_id)
        if self.kind is Kind.TICKET:
            if before is not None and before != tracker_id:
                given_up = Reason.ISSUE_GIVEN_UP(issue_id=before, adopted_id=tracker_id)
                for held in self._hold_on_issue(ticket_id, before, given_up):
                    what = What.TIME_FOR_PERSON(because=given_up)
                    if held.kind.is_addition:
                        what = What.NOTE_FOR_PERSON(kind=held.kind, because=given_up)
                    self._note(held, what)
            self.tx.statuses.owe({ticket_id: None}, self.tx.configs.status_map())

    def take_back(self, row: LedgerRow, tracker_id: int) -> bool:
        """Hold a row again that a person had linked to the wrong object; False if it is not linked to that."""
        reason = Reason.ADOPTION_TAKEN_BACK(tracker_id=tracker_id)
        taken_back = self.tx.ledger(self.kind).take_back(row.key, tracker_id, reason)
        if taken_back:
            self._note(row, What.ADOPTION_TAKEN_BACK(kind=self.kind, tracker_id=tracker_id))
            self.to_notify.add(row.ticket_id)
        return taken_back

    def create_again(self, row: LedgerRow) -> bool:
        """Free a row on hold, or gone, on a person's decision, to be created again; False if no event asks for it."""
        ticket_id, before, was_gone = row.ticket_id, row.tracker_id, row.state == LedgerState.GONE
        asked = self._decide(row, Verdict.CREATE_AGAIN(kind=self.kind), None)
        if self.kind is Kind.TICKET and was_gone and before is not None:
            self._send_again(ticket_id, before)
        return asked or self.kind is Kind.TICKET or self.tx.journal.has_pending(ticket_id)

    def _decide(
        self, row: LedgerRow, verdict: Notice, tracker_id: int | None, tracker_project_id: int | None = None
    ) -> bool:
        """Note the verdict; tell whether an event is pending again that asks for a row that is free now."""
        before, decided = row.notice, Reason.PERSON_DECIDED(verdict=verdict)
        self.tx.ledger(self.kind).resolve(row.key, tracker_id, decided, tracker_project_id)
        happened = LedgerEvent.PERSON_CREATES_AGAIN if tracker_id is None else LedgerEvent.PERSON_ADOPTS
        asked = self._in_journal(happened, row, decided)
        told = What.PERSON_DECIDES(
            kind=self.kind, key=row.key, verdict=verdict, before=before or Reason.CAUSE_NOT_KNOWN()
        )
        self._note(row, told)
        self.to_notify.add(row.ticket_id)
        return asked

    def _in_journal(self, event: LedgerEvent, row: LedgerRow, reason: Notice, breaker: float = 0) -> bool:
        """Do to the ticket's events what the table says; tell whether an event that asks for the row is pending again.

        Args:
            event: what happened to the row.
            row: the row, as it was.
            reason: why events are pending again.
            breaker: seconds until what waits for it is due.
        """
        journal, key, asked = self.tx.journal, self._key(row.key), False
        for change in TRANSITIONS[event].journal:
            if change is InJournal.REOPEN_ON_HOLD:
                self.to_notify.update(journal.reopen_on_hold(row.ticket_id, reason, key))
            elif change is InJournal.REOPEN_CAUSE:
                asked = self._ask_again(row, reason)
            elif change is InJournal.REOPEN_CAUSE_ALWAYS:
                asked = self._ask_again(row, reason, tuple(EventState))
            elif change is InJournal.MAKE_DUE:
                journal.hurry(row.ticket_id, key)
            else:
                journal.put_off(row.ticket_id, breaker, key=key)
        return asked

    def _owe(self, ticket_id: int, tracker_status_id: int | None) -> None:
        if self.kind is Kind.TICKET:
            self.tx.statuses.owe({ticket_id: tracker_status_id}, self.tx.configs.status_map())

    def _narrow(self, tracker_id: int) -> None:
        """Let what was on hold because it might have been this object go on."""
        ledger, reason = self.tx.ledger(self.kind), Reason.ALIKE_ARE_OTHERS()
        for row in ledger.waiting_for_a_person():
            if row.state != LedgerState.ON_HOLD or not row.has_code(Reason.ALIKE_AFTER_RESTORE):
                continue
            left = [one for one in row.candidates or () if one != tracker_id]
            if len(left) < len(row.candidates or ()):
                ledger.narrow(row.key, row.attempt, left, reason)
                happened = LedgerEvent.CANDIDATE_LOST if left else LedgerEvent.LAST_CANDIDATE_LOST
                self._in_journal(happened, row, reason)
                if not left:
                    self.to_notify.add(row.ticket_id)

    def _hold_on_issue(self, ticket_id: int, issue_id: int, reason: Notice) -> list[LedgerRow]:
        """Put on hold what a ticket has on an issue that is not its own any more; return the rows."""
        held = list[LedgerRow]()
        for ledger in (self.tx.ledger(kind) for kind in ON_ISSUE):
            rows = ledger.of_issue(ticket_id, issue_id, LedgerState.LINKED, LedgerState.ON_HOLD)
            for row in rows:
                own = [row.tracker_id] if row.tracker_id else row.candidates or []
                ledger.hold(row.key, None, reason, own)
            held += rows
        return held

    def _send_again(self, ticket_id: int, issue_id: int) -> None:
        """The tracker deletes what is on an issue with it: that is to be sent to the new issue."""
        for kind in ON_ISSUE:
            of_kind, ledger = replace(self, kind=kind), self.tx.ledger(kind)
            for row in ledger.of_issue(ticket_id, issue_id, LedgerState.LINKED):
                reason = _went_with_issue(row, issue_id)
                if row.tracker_id is not None and ledger.forget(row.key, row.tracker_id, reason):
                    asked = of_kind._in_journal(LedgerEvent.WENT_WITH_ISSUE, row, reason)
                    self._note(row, _again(row, reason, asked=asked))

    def _attribute(self, row: LedgerRow, found: Found) -> None:
        """Note that what was found has another author than was meant; of an addition only the history tells."""
        event = asked_by(self.tx, row)
        if event is None or self.kind not in ATTRIBUTED:
            return
        user = event.task.user if self.kind is Kind.TICKET_TASK and event.task else event.ticket.technician
        match = self.tx.people.match(user, administrators=self.config.match_administrators)
        named = (row.body or {}).get(self.kind.wire_name, {}).get("user_id")
        meant = match.person.tracker_user_id if match.person else None
        if found.author_id in (None, named, meant):
            return
        if match.person:
            wrong = Misattribution.FOUND_AS_ANOTHERS(login=match.person.login)
        elif user:
            wrong = Misattribution.NOT_MATCHED(match=match.why)
        else:
            wrong = Misattribution.NOBODY_NAMED()
        self.tx.misattributed.put(self.kind, row.key, row.ticket_id, found.tracker_id, wrong)

    def _ask_again(self, row: LedgerRow, reason: Notice, ended: Collection[EventState] = ENDED_WELL) -> bool:
        """Make the newest event pending again that asks for what a row stood for; False if none is left.

        What claimed the row may have been superseded since.

        Args:
            row: a row that is free, or may become so.
            reason: why.
            ended: only where it ended so.
        """
        asked_by = self.tx.journal.get(row.event_id) if row.event_id is not None else None
        key = self._key(row.key) or (asked_by and asked_by.key)
        for one in self.tx.journal.of_key(key) if key else ():
            event = snapshot_of(one)
            if event is not None and not closed(event, self.config):
                self.to_notify.update({one.ticket_id} - {row.ticket_id})
                return one.state in ended and bool(self.tx.journal.reopen(JournalEvent.id == one.id, reason))
        return False

    def _note(self, row: LedgerRow, what: Notice) -> None:
        task_id = row.task_id if isinstance(row, TaskTimeLink) else None
        self.tell(what, ticket_id=row.ticket_id, task_id=task_id)

    def _key(self, key: int) -> str | None:
        """Return the key of the events that ask for a row; None: those of several keys may ask for an issue."""
        return f"{self.kind}:{key}" if self.kind.is_on_issue else None

    def _task_id(self, key: int) -> int | None:
        return key if self.kind is Kind.TICKET_TASK else None


def _went_with_issue(row: LedgerRow, issue_id: int) -> Notice:
    if row.kind.is_addition:
        return Reason.NOTE_WENT_WITH_ISSUE(kind=row.kind, note_id=row.tracker_id, issue_id=issue_id)
    return Reason.WENT_WITH_ISSUE(time_entry_id=row.tracker_id, issue_id=issue_id)


def _again(row: LedgerRow, because: Notice, *, asked: bool) -> Notice:
    if row.kind.is_addition:
        what = What.NOTE_AGAIN if asked else What.NOTE_NOT_AGAIN
        return what(kind=row.kind, because=because)
    return (What.TIME_AGAIN if asked else What.TIME_AGAIN_LATER)(because=because)
