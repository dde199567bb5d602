"""The ledger: which row owns a tracker id, late answers, and decisions of people."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError

from producer.admin.records.transaction import Store
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.integration.store.conftest import PRINT, Book

FREE, CLAIMED, IN_DOUBT = LedgerState.FREE, LedgerState.CLAIMED, LedgerState.IN_DOUBT
LINKED, ON_HOLD, GONE = LedgerState.LINKED, LedgerState.ON_HOLD, LedgerState.GONE


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
    assert book.holders([{"id": 60}, {"id": 61}]) == {60}
    assert book.holder(60).key == 1


def test_the_tracker_id_of_what_is_gone_may_be_given_again(book: Book) -> None:
    book.in_state(GONE, 1)
    assert book.holders([{"id": 60}]) == set()
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
    assert (row.state, row.duplicate) == (ON_HOLD, True)
    assert row.candidates is not None
    assert 77 in row.candidates
    assert (60 in row.candidates) is (state in (LINKED, GONE, ON_HOLD))
    assert not book.link(1, attempt, 78, None, "too late"), "a possible duplicate is a person's to decide"


@pytest.mark.parametrize("state", list(LedgerState))
def test_a_person_decides_what_is_held_or_gone_and_nothing_else(book: Book, state: LedgerState) -> None:
    attempt = book.in_state(state)
    assert book.resolve(1, 88, "adopted") is (state in (ON_HOLD, GONE))
    if state in (ON_HOLD, GONE):
        row = book.row()
        assert (row.state, row.tracker_id, row.attempt, row.candidates) == (LINKED, 88, attempt + 1, None)


def test_a_person_can_have_it_created_again(book: Book) -> None:
    attempt = book.in_state(ON_HOLD)
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
    assert {row.state for row in book.waiting_for_a_person()} == {ON_HOLD, GONE}
    assert book.count_live() == 4
    assert {row.state for row in book.of_keys(range(1, 7)).values()} == set(LedgerState)
    assert book.of_keys([]) == {}
