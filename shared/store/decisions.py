"""Decisions on creations: their effects on ledger row, journal, status and ticket history, applied only here.

The effects of a decision on the row and the ticket's events are listed in `shared.store.ledger.transitions`. Besides:

- `link` takes the tracker id away from another row that holds it (`release`). If it is an issue's, the other ticket's
  objects on it are put on hold. `Ledger.link_claimed` links claimed rows directly, if no other row holds the id.
- `adopt`, `adopt_after_restore`: an issue's status becomes due, unless the issue already has it. After a restore, rows
  on hold that had this object as a candidate lose it.
- `adopt_by_person`: an issue's status becomes due; objects on the issue that the row had before are put on hold.
- `create_again`: the tracker deletes an issue's time entries, notes and attachments with it. Time entries of a deleted
  issue are logged again, from their events or when the help desk sends the tasks again; notes and attachments are sent
  again from their events.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from shared.events.authors import author_of, is_requesters
from shared.events.config import PluginConfig
from shared.events.event import Event
from shared.events.filter import why_nothing_is_sent
from shared.events.payloads import not_taken
from shared.notices.authors import Misattribution
from shared.notices.kinds import ON_ISSUE, Kind
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
from shared.values.identity import Identity, moment_of
from shared.values.ids import id_in

ENDED_WELL = (EventState.DONE, EventState.SUPERSEDED)


class Tell(Protocol):
    """Records a step of a ticket's history."""

    def __call__(
        self, what: Notice, *, ticket_id: int | None, task_id: int | None, warning: bool = False
    ) -> None:
        """Record the step; it is committed with the transaction."""


def into_trace(tx: Transaction) -> Tell:
    """Return a function that appends steps within a transaction."""

    def tell(what: Notice, *, ticket_id: int | None, task_id: int | None, warning: bool = False) -> None:  # noqa: ARG001
        tx.trace.append([Step(ticket_id or 0, what, task_id)])

    return tell


def asked_by(tx: Transaction, row: LedgerRow) -> Event | None:
    """Return the event that a row was claimed for, or None if it is past its retention or unreadable."""
    found = tx.journal.get(row.event_id) if row.event_id is not None else None
    return snapshot_of(found) if found else None


class Found(Protocol):
    """An object that a lookup found on the tracker."""

    @property
    def tracker_id(self) -> int:
        """The object's id."""

    @property
    def author_id(self) -> int | None:
        """The author's id, if the tracker names one."""

    @property
    def status_id(self) -> int | None:
        """The status of an issue."""

    @property
    def listed(self) -> Mapping[str, Any]:
        """The object in the tracker's list; empty if unknown."""


