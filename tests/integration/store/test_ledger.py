"""The ledger: every step is a compare-and-set with the attempt's number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from producer.admin.records.transaction import Store
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.integration.store.conftest import BODY, PRINT, Append, Book
from tests.support.events import deletion, followup_event, task, task_event

EARLIER, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)

FREE, CLAIMED, IN_DOUBT = LedgerState.FREE, LedgerState.CLAIMED, LedgerState.IN_DOUBT
LINKED, ON_HOLD, GONE = LedgerState.LINKED, LedgerState.ON_HOLD, LedgerState.GONE


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


@pytest.mark.parametrize("state", [CLAIMED, IN_DOUBT, LINKED, ON_HOLD, GONE])
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
    "expire": set(),  # the lease has not expired
    "another_round": {IN_DOUBT},
    "hold": {IN_DOUBT},
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "link": (61, 5, "created"),
    "adopt": (61, 5, "found"),
    "free": ("refused",),
    "doubt": (15, "lost"),
    "expire": (15,),
    "another_round": (LATER, "nothing found"),
    "hold": ("who knows",),
}
AFTER = {
    "link": LINKED,
    "adopt": LINKED,
    "free": FREE,
    "doubt": IN_DOUBT,
    "another_round": IN_DOUBT,
    "hold": ON_HOLD,
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
    ticket_id = 1 if book.kind is Kind.TICKET else 4711
    book.take()
    assert book.due_tickets(10, 15) == []
    book.doubt(1, 1, 60, "lost")
    assert book.due_tickets(10, 15) == []
    assert book.in_doubt_like(PRINT) == []
    assert len(book.in_doubt_like(PRINT, settleable=False)) == 1
    book.another_round(1, 1, EARLIER, "nothing found")
    assert book.row().rounds == 1
    assert book.due_tickets(10, 15) == [ticket_id]
    assert [row.key for row in book.in_doubt_like(PRINT)] == [1]
    assert book.in_doubt_like("other") == []


def test_the_sweep_finds_expired_claims(book: Book) -> None:
    book.take(lease=-20)
    assert len(book.due_tickets(10, 15)) == 1
    assert book.due_tickets(10, 25) == []


def test_a_claim_that_was_read_counts_only_while_its_row_and_its_event_are_as_they_were(
    store: Store, append: Append
) -> None:
    older, newer = append(task_event(0), task_event(1, of_task=task(actiontime=7200)))
    with store.transaction() as tx:
        asked = Claim(512, 4711, older.event_id, 1, 6, BODY, [], PRINT, attempt_before=0, is_newest=True)
        assert tx.times.claim(asked, 20) is None, "a newer event waits"
        asked = replace(asked, event_id=newer.event_id)
        assert tx.times.claim(asked, 20) == 1
        tx.times.free(512, 1, written("refused"))
        assert tx.times.claim(asked, 20) is None, "there was no row when it was read"
        assert tx.times.claim(replace(asked, attempt_before=1), 20) == 2
        tx.times.free(512, 2, written("refused"))
        tx.journal.end([newer.event_id], EventState.DONE, written("done"))
        overtaken = replace(asked, event_id=older.event_id, attempt_before=2)
        assert tx.times.claim(overtaken, 20) == 3, "only what waits stands in the way"


def test_nothing_is_claimed_for_an_event_that_another_worker_has_ended(store: Store, append: Append) -> None:
    """The other worker had the lock meanwhile, and has seen that the follow-up is private now."""
    (asking,) = append(followup_event(1))
    asked = Claim(77, 4711, asking.event_id, 1, 6, BODY, [], PRINT, attempt_before=0, is_newest=True)
    with store.transaction() as tx:
        tx.journal.end([asking.event_id], EventState.SKIPPED, written("private"))
        assert tx.ledger(Kind.FOLLOWUP).claim(asked, 20) is None
        tx.journal.replay([asking.event_id])
        assert tx.ledger(Kind.FOLLOWUP).claim(asked, 20) == 1


def test_nothing_is_claimed_for_a_ticket_whose_deletion_waits(store: Store, append: Append) -> None:
    """The deletion arrived after the ticket was loaded: with a slow tracker, a sync pass takes minutes."""
    (asking,) = append(task_event(1))
    with store.transaction() as tx:
        asked = Claim(512, 4711, asking.event_id, 1, 6, BODY, [], PRINT, attempt_before=0, is_newest=True)
    append(deletion(0, "ticket.deleted"))
    with store.transaction() as tx:
        assert tx.times.claim(asked, 20) == 1, "the event is newer"
        tx.times.free(512, 1, written("refused"))
    (deleted,) = append(deletion(2, "ticket.deleted"))
    with store.transaction() as tx:
        asked = replace(asked, attempt_before=1)
        assert tx.times.claim(asked, 20) is None
        assert tx.issues.claim(replace(asked, key=4711, attempt_before=0), 20) is None
        tx.journal.end([deleted.event_id], EventState.DONE, written("done"))
        assert tx.times.claim(asked, 20) == 2, "only what waits stands in the way"
