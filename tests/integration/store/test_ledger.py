"""The ledger: every step is a compare-and-set that carries its attempt number (DESIGN "The ledger")."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from shared.kinds import Kind
from shared.store import Store
from shared.store.ledger import Claim, Ledger, Row
from shared.store.models import LedgerState

BODY = {"issue": {"subject": "a\x00b\ud800€"}}
PRINT = "f" * 64
FREE, CLAIMED, IN_DOUBT, LINKED, HELD, GONE = (
    LedgerState.FREE, LedgerState.CLAIMED, LedgerState.IN_DOUBT, LedgerState.LINKED, LedgerState.HELD, LedgerState.GONE
)  # fmt: skip


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


class Book:
    """One kind's ledger, each step in a transaction of its own."""

    def __init__(self, store: Store, kind: Kind) -> None:
        self.store, self.kind = store, kind

    def __getattr__(self, name: str) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            with self.store.transaction() as tx:
                return getattr(tx.ledger(self.kind), name)(*args, **kwargs)

        assert hasattr(Ledger, name)
        return step

    def take(self, key: int = 1, *, lease: float = 20, fingerprint: str = PRINT) -> int | None:
        """Claim a row; return the attempt."""
        claim = Claim(
            key, 4711 if self.kind is Kind.TICKET_TASK else key, 7, 11, None, BODY, [5, 1], fingerprint
        )
        attempt: int | None = self.claim(claim, lease)
        return attempt

    def row(self, key: int = 1) -> Row:
        found: Row | None = self.get(key)
        assert found is not None
        return found

    def in_state(self, state: LedgerState, key: int = 1, tracker_id: int = 60) -> int:
        """Bring a new row into a state; return its attempt."""
        attempt = self.take(key)
        assert attempt is not None
        if state is FREE:
            self.free(key, attempt, "refused")
        elif state is IN_DOUBT:
            self.doubt(key, attempt, 0, "lost")
        elif state is HELD:
            self.hold(key, attempt, "who knows", [tracker_id])
        elif state in (LINKED, GONE):
            self.link(key, attempt, tracker_id, 5, "created")
        if state is GONE:
            self.gone(key, tracker_id, "deleted")
        assert self.row(key).state == state
        return attempt


@pytest.fixture
def book(store: Store, kind: Kind) -> Book:
    return Book(store, kind)


def test_a_claim_keeps_what_is_going_to_be_sent(book: Book) -> None:
    assert book.take() == 1
    row = book.row()
    assert (row.state, row.attempt, row.body, row.authors, row.fingerprint) == (
        CLAIMED,
        1,
        BODY,
        [5, 1],
        PRINT,
    )
    assert row.lease_until is not None
    assert row.claimed_at is not None
    assert 19.9 < (row.lease_until - row.claimed_at).total_seconds() < 20.1


def test_of_many_claims_at_once_one_succeeds(book: Book) -> None:
    with ThreadPoolExecutor(8) as threads:
        attempts = list(threads.map(lambda _: book.take(), range(16)))
    assert sorted(attempts, key=str) == [1, *[None] * 15]


@pytest.mark.parametrize("state", [CLAIMED, IN_DOUBT, LINKED, HELD, GONE])
def test_only_a_free_row_can_be_claimed(book: Book, state: LedgerState) -> None:
    book.in_state(state)
    assert book.take() is None
    assert book.row().state == state


def test_a_freed_row_is_claimed_again_with_a_higher_attempt_and_its_first_time(book: Book) -> None:
    book.in_state(FREE)
    first = book.row().first_claimed_at
    assert book.take() == 2
    assert book.row().first_claimed_at == first


ALLOWED: dict[str, set[LedgerState]] = {
    "link": set(LedgerState),
    "adopt": {IN_DOUBT},
    "free": {CLAIMED, IN_DOUBT},
    "doubt": {CLAIMED},
    "expire": set(),  # the lease still runs
    "another_round": {IN_DOUBT},
    "hold": {CLAIMED, IN_DOUBT},
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "link": (61, 5, "created"),
    "adopt": (61, 5, "found"),
    "free": ("refused",),
    "doubt": (15, "lost"),
    "expire": (15,),
    "another_round": (15, "nothing found"),
    "hold": ("who knows",),
}
AFTER = {
    "link": LINKED,
    "adopt": LINKED,
    "free": FREE,
    "doubt": IN_DOUBT,
    "another_round": IN_DOUBT,
    "hold": HELD,
}


@pytest.mark.parametrize("step", ALLOWED)
@pytest.mark.parametrize("state", list(LedgerState))
def test_a_step_is_taken_from_its_states_and_from_no_other(book: Book, state: LedgerState, step: str) -> None:
    attempt = book.in_state(state)
    before = (book.row().state, book.row().tracker_id)
    taken = getattr(book, step)(1, attempt, *ARGUMENTS[step])
    assert taken is (state in ALLOWED[step])
    after = book.row()
    assert (after.state == AFTER[step]) if taken else ((after.state, after.tracker_id) == before)


@pytest.mark.parametrize("step", ALLOWED)
def test_a_step_of_an_older_attempt_changes_nothing(book: Book, step: str) -> None:
    book.in_state(FREE)
    assert book.take() == 2
    assert getattr(book, step)(1, 1, *ARGUMENTS[step]) is False
    assert (book.row().state, book.row().attempt, book.row().tracker_id) == (CLAIMED, 2, None)


def test_a_claim_whose_lease_and_settling_time_are_over_is_in_doubt(book: Book) -> None:
    book.take(lease=-10)
    assert book.expire(1, 1, 15) is False
    assert book.expire(1, 1, 5) is True
    assert book.row().state == IN_DOUBT


