"""The ledger behaves as its table of transitions says, for each event in each state."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Table, update

from shared.events.config import PluginConfig
from shared.notices.kinds import Kind
from shared.notices.notice import Notice, written
from shared.store.decisions import ENDED_WELL, Decisions
from shared.store.journal.journal import Journal
from shared.store.ledger.statements import Answered, Claim
from shared.store.ledger.transitions import (
    CREATED,
    NOTES,
    ROWS,
    TRANSITIONS,
    Guard,
    InJournal,
    LedgerEvent,
    LedgerNote,
    next_state,
)
from shared.store.tables.explained import reason_columns
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import MODELS, LedgerRow, LedgerState
from tests.integration.store.conftest import BODY, PRINT, Book

PAST, FUTURE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
STATES: list[LedgerState | None] = [None, *LedgerState]
WHY = written("why")
OTHER = 900
"""The key of another row."""


@dataclass(frozen=True)
class At:
    """A row, and how an event refers to it.

    Attributes:
        key: its key.
        attempt: the attempt in the event.
        own: the tracker id in the event.
    """

    key: int
    attempt: int
    own: int

    @property
    def new(self) -> int:
        """A tracker id that no row uses."""
        return self.key + 500


Act = Callable[[Book, At], Any]


@dataclass(frozen=True)
class Case:
    """How to apply an event to a row.

    Attributes:
        act: applies it; true if the ledger reports that it changed the row.
        given: further values of the row that make the guards hold.
    """

    act: Act
    given: dict[str, Any] = field(default_factory=dict)


def claim(book: Book, at: At) -> int | None:
    given: int | None = book.claim(asked(book, at, _read_attempt(book, at)), 20)
    return given


def asked(book: Book, at: At, attempt_before: int | None = None) -> Claim:
    return Claim(at.key, ticket_of(book), 3, 7, 11, BODY, [5], PRINT, attempt_before=attempt_before)


def ticket_of(book: Book) -> int:
    return 1 if book.kind is Kind.TICKET else 4711


def _read_attempt(book: Book, at: At) -> int:
    """Return the row's attempt as if read before, or a different one if the event belongs to another attempt."""
    row = book.get(at.key)
    return row.attempt + at.attempt - 1 if row else 0


def take_over(book: Book, at: At) -> bool:
    wanted = {"tracker_project_id": 7, "issue_id": None, "author_id": 5}
    taken: bool = book.take_over(at.key, ticket_of(book), at.new, **wanted)
    return taken


def adopt(event: LedgerEvent) -> Act:
    return lambda book, at: book.adopt(at.key, at.attempt, at.new, 5, WHY, event=event)


def free(event: LedgerEvent) -> Act:
    return lambda book, at: book.free(at.key, at.attempt, WHY, event=event)


def hold(event: LedgerEvent) -> Act:
    return lambda book, at: book.hold(at.key, at.attempt, WHY, [1], event=event)


def narrow(*left: int) -> Act:
    return lambda book, at: book.narrow(at.key, at.attempt, left, WHY)


def take_from_sibling(book: Book, at: At) -> Any:
    return book.take_from_sibling(OTHER, at.own)


