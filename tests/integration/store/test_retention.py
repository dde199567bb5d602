"""Expired rows are pruned in small batches; rows that a guarantee needs stay, however old they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy import select, update

from producer.admin.records.transaction import Store
from producer.admin.review.held import NotResolved, decide
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.process.settings import Settings
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState, JournalEvent, TraceStep
from shared.store.tables.ledger import LedgerState
from shared.store.tables.types import clock
from tests.integration.store.conftest import Append, Book
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.refusals import says
from worker.sweep import Sweep

pytestmark = pytest.mark.promise("OPS-08")

DAY_S = 86400
KEPT_DAYS = 90


@pytest.fixture
def prune(store: Store) -> Callable[[], int]:
    """Prunes as the worker does."""
    settings = Settings(database_url=SecretStr("sqlite://"), retention_days=KEPT_DAYS)
    nothing: Any = None
    return Sweep(store, settings, nothing, nothing, lambda: 0, lambda _: True, lambda _: True).prune


def age(store: Store, days: float = KEPT_DAYS + 1) -> None:
    with store.database.transaction() as session:
        long_ago = {"received_at": clock(-days * DAY_S), "ended_at": clock(-days * DAY_S)}
        session.execute(update(JournalEvent).values(long_ago))
        session.execute(update(TraceStep).values(at=clock(-days * DAY_S)))


def end(store: Store, event_id: int, state: EventState) -> None:
    with store.transaction() as tx:
        tx.journal.end([event_id], state, written("a test"))


def kept(store: Store) -> set[int]:
    with store.database.transaction() as session:
        return set(session.scalars(select(JournalEvent.id)))


@pytest.mark.parametrize("state", EventState)
def test_only_what_has_ended_is_pruned(
    store: Store, append: Append, prune: Callable[[], int], state: EventState
) -> None:
    (event,) = append(ticket_event())
    if state is not EventState.PENDING:
        end(store, event.event_id, state)
    age(store)
    prune()
    has_ended = state in (EventState.DONE, EventState.SKIPPED, EventState.SUPERSEDED)
    assert (event.event_id in kept(store)) is not has_ended


@pytest.mark.parametrize("state", LedgerState)
def test_events_stay_while_an_issue_or_time_entry_of_their_ticket_is_not_settled(
    book: Book, store: Store, append: Append, prune: Callable[[], int], state: LedgerState
) -> None:
    own, others = append(ticket_event(of_ticket=ticket(4711)), ticket_event(of_ticket=ticket(4712)))
    book.in_state(state, key=4711)
    for event in (own, others):
        end(store, event.event_id, EventState.DONE)
    age(store)
    prune()
    assert kept(store) == (set() if state is LedgerState.LINKED else {own.event_id})


def test_everything_old_goes_in_batches_of_a_thousand(
    store: Store, append: Append, prune: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.sweep.PRUNED_AT_ONCE", 3)
    batches: list[int] = []
    transaction = Store.transaction

    def counted(of: Store) -> Any:
        batches.append(1)
        return transaction(of)

    monkeypatch.setattr(Store, "transaction", counted)
    for event in append(*(ticket_event(number) for number in range(8))):
        end(store, event.event_id, EventState.DONE)
    with store.transaction() as tx:
        tx.trace.append([Step(4711, written("a step"))] * 8)
    age(store)
    batches.clear()
    assert prune() == 16
    assert len(batches) == 4, "three batches of three, and one that finds nothing"
    assert kept(store) == set()


def test_a_redelivery_after_its_event_was_pruned_creates_nothing_and_turns_no_status_back(
    store: Store, append: Append, prune: Callable[[], int]
) -> None:
    """Delivery ids are kept only as long as their events; the ledger and the desired state are kept permanently."""
    from tests.support.events import stored_event

    old, new = append(ticket_event(0), ticket_event(4, of_ticket=ticket(status=5)), ids=["old", "new"])
    with store.transaction() as tx:
        for row in tx.journal.due_of([4711])[4711].rows:
            tx.statuses.fold_all([(row, stored_event(row.payload or ""))], 15)
    for event in (old, new):
        end(store, event.event_id, EventState.DONE)
    age(store)
    prune()
    (again,) = append(ticket_event(0), ids=["old"])
    assert not again.duplicate
    with store.transaction() as tx:
        (row,) = tx.journal.due_of([4711])[4711].rows
        tx.statuses.fold_all([(row, stored_event(row.payload or ""))], 15)
        state = tx.statuses.get(4711)
        assert state is not None
        assert (state.status, state.event_id) == (5, new.event_id)


def test_create_again_is_refused_where_nothing_is_left_that_would_create_it(
    store: Store, append: Append, prune: Callable[[], int]
) -> None:
    (event,) = append(task_event())
    book = Book(store, Kind.TICKET_TASK)
    book.in_state(LedgerState.LINKED, key=512)
    end(store, event.event_id, EventState.DONE)
    age(store)
    prune()
    book.gone(512, 60, "deleted on the tracker")
    with pytest.raises(NotResolved, check=says(Refusal.EVENTS_PAST_RETENTION, task_id=512)):
        decide(store, Kind.TICKET_TASK, 512, None)
    assert book.row(512).state == LedgerState.GONE
    (again,) = append(task_event(1, of_task=task(512)))
    end(store, again.event_id, EventState.ON_HOLD)
    assert decide(store, Kind.TICKET_TASK, 512, None) == 4711
    assert book.row(512).state == LedgerState.FREE


def test_sqlite_finds_what_is_open_by_the_small_index_too(store: Store) -> None:
    """SQLite uses a partial index only if the query repeats the index's condition literally."""
    engine, statements = store.database.engine, list[tuple[str, Any]]()
    if engine.dialect.name != "sqlite":
        return  # tests/bench/test_retention.py looks at PostgreSQL's plans

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        statements.append((statement, parameters))

    sqlalchemy_event.listen(engine, "before_cursor_execute", note)
    with store.transaction() as tx:
        tx.issues.due_tickets(10, 15)
        tx.times.waiting_for_a_person()
        tx.journal.prune(KEPT_DAYS, 10)
    sqlalchemy_event.remove(engine, "before_cursor_execute", note)
    plans = []
    with engine.connect() as connection:
        for statement, parameters in statements:
            if statement.startswith(("SELECT", "DELETE")):
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                plans.append("; ".join(str(row[-1]) for row in rows))
    assert "ix_ticket_issue_link_open" in plans[0]
    assert "ix_task_time_link_open" in plans[1]
    assert "SCAN journal" not in plans[2]
