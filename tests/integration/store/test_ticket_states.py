"""The newest snapshot is a ticket's desired state in any order of arrival, and decides whether its status is due."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from producer.admin.records.transaction import Store, Transaction
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.reasons import Reason
from shared.store.journal.ticket_queries import Desired
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import TicketState
from tests.integration.store.conftest import Append
from tests.support.events import stored_event, task_event, ticket, ticket_event

SETTLING = 15.0


def fold(store: Store, event_ids: list[int]) -> Desired:
    """Fold the events in the given order; return the resulting state."""
    with store.transaction() as tx:
        by_id = {row.id: row for row in tx.journal.find(limit=None)}
        for event_id in event_ids:
            tx.statuses.fold_all([(by_id[event_id], stored_event(by_id[event_id].payload))], SETTLING)
    return state(store)


def state(store: Store) -> Desired:
    with store.transaction() as tx:
        found = tx.statuses.get(4711)
    assert found is not None
    return found


def titled(at: float, title: str, **extra: Any) -> dict[str, Any]:
    return ticket_event(at, of_ticket=ticket(title=title, status=len(title)), **extra)


def forget(store: Store) -> None:
    with store.database.transaction() as session:
        session.query(TicketState).delete()


def link(tx: Transaction) -> None:
    claim = Claim(4711, 4711, 1, 1, None, {"issue": {}}, [], "f")
    tx.ledger(Kind.TICKET).claim(claim, 20)
    tx.ledger(Kind.TICKET).link(4711, 1, 60, None, written("created"))


def test_every_order_of_the_same_events_gives_the_same_snapshot(store: Store, append: Append) -> None:
    accepted = append(
        titled(1, "a"),
        titled(2, "bb"),
        titled(2, "ccc", sequence=1),
        titled(2, "dddd", sequence=1),
        titled(0, "eeeee"),
    )
    ids = [one.event_id for one in accepted]
    seen = set()
    for order in permutations(ids):
        forget(store)
        found = fold(store, list(order))
        seen.add((found.event_id, found.snapshot["title"], found.status, found.status_due))
    assert seen == {(ids[3], "dddd", 4, True)}


def test_folding_twice_changes_nothing(store: Store, append: Append) -> None:
    (one,) = append(titled(0, "a"))
    fold(store, [one.event_id])
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, one.event_id, 2)])
    assert fold(store, [one.event_id]).status_due is False


def test_a_status_that_was_given_is_due_again_with_a_newer_update(store: Store, append: Append) -> None:
    first, second = append(titled(0, "a"), titled(1, "b"))
    fold(store, [first.event_id])
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, first.event_id, 2)])
    assert fold(store, [second.event_id]).status_due is True


def test_a_task_event_makes_the_status_due_only_where_it_differs(store: Store, append: Append) -> None:
    first, same, other = append(task_event(0), task_event(1), task_event(2, of_ticket=ticket(status=5)))
    fold(store, [first.event_id])
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, first.event_id, 2)])
    found = fold(store, [same.event_id])
    assert (found.event_id, found.status_due) == (same.event_id, False)
    assert fold(store, [other.event_id]).status_due is True


def test_an_older_event_that_comes_late_does_not_make_the_status_due(store: Store, append: Append) -> None:
    newer, older = append(titled(5, "newer"), titled(1, "old"))
    fold(store, [newer.event_id])
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, newer.event_id, 2)])
    found = fold(store, [older.event_id])
    assert (found.event_id, found.status_due) == (newer.event_id, False)


def test_what_was_given_of_an_older_snapshot_does_not_settle_a_newer_one(
    store: Store, append: Append
) -> None:
    first, second = append(titled(0, "a"), titled(1, "b"))
    fold(store, [first.event_id, second.event_id])
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, first.event_id, 2)])
    assert state(store).status_due is True


def test_a_dropped_status_is_not_tried_again_until_a_newer_one(store: Store, append: Append) -> None:
    first, second = append(titled(0, "a"), titled(1, "b"))
    fold(store, [first.event_id])
    with store.transaction() as tx:
        tx.statuses.dropped(4711, first.event_id, written("refused"))
    assert (state(store).status_due, state(store).status_reason) == (False, "refused")
    found = fold(store, [second.event_id])
    assert (found.status_due, found.status_reason, found.status_attempts) == (True, None, 0)


def test_a_status_that_was_refused_is_counted_until_it_is_given(store: Store, append: Append) -> None:
    (one,) = append(titled(0, "a"))
    fold(store, [one.event_id])
    why = Reason.STATUS_REFUSED(because=written("so it is"))
    with store.transaction() as tx:
        assert tx.statuses.not_given(10) == (0, [])
        tx.statuses.dropped(4711, one.event_id, Reason.NO_LINK())
        assert tx.statuses.not_given(10) == (0, []), "nobody refused it"
        tx.statuses.dropped(4711, one.event_id, why)
        assert tx.statuses.not_given(10) == (1, [(4711, one.event_id, why)])
        tx.statuses.record_set([(4711, one.event_id, 3)])
        assert tx.statuses.not_given(10) == (0, [])


def test_the_sweep_finds_linked_tickets_whose_status_is_due_now(store: Store, append: Append) -> None:
    (one,) = append(titled(0, "a"))
    fold(store, [one.event_id])
    with store.transaction() as tx:
        assert tx.statuses.due_tickets(10) == [], "not linked yet"
        link(tx)
        assert tx.statuses.due_tickets(10) == [4711]
        tx.statuses.wait(4711, one.event_id, tx.now() + timedelta(hours=1), written("later"), attempt=True)
        assert tx.statuses.due_tickets(10) == []
        tx.statuses.wait(4711, one.event_id, tx.now() - timedelta(seconds=1), written("now"), attempt=True)
        assert tx.statuses.due_tickets(10) == [4711]
        tx.statuses.record_set([(4711, one.event_id, 2)])
        assert tx.statuses.due_tickets(10) == []


def test_a_newer_status_waits_until_one_without_a_clear_answer_can_have_no_effect_any_more(
    store: Store, append: Append
) -> None:
    first, second = append(titled(0, "a"), titled(1, "b"))
    fold(store, [first.event_id])
    with store.transaction() as tx:
        tx.statuses.wait(
            4711, first.event_id, tx.now() + timedelta(hours=1), written("no answer"), attempt=True
        )
        now = tx.now()
    waits_until = fold(store, [second.event_id]).status_next_at
    assert waits_until is not None
    assert timedelta(seconds=SETTLING - 1) < waits_until - now < timedelta(seconds=SETTLING + 5)


@pytest.mark.parametrize(
    ("mapped", "found", "due"), [(3, 3, False), (3, 1, True), (None, 1, False), (3, None, True)]
)
def test_after_a_creation_the_status_is_due_unless_the_tracker_took_it(
    store: Store, append: Append, mapped: int | None, found: int | None, due: bool
) -> None:
    (one,) = append(ticket_event(of_ticket=ticket(status=2)))
    fold(store, [one.event_id])
    with store.transaction() as tx:
        tx.statuses.mark_due({4711: found}, {} if mapped is None else {2: mapped})
    assert state(store).status_due is due


def test_a_replayed_update_is_given_again_unless_the_tracker_had_it(store: Store, append: Append) -> None:
    (one,) = append(titled(0, "a"))
    fold(store, [one.event_id])
    with store.transaction() as tx:
        tx.statuses.dropped(4711, one.event_id, written("refused"))
        tx.statuses.retry_late_status(4711, one.event_id, SETTLING, 2, is_update=True, is_fresh=True)
    assert state(store).status_due is True
    with store.transaction() as tx:
        tx.statuses.record_set([(4711, one.event_id, 2)])
        tx.statuses.retry_late_status(4711, one.event_id, SETTLING, 2, is_update=True, is_fresh=True)
    assert state(store).status_due is False


def test_a_snapshot_keeps_any_text(store: Store, append: Append) -> None:
    (one,) = append(titled(0, "a\x00b€😀"))
    assert fold(store, [one.event_id]).snapshot["title"] == "a\x00b€😀"
    with store.transaction() as tx:
        tx.statuses.retry_late_status(4711, one.event_id, SETTLING, 3, is_update=True, is_fresh=True)
    assert state(store).status_due is True, "it was given what another map said"