def test_a_row_in_doubt_is_settled_only_after_its_settling_time(book: Book) -> None:
    ticket_id = 4711 if book.kind is Kind.TICKET_TASK else 1
    book.take()
    assert book.due_tickets(10, 15) == []
    book.doubt(1, 1, 60, "lost")
    assert book.due_tickets(10, 15) == []
    assert book.in_doubt_like(PRINT) == []
    assert len(book.in_doubt_like(PRINT, settleable=False)) == 1
    book.another_round(1, 1, 0, "nothing found")
    assert book.row().rounds == 1
    assert book.due_tickets(10, 15) == [ticket_id]
    assert [row.key for row in book.in_doubt_like(PRINT)] == [1]
    assert book.in_doubt_like("other") == []


def test_the_sweep_finds_expired_claims(book: Book) -> None:
    book.take(lease=-20)
    assert len(book.due_tickets(10, 15)) == 1
    assert book.due_tickets(10, 25) == []


def test_an_adopted_row_says_so_and_a_created_one_does_not(book: Book) -> None:
    attempt = book.in_state(IN_DOUBT)
    book.adopt(1, attempt, 60, 5, "found")
    assert (book.row().adopted, book.row().tracker_id, book.row().author_id) == (True, 60, 5)
    assert book.link(1, attempt, 61, 6, "its own answer came after all")
    assert (book.row().adopted, book.row().tracker_id, book.row().author_id) == (False, 61, 6)


def test_a_tracker_id_belongs_to_one_live_row(book: Book) -> None:
    book.in_state(LINKED, 1)
    book.take(2)
    with pytest.raises(IntegrityError):
        book.link(2, 1, 60, None, "created")
    assert book.row(2).state == CLAIMED
    assert book.holders([60, 61]) == {60}
    assert book.holder(60).key == 1


def test_the_tracker_id_of_what_is_gone_may_be_given_again(book: Book) -> None:
    book.in_state(GONE, 1)
    assert book.holders([60]) == set()
    book.in_state(LINKED, 2)
    assert book.holder(60).key == 2


def test_issues_and_time_entries_do_not_share_their_ids(store: Store) -> None:
    Book(store, Kind.TICKET).in_state(LINKED)
    Book(store, Kind.TICKET_TASK).in_state(LINKED)


def test_a_sibling_that_had_adopted_an_id_gives_it_up_and_is_in_doubt_again(book: Book) -> None:
    attempt = book.in_state(IN_DOUBT, 1)
    book.adopt(1, attempt, 60, 5, "found")
    book.take(2)
    holder = book.take_from_sibling(2, 60)
    assert holder.key == 1
    assert book.link(2, 1, 60, 5, "created")
    assert (book.row(1).state, book.row(1).tracker_id, book.row(1).adopted) == (IN_DOUBT, None, False)
    assert [row.key for row in book.in_doubt_like(PRINT)] == [1]


def test_a_sibling_that_had_created_an_id_is_gone(book: Book) -> None:
    book.in_state(LINKED, 1)
    book.take(2)
    book.take_from_sibling(2, 60)
    assert book.link(2, 1, 60, 5, "created")
    assert book.row(1).state == GONE


def test_nothing_is_taken_from_oneself_or_from_nobody(book: Book) -> None:
    book.in_state(LINKED, 1)
    assert book.take_from_sibling(1, 60) is None
    assert book.take_from_sibling(1, 99) is None
    assert book.row().state == LINKED


@pytest.mark.parametrize("state", list(LedgerState))
def test_a_late_answer_is_never_dropped(book: Book, state: LedgerState) -> None:
    attempt = book.in_state(state)
    book.late_answer(1, 77)
    row = book.row()
    assert (row.state, row.duplicate) == (HELD, True)
    assert row.candidates is not None
    assert 77 in row.candidates
    assert (60 in row.candidates) is (state in (LINKED, GONE, HELD))
    assert not book.link(1, attempt, 78, None, "too late"), "a possible duplicate is a person's to decide"


@pytest.mark.parametrize("state", list(LedgerState))
def test_a_person_decides_what_is_held_or_gone_and_nothing_else(book: Book, state: LedgerState) -> None:
    attempt = book.in_state(state)
    assert book.resolve(1, 88, "adopted") is (state in (HELD, GONE))
    if state in (HELD, GONE):
        row = book.row()
        assert (row.state, row.tracker_id, row.attempt, row.candidates) == (LINKED, 88, attempt + 1, None)


def test_a_person_can_have_it_created_again(book: Book) -> None:
    attempt = book.in_state(HELD)
    assert book.resolve(1, None, "create again")
    assert (book.row().state, book.row().tracker_id) == (FREE, None)
    assert not book.link(1, attempt, 60, None, "the answer of before"), "it is late now"
    assert book.take() == attempt + 2


def test_gone_names_the_object_that_went(book: Book) -> None:
    book.in_state(LINKED)
    assert book.gone(1, 61, "deleted") is False
    assert book.gone(1, 60, "deleted") is True


def test_what_waits_for_a_person_and_what_is_live_is_listed(book: Book) -> None:
    for key, state in enumerate(LedgerState, 1):
        book.in_state(state, key, 60 + key)
    assert {row.state for row in book.waiting_for_a_person()} == {HELD, GONE}
    assert book.count_live() == 4
    assert {row.state for row in book.of_keys(range(1, 7)).values()} == set(LedgerState)
    assert book.of_keys([]) == {}