E = LedgerEvent
CASES: dict[tuple[LedgerEvent, ...], Case] = {
    (E.CLAIM,): Case(claim),
    (E.ANSWER_IN_TIME,): Case(lambda b, at: b.link_claimed([Answered(at.key, at.attempt, at.new, 5, WHY)])),
    (E.ANSWER, E.ANSWER_WHILE_ON_HOLD): Case(lambda b, at: b.link(at.key, at.attempt, at.new, 5, WHY)),
    (E.LATE_ANSWER,): Case(lambda b, at: b.late_answer(at.key, at.new)),
    (E.NOT_CREATED,): Case(free(E.NOT_CREATED)),
    (E.NO_CLEAR_ANSWER,): Case(lambda b, at: b.doubt(at.key, at.attempt, 15, WHY)),
    (E.LEASE_OVER,): Case(lambda b, at: b.expire(at.key, at.attempt, 15), {"lease_until": PAST}),
    (E.ON_HOLD_BY_POLICY,): Case(hold(E.ON_HOLD_BY_POLICY)),
    (E.FOUND,): Case(adopt(E.FOUND)),
    (E.ABSENT,): Case(free(E.ABSENT)),
    (E.UNDECIDABLE,): Case(hold(E.UNDECIDABLE)),
    (E.FOUND_AFTER_RESTORE,): Case(adopt(E.FOUND_AFTER_RESTORE)),
    (E.ALIKE_AFTER_RESTORE,): Case(hold(E.ALIKE_AFTER_RESTORE)),
    (E.CANDIDATE_LOST,): Case(narrow(2), {"candidates": [1, 2]}),
    (E.LAST_CANDIDATE_LOST,): Case(narrow(), {"candidates": [1]}),
    (E.ADOPTION_TAKEN,): Case(take_from_sibling, {"adopted": True}),
    (E.ID_GIVEN_AWAY,): Case(take_from_sibling, {"adopted": False}),
    (E.DELETED,): Case(lambda b, at: b.gone(at.key, at.own, WHY)),
    (E.WENT_WITH_ISSUE,): Case(lambda b, at: b.forget(at.key, at.own, WHY)),
    (E.ISSUE_LOST,): Case(lambda b, at: b.hold(at.key, None, WHY, [1])),
    (E.HELPDESK_ID_REUSED,): Case(lambda b, at: b.reused(at.key, at.own, PAST, WHY)),
    (E.PERSON_ADOPTS,): Case(lambda b, at: b.resolve(at.key, at.new, WHY)),
    (E.PERSON_CREATES_AGAIN,): Case(lambda b, at: b.resolve(at.key, None, WHY)),
    (E.PERSON_TAKES_BACK,): Case(lambda b, at: b.take_back(at.key, at.own, WHY), {"adopted": True}),
    (E.PERSON_FORGETS,): Case(lambda b, at: b.unlink(at.key, at.own)),
    (E.TAKEN_OVER,): Case(take_over),
}
NOTED: dict[LedgerNote, Act] = {
    LedgerNote.ANOTHER_ROUND: lambda b, at: b.another_round(at.key, at.attempt, FUTURE, WHY),
    LedgerNote.REPEATED: lambda b, at: b.repeat(at.key, at.attempt, {"issue": {}}, fingerprint=PRINT),
    LedgerNote.MOVED: lambda b, at: b.moved(at.key, at.own, 77),
    LedgerNote.BELONGS_TO: lambda b, at: b.belongs_to(at.key, at.own, 77),
}
FOUND = SimpleNamespace(tracker_id=561, author_id=5, status_id=None, listed={})
Judge = Callable[[Decisions, Book, LedgerRow | None], object]
VERDICTS: dict[LedgerEvent, Judge] = {
    E.ANSWER: lambda v, _b, row: v.link(have(row), 1, 561, 5, WHY),
    E.ANSWER_WHILE_ON_HOLD: lambda v, _b, row: v.link(have(row), 1, 561, 5, WHY),
    E.LATE_ANSWER: lambda v, b, _row: v.late(1, ticket_of(b), 561),
    E.FOUND: lambda v, _b, row: v.adopt(have(row), FOUND),
    E.ABSENT: lambda v, _b, row: v.free(have(row), 10),
    E.UNDECIDABLE: lambda v, _b, row: v.hold(have(row), WHY),
    E.FOUND_AFTER_RESTORE: lambda v, b, _row: v.adopt_after_restore(asked(b, At(1, 1, 61)), 20, FOUND),
    E.ALIKE_AFTER_RESTORE: lambda v, b, _row: v.hold_after_restore(asked(b, At(1, 1, 61)), 20, [5]),
    E.ADOPTION_TAKEN: lambda v, _b, _row: v.release(OTHER, 61),
    E.ID_GIVEN_AWAY: lambda v, _b, _row: v.release(OTHER, 61),
    E.PERSON_ADOPTS: lambda v, _b, row: v.adopt_by_person(have(row), 561),
    E.PERSON_CREATES_AGAIN: lambda v, _b, row: v.create_again(have(row)),
}
"""The decisions that cause events; each starts in its event's first source state, or in that of `BEGINS`."""
BEGINS: dict[LedgerEvent, LedgerState | None] = {
    E.ANSWER: LedgerState.CLAIMED,
    E.LATE_ANSWER: LedgerState.LINKED,
    E.FOUND_AFTER_RESTORE: None,
    E.ALIKE_AFTER_RESTORE: None,
    E.ADOPTION_TAKEN: LedgerState.LINKED,
    E.ID_GIVEN_AWAY: LedgerState.LINKED,
}
BROKEN: dict[Guard, dict[str, Any]] = {
    Guard.THIS_OBJECT: {"own": 999},
    Guard.LEASE_RUNS: {"lease_until": PAST},
    Guard.LEASE_IS_OVER: {"lease_until": FUTURE},
    Guard.NOT_TWICE: {"duplicate": True},
    Guard.AS_READ: {"attempt": 2},
    Guard.THIS_ATTEMPT: {"attempt": 2},
    Guard.NOT_TAKEN: {"other_has": True},
}
"""For each guard, the values that make it fail."""
ELSEWHERE = {Guard.NEWEST, Guard.CURRENT, Guard.NOT_RESTORED, Guard.ADOPTED, Guard.CREATED}
"""Tests of claims cover the first three; of the last two one always holds, and it selects the table's row."""


def have(row: LedgerRow | None) -> LedgerRow:
    assert row is not None
    return row


