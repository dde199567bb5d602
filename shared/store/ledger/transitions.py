"""The ledger's transition table: in which states an event is accepted, and what it does.

From it, `Ledger` reads the states that each statement requires and the state that it writes; the same statement
checks the guards. `Decisions` reads from it what happens to the ticket's events. It also determines what a person may
decide. An event that a row's state does not accept changes nothing.

A person's decision increments the row's attempt, so that the answer to an earlier attempt counts as late.

The event that requires a row is the newest of its key that passes the filters, no matter which event the row was
claimed for. A transition without `journal` entries changes no events itself: the ticket sync ends its own events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.notices.steps import What
from shared.store.tables.ledger import LedgerState

FREE, CLAIMED, IN_DOUBT = LedgerState.FREE, LedgerState.CLAIMED, LedgerState.IN_DOUBT
LINKED, ON_HOLD, GONE = LedgerState.LINKED, LedgerState.ON_HOLD, LedgerState.GONE
NO_ROW = None
IN_FLIGHT = (CLAIMED, IN_DOUBT)
"""States in which a request may have been sent and its outcome is not recorded yet."""
FOR_A_PERSON = (ON_HOLD, GONE)
"""States in which a person must decide."""
ANY = (FREE, CLAIMED, IN_DOUBT, LINKED, ON_HOLD, GONE)
NEW_OR_FREE = (NO_ROW, FREE)


class LedgerEvent(StrEnum):
    """An event that may change a row's state."""

    CLAIM = "claim"
    ANSWER_IN_TIME = "answer in time"
    ANSWER = "answer"
    ANSWER_WHILE_ON_HOLD = "answer while on hold"
    LATE_ANSWER = "late answer"
    NOT_CREATED = "not created"
    NO_CLEAR_ANSWER = "no clear answer"
    LEASE_OVER = "lease over"
    ON_HOLD_BY_POLICY = "on hold by policy"
    FOUND = "found"
    ABSENT = "absent"
    UNDECIDABLE = "undecidable"
    FOUND_AFTER_RESTORE = "found after a restore"
    ALIKE_AFTER_RESTORE = "alike after a restore"
    CANDIDATE_LOST = "candidate lost"
    LAST_CANDIDATE_LOST = "last candidate lost"
    ADOPTION_TAKEN = "adoption taken"
    ID_GIVEN_AWAY = "id given away"
    DELETED = "deleted"
    WENT_WITH_ISSUE = "went with its issue"
    ISSUE_LOST = "issue lost"
    HELPDESK_ID_REUSED = "help desk id reused"
    PERSON_ADOPTS = "a person adopts"
    PERSON_CREATES_AGAIN = "a person has it created again"
    PERSON_TAKES_BACK = "a person takes an adoption back"
    PERSON_FORGETS = "a person has the link forgotten"
    TAKEN_OVER = "taken over"


class Guard(StrEnum):
    """A condition of a transition besides the state."""

    AS_READ = "the row's attempt is as it was read, if the claim names it"
    NEWEST = (
        "no newer event of its key and no newer deletion of its ticket is pending, if the claim asks for that"
    )
    CURRENT = "the settings that it was built from stand, if the claim names them"
    NOT_RESTORED = "no backup was restored, if the claim asks for that"
    THIS_ATTEMPT = "the attempt is the row's"
    THIS_OBJECT = "the row has this tracker id"
    LEASE_RUNS = "its lease runs"
    LEASE_IS_OVER = "its lease and the settling time are over"
    NOT_TAKEN = "no other row has the tracker id"
    NOT_TWICE = "it is no possible duplicate"
    ADOPTED = "it had adopted the object"
    CREATED = "it had created the object"


