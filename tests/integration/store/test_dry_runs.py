"""The list of objects that dry runs have requested: one process at a time works on each row."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from producer.admin.records.transaction import Store
from shared.notices.notice import written
from shared.store.tables.ledger import DryRunObject

MARK = "[deskbridge dry run 1]"


def begin(store: Store, *, lease: float = -1) -> DryRunObject:
    with store.transaction() as tx:
        return tx.dry_runs.begin("issue", MARK, 1, lease=lease)


def test_a_row_is_its_makers_until_its_lease_is_over(store: Store) -> None:
    row = begin(store, lease=60)
    with store.transaction() as tx:
        assert (row.kind, row.mark, row.tracker_project_id, row.tracker_id, row.attempts) == (
            "issue", MARK, 1, None, 0,
        )  # fmt: skip
        assert abs((tx.now() - row.begun_at).total_seconds()) < 5
        assert tx.dry_runs.take_over(10, lease=60) == []
        tx.dry_runs.reschedule(row.id, row.attempts, -1, written("later"))
        (taken,) = tx.dry_runs.take_over(10, lease=60)
        assert (taken.id, taken.attempts, taken.reason) == (row.id, 1, "later")
        assert tx.dry_runs.take_over(10, lease=60) == []


def test_those_that_wait_longest_come_first_and_only_a_few(store: Store) -> None:
    late, early = begin(store, lease=-1), begin(store, lease=-60)
    with store.transaction() as tx:
        assert [one.id for one in tx.dry_runs.take_over(1, lease=60)] == [early.id]
        assert [one.id for one in tx.dry_runs.take_over(1, lease=60)] == [late.id]


def test_whoever_lost_a_row_to_another_changes_nothing_any_more(store: Store) -> None:
    row = begin(store)
    with store.transaction() as tx:
        (taken,) = tx.dry_runs.take_over(1, lease=60)
        tx.dry_runs.reschedule(row.id, row.attempts, -1, written("from the past"))
        assert tx.dry_runs.take_over(1, lease=60) == []
        assert tx.dry_runs.all()[0].reason is None
        tx.dry_runs.reschedule(row.id, taken.attempts, -1, written("now"))
        assert len(tx.dry_runs.take_over(1, lease=60)) == 1


def test_two_at_once_never_take_the_same_row(store: Store) -> None:
    begin(store)
    first_has_it, started = threading.Event(), threading.Event()

    def first() -> int:
        with store.transaction() as tx:
            taken = tx.dry_runs.take_over(1, lease=60)
            first_has_it.set()
            started.wait(5)
            threading.Event().wait(0.2)
            return len(taken)

    def second() -> int:
        first_has_it.wait(5)
        started.set()
        with store.transaction() as tx:
            return len(tx.dry_runs.take_over(1, lease=60))

    with ThreadPoolExecutor(2) as pool:
        assert [one.result(30) for one in (pool.submit(first), pool.submit(second))] == [1, 0]


def test_a_row_that_is_gone_is_forgotten_and_another_tracker_knows_none(store: Store) -> None:
    one, two = begin(store), begin(store)
    with store.transaction() as tx:
        tx.dry_runs.created(two.id, 17)
        tx.dry_runs.gone(one.id)
        assert [(row.id, row.tracker_id) for row in tx.dry_runs.all()] == [(two.id, 17)]
        tx.dry_runs.forget_tracker()
        assert tx.dry_runs.all() == []