def put(book: Book, state: LedgerState | None, **given: Any) -> At:
    """Bring a new row into a state, with a tracker id and an active lease; None creates no row."""
    at = At(given.pop("key", 1), given.pop("attempt", 1), given.pop("own", 61))
    if given.pop("other_has", False):
        other = book.in_state(LedgerState.LINKED, OTHER, at.new)
        assert other == 1
    if state is not None:
        book.take(at.key)
        values = {"state": state, "tracker_id": 61, **reason_columns(WHY), **given}
        with book.store.database.transaction() as session:
            model = MODELS[book.kind]
            session.execute(update(cast(Table, model.__table__)).where(model.key == at.key).values(**values))
    return at


def whole(book: Book, key: int = 1) -> dict[str, Any] | None:
    row = book.get(key)
    return {column.name: getattr(row, column.name) for column in row.__table__.columns} if row else None


class Watched:
    """Records what decisions do to events, in the terms of the table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[InJournal] = []
        journal = Journal
        monkeypatch.setattr(journal, "reopen_on_hold", self._note(InJournal.REOPEN_ON_HOLD, []))
        monkeypatch.setattr(journal, "make_due", self._note(InJournal.MAKE_DUE, None))
        monkeypatch.setattr(journal, "reschedule", self._note(InJournal.DELAY, None))
        monkeypatch.setattr(Decisions, "_ask_again", self._ask_again)

    def _note(self, change: InJournal, result: object) -> Callable[..., object]:
        def noted(*_: object, **__: object) -> object:
            self.done.append(change)
            return result

        return noted

    def _ask_again(
        self, _row: LedgerRow, _reason: Notice, ended: Collection[EventState] = ENDED_WELL
    ) -> bool:
        always = set(ended) == set(EventState)
        self.done.append(InJournal.REOPEN_CAUSE_ALWAYS if always else InJournal.REOPEN_CAUSE)
        return False


def remove(book: Book) -> None:
    with book.store.database.transaction() as session:
        session.query(MODELS[book.kind]).delete()


def test_each_event_has_one_row_and_is_tried_here() -> None:
    assert [row.event for row in ROWS] == list(LedgerEvent)
    assert sorted(event for events in CASES for event in events) == sorted(LedgerEvent)
    assert NOTED.keys() == NOTES.keys() == set(LedgerNote)
    assert not BROKEN.keys() & ELSEWHERE
    assert BROKEN.keys() | ELSEWHERE == set(Guard)


@pytest.mark.parametrize("events", CASES, ids=lambda events: events[0])
def test_an_event_does_what_the_table_says_and_changes_nothing_in_any_other_state(
    book: Book, events: tuple[LedgerEvent, ...]
) -> None:
    for state in STATES:
        case, at = CASES[events], put(book, state, **CASES[events].given)
        before = whole(book)
        targets = {target for event in events if (target := next_state(event, state))}
        changed = bool(case.act(book, at))
        if targets:
            assert changed, f"{state} accepts it"
            assert {book.row().state} == targets, state
        else:
            assert not changed, f"{state} does not accept it"
            assert whole(book) == before, state
        remove(book)


@pytest.mark.parametrize(
    ("events", "guard"),
    [
        pytest.param(events, guard, id=f"{events[0]}, {guard.name}")
        for events in CASES
        for guard in TRANSITIONS[events[0]].guards
        if guard not in ELSEWHERE
    ],
)
def test_an_event_whose_guard_does_not_hold_changes_nothing(
    book: Book, events: tuple[LedgerEvent, ...], guard: Guard
) -> None:
    case = CASES[events]
    for state in [state for event in events for state in TRANSITIONS[event].sources if state]:
        at = put(book, state, **{**case.given, **BROKEN[guard]})
        before = whole(book)
        assert not case.act(book, at), state
        assert whole(book) == before, state
        remove(book)


@pytest.mark.parametrize("note", LedgerNote)
def test_a_note_leaves_the_state_and_is_taken_only_in_its_states(book: Book, note: LedgerNote) -> None:
    for state in STATES:
        at = put(book, state, issue_id=11)
        before = whole(book)
        NOTED[note](book, at)
        after = whole(book)
        assert (after != before) is (state in NOTES[note]), state
        assert after is None or after["state"] == state
        remove(book)


@pytest.mark.parametrize("event", VERDICTS)
def test_a_verdict_does_to_events_and_tells_what_the_table_says(
    book: Book, event: LedgerEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, watched, told = TRANSITIONS[event], Watched(monkeypatch), list[str]()
    given = {"adopted": True} if event is E.ADOPTION_TAKEN else {}
    put(book, BEGINS.get(event, row.sources[0]), **given)

    def tell(what: Notice, **_: object) -> None:
        told.append(what.code)

    with book.store.transaction() as tx:
        VERDICTS[event](Decisions(tx, book.kind, tell, PluginConfig()), book, tx.ledger(book.kind).lock(1))
    assert book.row().state == row.target
    assert watched.done == list(row.journal)
    expected = () if row.notices == CREATED else row.notices  # a creation is reported by whoever made it
    assert tuple(told) == expected