class InJournal(StrEnum):
    """An effect on the events of the row's ticket or ticket task."""

    REOPEN_ON_HOLD = "events on hold are pending again"
    REOPEN_CAUSE = "what asks for it is pending again, if it ended as done or superseded"
    REOPEN_CAUSE_ALWAYS = "what asks for it is pending again, however it ended"
    MAKE_DUE = "waiting events are due now"
    DELAY = "what waits for it is due after a pause"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table.

    Attributes:
        event: the event.
        sources: the states in which it is accepted; `NO_ROW` means that there is no row yet.
        target: the state afterwards.
        guards: further conditions, all of which must hold.
        reason: why it leads to the target.
        journal: effects on journal events, in this order and in the same transaction.
        notices: the notices of which the ticket history may record one.
    """

    event: LedgerEvent
    sources: tuple[LedgerState | None, ...]
    target: LedgerState
    guards: tuple[Guard, ...]
    reason: str
    journal: tuple[InJournal, ...] = ()
    notices: tuple[What, ...] = ()


CREATED = (What.ISSUE_CREATED, What.HOURS_LOGGED, What.NOTE_ADDED, What.DOCUMENT_ADDED)
NO_GUARD = ()
OF_ATTEMPT, OF_OBJECT = (Guard.THIS_ATTEMPT,), (Guard.THIS_OBJECT,)
ROWS = (
    Transition(
        LedgerEvent.CLAIM, NEW_OR_FREE, CLAIMED,
        (Guard.AS_READ, Guard.NEWEST, Guard.CURRENT, Guard.NOT_RESTORED),
        "The attempt is numbered and stored before anything is sent, so that only one worker sends.",
    ),
    Transition(
        LedgerEvent.ANSWER_IN_TIME, (CLAIMED,), LINKED,
        (*OF_ATTEMPT, Guard.LEASE_RUNS, Guard.NOT_TAKEN, Guard.NOT_TWICE),
        "The tracker returned the id of the new object, and no other worker has changed the row.",
        notices=CREATED,
    ),
    Transition(
        LedgerEvent.ANSWER, (FREE, CLAIMED, IN_DOUBT, LINKED, GONE), LINKED,
        (*OF_ATTEMPT, Guard.NOT_TWICE),
        "A clear answer to the row's own attempt is true, whatever was concluded before it came.",
        notices=CREATED,
    ),
    Transition(
        LedgerEvent.ANSWER_WHILE_ON_HOLD, (ON_HOLD,), LINKED,
        (*OF_ATTEMPT, Guard.NOT_TWICE),
        "The answer decides in place of a person.",
        (InJournal.REOPEN_ON_HOLD,), CREATED,
    ),
    Transition(
        LedgerEvent.LATE_ANSWER, ANY, ON_HOLD, NO_GUARD,
        "An older attempt, or this row again, created a second object, so that a person decides which one counts.",
        notices=(What.LATE_AND_TWICE,),
    ),
    Transition(
        LedgerEvent.NOT_CREATED, IN_FLIGHT, FREE, OF_ATTEMPT,
        "The request was refused or never sent, so that nothing was created.",
    ),
    Transition(
        LedgerEvent.NO_CLEAR_ANSWER, (CLAIMED,), IN_DOUBT, OF_ATTEMPT,
        "The request was sent, and may have been carried out.",
        notices=(What.DOUBT_BEGAN,),
    ),
    Transition(
        LedgerEvent.LEASE_OVER, (CLAIMED,), IN_DOUBT,
        (*OF_ATTEMPT, Guard.LEASE_IS_OVER),
        "Its worker has ended or hangs, and may have sent the request.",
    ),
    Transition(
        LedgerEvent.ON_HOLD_BY_POLICY, IN_FLIGHT, ON_HOLD, OF_ATTEMPT,
        "There was no clear answer, and `in_doubt_policy` leaves the decision to a person.",
        notices=(What.DOUBT_HELD,),
    ),
    Transition(
        LedgerEvent.FOUND, (IN_DOUBT,), LINKED, OF_ATTEMPT,
        "The search in the tracker found the object.",
        (InJournal.MAKE_DUE,), (What.CREATION_FOUND,),
    ),
    Transition(
        LedgerEvent.ABSENT, (IN_DOUBT,), FREE, OF_ATTEMPT,
        "The search in the tracker found nothing, so that the object may be created, even if its event ended as done.",
        (InJournal.REOPEN_CAUSE, InJournal.MAKE_DUE, InJournal.DELAY), (What.CREATION_ABSENT,),
    ),
    Transition(
        LedgerEvent.UNDECIDABLE, (IN_DOUBT,), ON_HOLD, OF_ATTEMPT,
        "The search in the tracker gave no clear result, or `in_doubt_policy` leaves the decision to a person.",
        (InJournal.MAKE_DUE,), (What.FOR_PERSON_TO_SAY,),
    ),
    Transition(
        LedgerEvent.FOUND_AFTER_RESTORE, (IN_DOUBT,), LINKED, OF_ATTEMPT,
        "The search found the object, which was created before the backup was restored.",
        notices=(What.CREATED_BEFORE,),
    ),
    Transition(
        LedgerEvent.ALIKE_AFTER_RESTORE, IN_FLIGHT, ON_HOLD, OF_ATTEMPT,
        "The search found a similar object, which may have been created before the backup was restored.",
        notices=(What.PERHAPS_CREATED_BEFORE,),
    ),
    Transition(
        LedgerEvent.CANDIDATE_LOST, (ON_HOLD,), ON_HOLD, OF_ATTEMPT,
        "A candidate belongs to another row, and others are left.",
    ),
    Transition(
        LedgerEvent.LAST_CANDIDATE_LOST, (ON_HOLD,), FREE, OF_ATTEMPT,
        "All candidates belong to other rows, so that the object was not created.",
        (InJournal.REOPEN_ON_HOLD, InJournal.REOPEN_CAUSE),
    ),
    Transition(
        LedgerEvent.ADOPTION_TAKEN, (FREE, CLAIMED, IN_DOUBT, LINKED, ON_HOLD), IN_DOUBT,
        (*OF_OBJECT, Guard.ADOPTED),
        "The answer to another row's attempt names the adopted object, so that this row's own must be searched again.",
        (InJournal.REOPEN_CAUSE,), (What.OWNER_ANSWERED,),
    ),
    Transition(
        LedgerEvent.ID_GIVEN_AWAY, (FREE, CLAIMED, IN_DOUBT, LINKED, ON_HOLD), GONE,
        (*OF_OBJECT, Guard.CREATED),
        "The tracker gave the id to a new object, so that this row's object no longer exists.",
        notices=(What.OWNER_ANSWERED,),
    ),
    Transition(
        LedgerEvent.DELETED, ANY, GONE, OF_OBJECT,
        "The issue no longer exists in the tracker, or its number belongs to another issue.",
        notices=(What.ISSUE_WENT_AWAY, What.ISSUE_REPLACED),
    ),
    Transition(
        LedgerEvent.WENT_WITH_ISSUE, ANY, FREE, OF_OBJECT,
        "The tracker deleted the object together with its issue, which is created again.",
        (InJournal.REOPEN_CAUSE_ALWAYS,),
        (What.TIME_AGAIN, What.TIME_AGAIN_LATER, What.NOTE_AGAIN, What.NOTE_NOT_AGAIN),
    ),
    Transition(
        LedgerEvent.ISSUE_LOST, ANY, ON_HOLD, NO_GUARD,
        "The object is on an issue that no longer belongs to the ticket.",
        notices=(What.TIME_FOR_PERSON, What.NOTE_FOR_PERSON),
    ),
    Transition(
        LedgerEvent.HELPDESK_ID_REUSED, (LINKED,), ON_HOLD, OF_OBJECT,
        "The help desk gave the id to another item, as after a restore, so that a person decides.",
        notices=(What.NOTE_FOR_PERSON,),
    ),
    Transition(
        LedgerEvent.PERSON_ADOPTS, FOR_A_PERSON, LINKED, NO_GUARD,
        "A person named the object.",
        (InJournal.REOPEN_ON_HOLD,), (What.PERSON_DECIDES,),
    ),
    Transition(
        LedgerEvent.PERSON_CREATES_AGAIN, FOR_A_PERSON, FREE, NO_GUARD,
        "A person decided that there is no such object, or that it must be replaced.",
        (InJournal.REOPEN_ON_HOLD, InJournal.REOPEN_CAUSE_ALWAYS), (What.PERSON_DECIDES,),
    ),
    Transition(
        LedgerEvent.PERSON_TAKES_BACK, (LINKED,), ON_HOLD, (*OF_OBJECT, Guard.ADOPTED),
        "A person had named the wrong object, and nothing was sent to it yet.",
        notices=(What.ADOPTION_TAKEN_BACK,),
    ),
    Transition(
        LedgerEvent.PERSON_FORGETS, (LINKED,), FREE, OF_OBJECT,
        "A person removed the link (`deskbridge ticket forget`). The object stays; the next event creates another one.",
        notices=(What.LINK_FORGOTTEN,),
    ),
    Transition(
        LedgerEvent.TAKEN_OVER, NEW_OR_FREE, LINKED, NO_GUARD,
        "Another installation created the object (`deskbridge mapping import`).",
    ),
)  # fmt: skip
TRANSITIONS: Mapping[LedgerEvent, Transition] = {row.event: row for row in ROWS}


class LedgerNote(StrEnum):
    """A fact recorded on a row without a change of state."""

    ANOTHER_ROUND = "another round"
    REPEATED = "repeated"
    MOVED = "moved"
    BELONGS_TO = "belongs to"


NOTES: Mapping[LedgerNote, tuple[LedgerState, ...]] = {
    LedgerNote.ANOTHER_ROUND: (IN_DOUBT,),
    LedgerNote.REPEATED: (CLAIMED,),
    LedgerNote.MOVED: ANY,
    LedgerNote.BELONGS_TO: ANY,
}
"""The states in which each note is accepted."""


def next_state(event: LedgerEvent, state: LedgerState | None) -> LedgerState | None:
    """Return the state after an event whose guards hold, or None if the event is not accepted.

    Args:
        event: the event.
        state: the row's state; None if there is no row.
    """
    row = TRANSITIONS[event]
    return row.target if state in row.sources else None