@dataclass(frozen=True)
class Decisions:
    """Carries out decisions within one transaction.

    Attributes:
        tx: the transaction.
        kind: what the rows create.
        tell: records steps of the ticket history.
        config: the Redmine settings.
        to_notify: tickets that can continue, and must be notified after the commit.
    """

    tx: Transaction
    kind: Kind
    tell: Tell
    config: PluginConfig
    to_notify: set[int] = field(default_factory=set)

    def link(
        self,
        row: LedgerRow,
        attempt: int,
        tracker_id: int,
        author_id: int | None,
        reason: Notice,
        created_on: datetime | None = None,
    ) -> None:
        """Link a row to the object that the tracker's own answer to its attempt names."""
        happened = (
            LedgerEvent.ANSWER_WHILE_ON_HOLD if row.state == LedgerState.ON_HOLD else LedgerEvent.ANSWER
        )
        self.release(row.key, tracker_id)
        self.tx.ledger(self.kind).link(row.key, attempt, tracker_id, author_id, reason, created_on)
        self._in_journal(happened, row, Reason.ANSWERED_AFTER_ALL())

    def late(self, key: int, ticket_id: int, tracker_id: int) -> None:
        """Put a row on hold, because a superseded attempt created an object after all."""
        self.tx.ledger(self.kind).late_answer(key, tracker_id)
        what = What.LATE_AND_TWICE(kind=self.kind, tracker_id=tracker_id)
        self.tell(what, ticket_id=ticket_id, task_id=self._task_id(key), warning=True)

    def adopt(self, row: LedgerRow, found: Found) -> None:
        """Link a row in doubt to the object that a lookup found; a row that is no longer in doubt stays unchanged.

        Raises:
            IntegrityError: if another row holds the object.
        """
        reason = Reason.FOUND_ON_TRACKER(tracker_id=found.tracker_id)
        ledger, made = self.tx.ledger(self.kind), (found.tracker_id, found.author_id)
        created_on = moment_of(found.listed.get("created_on"))
        self._release_reused(row.key, found.tracker_id, found.listed)
        if ledger.adopt(row.key, row.attempt, *made, reason, created_on=created_on):
            self._note(row, What.CREATION_FOUND(kind=self.kind, tracker_id=found.tracker_id))
            self._attribute(row, found)
            self._owe(row.ticket_id, found.status_id)
            if self.kind is Kind.TICKET and row.body and (fields := not_taken(row.body, found.listed)):
                self.tx.statuses.owe_fields(row.ticket_id, fields)
            self._in_journal(LedgerEvent.FOUND, row, reason)

    def adopt_after_restore(self, claim: Claim, lease: float, found: Found) -> bool:
        """Link a row to an object created before a backup was restored; return False if it cannot be claimed.

        Raises:
            IntegrityError: if another row holds the object.
        """
        ledger = self.tx.ledger(self.kind)
        attempt = ledger.claim(claim, lease)
        if attempt is None:
            return False
        happened = LedgerEvent.FOUND_AFTER_RESTORE
        reason = Reason.FOUND_AFTER_RESTORE(tracker_id=found.tracker_id)
        ledger.doubt(claim.key, attempt, 0, Reason.ASKED_AFTER_RESTORE())
        created_on = moment_of(found.listed.get("created_on"))
        self._release_reused(claim.key, found.tracker_id, found.listed)
        ledger.adopt(claim.key, attempt, found.tracker_id, found.author_id, reason, happened, created_on)
        self._owe(claim.ticket_id, found.status_id)
        self._narrow(found.tracker_id)
        what = What.CREATED_BEFORE(kind=self.kind, tracker_id=found.tracker_id)
        self.tell(what, ticket_id=claim.ticket_id, task_id=self._task_id(claim.key))
        return True

    def free(self, row: LedgerRow, delay_s: float) -> None:
        """Free a row in doubt whose object the tracker lacks; it is created again after `delay_s` seconds."""
        absent, ledger = LedgerEvent.ABSENT, self.tx.ledger(self.kind)
        if ledger.free(row.key, row.attempt, Reason.ABSENT_ON_TRACKER(because=row.notice), absent):
            self._note(row, What.CREATION_ABSENT(kind=self.kind))
            self._in_journal(absent, row, Reason.WAS_NOT_ITS_OWN(), delay_s)

    def hold(self, row: LedgerRow, because: Notice, candidates: Collection[int] = ()) -> None:
        """Put a row in doubt on hold for a person's decision."""
        reason = Reason.STAYS_UNDECIDED(before=row.notice, because=because)
        if self.tx.ledger(self.kind).hold(row.key, row.attempt, reason, candidates):
            self._note(row, What.FOR_PERSON_TO_SAY(kind=self.kind, because=because))
            self._in_journal(LedgerEvent.UNDECIDABLE, row, reason)
            self.to_notify.add(row.ticket_id)

    def hold_after_restore(self, claim: Claim, lease: float, candidates: Collection[int]) -> bool:
        """Put a row on hold because the tracker has similar objects; return False if it cannot be claimed."""
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
        """Put events on hold if their row waits for a person; otherwise leave them pending and return False."""
        row = self.tx.ledger(self.kind).lock(key)
        waits = row is not None and row.state in FOR_A_PERSON
        if waits:
            self.tx.journal.end(event_ids, EventState.ON_HOLD, reason)
        return waits

    def release(self, key: int, tracker_id: int) -> None:
        """Take a tracker id away from another row that holds it, because the answer to this row's attempt named it."""
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

    def _release_reused(self, key: int, tracker_id: int, listed: Mapping[str, Any]) -> None:
        """Take a tracker id away from another row if the tracker has given it to a new object since."""
        if not self.tx.ledger(self.kind).holders([{**listed, "id": tracker_id}]):
            self.release(key, tracker_id)

    def gone(self, ticket_id: int, issue_id: int, instead: Mapping[str, Any] | None = None) -> Notice:
        """Mark a ticket's issue as deleted on the tracker, so that a person decides; return the reason.

        Args:
            ticket_id: the ticket.
            issue_id: the issue.
            instead: the issue that has its number now, as the tracker lists it.
        """
        reason, what = Reason.ISSUE_GONE(issue_id=issue_id), What.ISSUE_WENT_AWAY(issue_id=issue_id)
        if instead is not None:
            author, created_on = instead.get("author"), instead.get("created_on")
            name = author.get("name") if isinstance(author, dict) else None
            is_there: dict[str, object] = {"issue_id": issue_id, "author": name, "created_on": created_on}
            reason, what = Reason.ISSUE_NUMBER_REUSED(**is_there), What.ISSUE_REPLACED(**is_there)
        self.tx.issues.gone(ticket_id, issue_id, reason)
        self.tell(what, ticket_id=ticket_id, task_id=None, warning=True)
        return reason

    def reused(self, row: LedgerRow, created: datetime) -> Notice:
        """Put a linked row on hold, because the help desk created an item with its key at another time.

        Args:
            row: the row, whose own time is known.
            created: when the help desk created the item that has the key now.

        Returns:
            The reason.
        """
        times = {"created_at": str(created), "before": str(row.item_created_at)}
        tracker_id = row.tracker_id or 0
        reason = Reason.HELPDESK_ID_REUSED(kind=self.kind, key=row.key, tracker_id=tracker_id, **times)
        if self.tx.ledger(self.kind).reused(row.key, tracker_id, created, reason):
            self._note(row, What.NOTE_FOR_PERSON(kind=self.kind, because=reason))
        return reason

    def adopt_by_person(
        self, row: LedgerRow, tracker_id: int, listed: Mapping[str, Any] | None = None
    ) -> None:
        """Link a row that is on hold or gone to the object that a person named, as the tracker lists it, if known."""
        ticket_id, before = row.ticket_id, row.tracker_id
        self._release_reused(row.key, tracker_id, listed or {})
        adopt = Verdict.ADOPT(kind=self.kind, tracker_id=tracker_id)
        self._decide(row, adopt, tracker_id, listed or {})
        if self.kind is Kind.TICKET:
            if before is not None and before != tracker_id:
                given_up = Reason.ISSUE_GIVEN_UP(issue_id=before, adopted_id=tracker_id)
                for held in self._hold_on_issue(ticket_id, before, given_up):
                    what = What.TIME_FOR_PERSON(because=given_up)
                    if held.kind.is_addition:
                        what = What.NOTE_FOR_PERSON(kind=held.kind, because=given_up)
                    self._note(held, what)
            self.tx.statuses.mark_due({ticket_id: None}, self.tx.configs.status_map())

    def take_back(self, row: LedgerRow, tracker_id: int) -> bool:
        """Put a row back on hold that a person linked to the wrong object; return False if it is not linked to it."""
        reason = Reason.ADOPTION_TAKEN_BACK(tracker_id=tracker_id)
        taken_back = self.tx.ledger(self.kind).take_back(row.key, tracker_id, reason)
        if taken_back:
            self._note(row, What.ADOPTION_TAKEN_BACK(kind=self.kind, tracker_id=tracker_id))
            self.to_notify.add(row.ticket_id)
        return taken_back

    def create_again(self, row: LedgerRow) -> bool:
        """Free a row that is on hold or gone for another creation; return False if no event requires the object."""
        ticket_id, before, was_gone = row.ticket_id, row.tracker_id, row.state == LedgerState.GONE
        asked = self._decide(row, Verdict.CREATE_AGAIN(kind=self.kind), None, {})
        if self.kind is Kind.TICKET and was_gone and before is not None:
            self._send_again(ticket_id, before)
        return asked or self.kind is Kind.TICKET or self.tx.journal.has_pending(ticket_id)

    def _decide(
        self, row: LedgerRow, verdict: Notice, tracker_id: int | None, listed: Mapping[str, Any]
    ) -> bool:
        """Apply a person's decision; return whether an event that requires the freed row is pending again."""
        before, decided = row.notice, Reason.PERSON_DECIDED(verdict=verdict)
        project_id = id_in(listed.get("project")) if self.kind is Kind.TICKET else None
        identity = Identity.of(self.kind, listed)
        self.tx.ledger(self.kind).resolve(row.key, tracker_id, decided, project_id, identity)
        happened = LedgerEvent.PERSON_CREATES_AGAIN if tracker_id is None else LedgerEvent.PERSON_ADOPTS
        asked = self._in_journal(happened, row, decided)
        told = What.PERSON_DECIDES(
            kind=self.kind, key=row.key, verdict=verdict, before=before or Reason.CAUSE_NOT_KNOWN()
        )
        self._note(row, told)
        self.to_notify.add(row.ticket_id)
        return asked

    def _in_journal(self, event: LedgerEvent, row: LedgerRow, reason: Notice, delay_s: float = 0) -> bool:
        """Apply a transition to the ticket's events; return whether one that requires the row is pending again.

        Args:
            event: the transition's event.
            row: the row before the transition.
            reason: why events are pending again.
            delay_s: seconds that the events which require the row wait.
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
                journal.make_due(row.ticket_id, key)
            else:
                journal.reschedule(row.ticket_id, delay_s, key=key)
        return asked

    def _owe(self, ticket_id: int, tracker_status_id: int | None) -> None:
        if self.kind is Kind.TICKET:
            self.tx.statuses.mark_due({ticket_id: tracker_status_id}, self.tx.configs.status_map())

    def _narrow(self, tracker_id: int) -> None:
        """Remove an object from the candidates of rows put on hold after a restore; free rows without candidates."""
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
        """Put on hold the rows of what a ticket has on an issue that is no longer its own; return the rows."""
        held = list[LedgerRow]()
        for ledger in (self.tx.ledger(kind) for kind in ON_ISSUE):
            rows = ledger.of_issue(ticket_id, issue_id, LedgerState.LINKED, LedgerState.ON_HOLD)
            for row in rows:
                own = [row.tracker_id] if row.tracker_id else row.candidates or []
                ledger.hold(row.key, None, reason, own)
            held += rows
        return held

    def _send_again(self, ticket_id: int, issue_id: int) -> None:
        """Free the rows of objects that the tracker deleted with an issue, so that they are sent to the new issue."""
        for kind in ON_ISSUE:
            of_kind, ledger = replace(self, kind=kind), self.tx.ledger(kind)
            for row in ledger.of_issue(ticket_id, issue_id, LedgerState.LINKED):
                reason = _went_with_issue(row, issue_id)
                if row.tracker_id is not None and ledger.forget(row.key, row.tracker_id, reason):
                    asked = of_kind._in_journal(LedgerEvent.WENT_WITH_ISSUE, row, reason)
                    self._note(row, _again(row, reason, asked=asked))

    def _attribute(self, row: LedgerRow, found: Found) -> None:
        """Record the author of an object that was found, if unintended, for the event that asked for it."""
        event = asked_by(self.tx, row)
        if event is None or is_requesters(event):
            return
        user = author_of(event, self.config) if self.kind.is_on_issue else event.ticket.technician
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
        """Reopen the newest event that requires a row's object; return whether there is one and it was reopened.

        The event that claimed the row may have been superseded since.

        Args:
            row: a row that is free, or may become free.
            reason: why the event is pending again.
            ended: states from which the event may be reopened.
        """
        asked_by = self.tx.journal.get(row.event_id) if row.event_id is not None else None
        key = self._key(row.key) or (asked_by and asked_by.key)
        for one in self.tx.journal.of_key(key) if key else ():
            event = snapshot_of(one)
            if event is not None and not why_nothing_is_sent(event, self.config):
                self.to_notify.update({one.ticket_id} - {row.ticket_id})
                return one.state in ended and bool(self.tx.journal.reopen(JournalEvent.id == one.id, reason))
        return False

    def _note(self, row: LedgerRow, what: Notice) -> None:
        task_id = row.task_id if isinstance(row, TaskTimeLink) else None
        self.tell(what, ticket_id=row.ticket_id, task_id=task_id)

    def _key(self, key: int) -> str | None:
        """Return the key of the events that require a row; None for an issue, which events of several keys require."""
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
