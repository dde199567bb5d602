"""The journal: every accepted event and its result."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import update

from producer.admin.records.transaction import Store
from shared.errors import NotFound
from shared.notices.notice import written
from shared.notices.refusals import Refusal
from shared.store.journal.appending import Accepted
from shared.store.journal.journal import Done
from shared.store.tables.journal import EventState, JournalEvent
from tests.integration.store.conftest import Append
from tests.support.events import START, moment, stored_event, task, task_event, ticket, ticket_event
from tests.support.refusals import says
from tests.support.statements import listening


def rows(store: Store) -> list[JournalEvent]:
    """Return all events, ordered by id."""
    with store.transaction() as tx:
        return sorted(tx.journal.find(limit=None), key=lambda row: row.id)


def due(store: Store, ticket_id: int = 4711) -> list[int]:
    with store.transaction() as tx:
        assert bool(tx.journal.have_due([ticket_id])) == bool(tx.journal.due_of([ticket_id])[ticket_id].rows)
        return [row.id for row in tx.journal.due_of([ticket_id])[ticket_id].rows]


def age(store: Store, **values: object) -> None:
    with store.database.transaction() as session:
        session.execute(update(JournalEvent).values(**values))


def test_an_event_is_kept_as_it_was_sent(store: Store, append: Append) -> None:
    event = task_event(of_ticket=ticket(title="a\x00b\ud800c€😀"), extra={"k": ["\ud800"]})
    (accepted,) = append(event)
    (row,) = rows(store)
    assert accepted == Accepted(row.id, "ticket-task:512", 4711, duplicate=False)
    assert json.loads(row.payload) == event
    assert stored_event(row.payload).task is not None
    assert (row.state, row.attempts, row.ticket_id, row.task_id) == ("pending", 0, 4711, 512)
    assert (row.occurred_at, row.clamped) == (START, False)
    with store.transaction() as tx:
        assert timedelta(0) <= tx.now() - row.received_at < timedelta(minutes=1), "the database's clock"


def test_the_same_id_with_the_same_body_changes_nothing(store: Store, append: Append) -> None:
    (first,) = append(task_event(), ids=["a"])
    (again,) = append(task_event(), ids=["a"])
    assert again == Accepted(first.event_id, first.key, 4711, duplicate=True)
    assert len(rows(store)) == 1


def test_the_same_id_with_another_body_is_a_new_event_that_is_told(store: Store, append: Append) -> None:
    append(task_event(), ids=["a"])
    (other,) = append(task_event(of_task=task(actiontime=60)), ids=["a"])
    assert other.conflicting
    assert not other.duplicate
    (again,) = append(task_event(of_task=task(actiontime=60)), ids=["a"])
    assert again.duplicate
    assert again.event_id == other.event_id
    assert len(rows(store)) == 2


def test_within_one_array_the_same_holds(store: Store, append: Append) -> None:
    accepted = append(task_event(), task_event(), ticket_event(), ids=["a", "a", "a"])
    assert [one.duplicate for one in accepted] == [False, True, False]
    assert [one.conflicting for one in accepted] == [False, False, True]
    assert accepted[0].event_id == accepted[1].event_id
    assert len(rows(store)) == 2


def test_what_is_new_is_appended_by_one_statement_on_postgresql(store: Store, append: Append) -> None:
    """Earlier events are looked up only if a delivery id exists already."""
    append(task_event(1), ids=["a"])
    said = list[str]()

    def note(*arguments: object) -> None:
        said.append(str(arguments[2]).split()[0])

    with listening(store.database.engine, before_cursor_execute=note):
        append(task_event(2), task_event(3), ids=["b", "b"])
        append(task_event(4), ids=["a"])
    expected = ["INSERT", "INSERT", "SELECT"]
    if store.database.engine.dialect.name == "sqlite":  # SQLite looks them up each time, after BEGIN
        expected = ["BEGIN", "INSERT", "SELECT"] * 2
    assert said == expected


def test_an_array_keeps_its_order(store: Store, append: Append) -> None:
    accepted = append(*(task_event(of_task=task(number)) for number in range(1, 101)))
    assert [row.task_id for row in rows(store)] == list(range(1, 101))
    assert [one.event_id for one in accepted] == [row.id for row in rows(store)]


def test_of_concurrent_appends_of_one_delivery_exactly_one_is_new(store: Store, append: Append) -> None:
    event = [task_event(of_task=task(number)) for number in (1, 2, 3)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: append(*event, ids=["a", "b", "c"]), range(16)))
    assert len(rows(store)) == 3
    for index in range(3):
        assert sum(not answer[index].duplicate for answer in answers) == 1
        assert len({answer[index].event_id for answer in answers}) == 1


def test_concurrent_appends_of_different_events_lose_none(store: Store, append: Append) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: append(task_event(of_task=task(n)))[0], range(1, 41)))
    assert len({one.event_id for one in answers}) == 40
    assert len(rows(store)) == 40


def test_what_raises_inside_the_transaction_keeps_nothing(store: Store, append: Append) -> None:
    append(task_event())
    with pytest.raises(ZeroDivisionError), store.transaction() as tx:
        tx.journal.end([row.id for row in tx.journal.find()], EventState.DONE, written(""))
        raise ZeroDivisionError
    assert [row.state for row in rows(store)] == ["pending"]


def test_what_is_due_for_many_tickets_is_what_is_due_for_each(store: Store, append: Append) -> None:
    """This holds also for a moved ticket task: an event due in one ticket makes no event of the other due."""
    events = [
        task_event(number, of_ticket=ticket(1 + number % 3), of_task=task(1 + number % 4))
        for number in range(12)
    ]
    ids = [one.event_id for one in append(*events)]
    with store.transaction() as tx:
        tx.journal.wait([ids[0], ids[5], ids[10]], tx.now() + timedelta(hours=1), written("later"))
    with store.transaction() as tx:
        together = tx.journal.due_of([1, 2, 3, 4])
        alone = {ticket_id: tx.journal.due_of([ticket_id])[ticket_id] for ticket_id in (1, 2, 3, 4)}
        assert {number: [row.id for row in one.rows] for number, one in together.items()} == {
            number: [row.id for row in one.rows] for number, one in alone.items()
        }
        assert all(one.is_complete for one in together.values())
        assert tx.journal.have_due([1, 2, 3, 4]) == {number for number, one in alone.items() if one.rows}
    waiting = {row.id for row in rows(store) if row.next_attempt_at}
    keys = {(row.ticket_id, row.key) for row in rows(store) if not row.next_attempt_at}
    expected = {row.id for row in rows(store) if (row.ticket_id, row.key) in keys}
    assert {row.id for one in together.values() for row in one.rows} == expected
    assert waiting - expected, "some wait for their own time"


def test_due_events_come_by_time_then_sequence_then_id(store: Store, append: Append) -> None:
    accepted = append(
        task_event(2),
        task_event(1, sequence=2),
        task_event(1),
        task_event(1, sequence=1),
        task_event(0),
        task_event(1),
    )
    ids = [one.event_id for one in accepted]
    assert due(store) == [ids[4], ids[2], ids[5], ids[3], ids[1], ids[0]]


def test_a_time_far_ahead_is_corrected_to_the_arrival_and_flagged(store: Store, append: Append) -> None:
    """A few minutes ahead it stays: the order of the sender's events is more precise than that of their arrival."""
    append(task_event(5), task_event(6), {**task_event(), "occurred_at": "2999-01-01T00:00:00Z"})
    assert [(row.occurred_at, row.clamped) for row in rows(store)] == [
        (START + timedelta(minutes=5), False),
        (START, True),
        (START, True),
    ]
    assert "2999" in rows(store)[2].payload


def test_an_event_dated_ahead_comes_before_later_ones_that_arrive_with_it(
    store: Store, append: Append
) -> None:
    """GLPI's plug-in sends what was saved within a minute, numbered."""
    ahead = {**task_event(sequence=7), "occurred_at": "2999-01-01T00:00:00Z"}
    accepted = append(task_event(-2, sequence=6), ahead, task_event(-1, sequence=8), task_event(-3))
    ids = [one.event_id for one in accepted]
    assert due(store) == [ids[3], ids[0], ids[1], ids[2]]


def test_a_pending_event_that_lies_ahead_of_its_arrival_is_taken_as_of_its_arrival(
    store: Store, append: Append
) -> None:
    """The previous version, or another account of the database, stored it."""
    first, later = append(task_event(0), task_event(1))
    with store.transaction() as tx:
        now = tx.now()
    with store.database.transaction() as session:
        row = update(JournalEvent).where(JournalEvent.id == first.event_id)
        session.execute(
            row.values(received_at=now - timedelta(minutes=2), occurred_at=now + timedelta(hours=2))
        )
        row = update(JournalEvent).where(JournalEvent.id == later.event_id)
        session.execute(row.values(received_at=now, occurred_at=now - timedelta(minutes=1)))
    assert due(store) == [first.event_id, later.event_id]


def test_offsets_are_compared_as_moments(store: Store, append: Append) -> None:
    later, earlier = append(task_event(1), {**task_event(), "occurred_at": "2026-01-05T11:00:30+02:00"})
    assert moment(0.5) == "2026-01-05T09:00:30Z"
    assert due(store) == [earlier.event_id, later.event_id]


def test_a_waiting_event_is_due_again_when_its_time_has_come(store: Store, append: Append) -> None:
    (one,) = append(task_event())
    with store.transaction() as tx:
        now = tx.now()
        tx.journal.wait([one.event_id], now + timedelta(hours=1), written("paused"))
    assert due(store) == []
    with store.transaction() as tx:
        tx.journal.wait([one.event_id], now - timedelta(seconds=1), written("again"), attempt=True)
    assert due(store) == [one.event_id]
    assert [(row.attempts, row.reason) for row in rows(store)] == [(1, "again")]


def test_a_due_event_brings_the_waiting_ones_of_its_key(store: Store, append: Append) -> None:
    older, newer, other = append(task_event(0), task_event(1), task_event(2, of_task=task(9)))
    with store.transaction() as tx:
        tx.journal.wait([newer.event_id, other.event_id], tx.now() + timedelta(hours=1), written(""))
    assert due(store) == [older.event_id, newer.event_id]


def test_replaying_an_event_brings_the_failed_ones_of_its_key(store: Store, append: Append) -> None:
    older, newer, other = append(task_event(0), task_event(1), task_event(2, of_task=task(9)))
    with store.transaction() as tx:
        tx.journal.end([older.event_id, newer.event_id, other.event_id], EventState.FAILED, written(""))
        tx.journal.replay([older.event_id])
    assert due(store) == [older.event_id, newer.event_id]


def test_hurrying_makes_a_ticket_s_waiting_events_due(store: Store, append: Append) -> None:
    mine, other = append(task_event(), task_event(of_ticket=ticket(2)))
    with store.transaction() as tx:
        tx.journal.wait([mine.event_id, other.event_id], tx.now() + timedelta(hours=1), written(""))
        tx.journal.make_due(4711)
    assert due(store) == [mine.event_id]
    assert due(store, 2) == []


@pytest.mark.parametrize("state", [state for state in EventState if state != EventState.PENDING])
def test_an_ended_event_is_not_due_and_can_be_replayed(
    store: Store, append: Append, state: EventState
) -> None:
    (one,) = append(task_event())
    with store.transaction() as tx:
        tx.journal.wait([one.event_id], None, written(""), attempt=True)
        tx.journal.end([one.event_id], state, written("because"))
        assert tx.journal.count(state) == 1
    assert due(store) == []
    with store.transaction() as tx:
        assert tx.journal.replay([one.event_id]) == [4711]
    assert due(store) == [one.event_id]
    assert [(row.state, row.attempts, row.ended_at) for row in rows(store)] == [("pending", 0, None)]


def test_replaying_an_unknown_event_is_told_and_changes_nothing(store: Store, append: Append) -> None:
    (one,) = append(task_event())
    with store.transaction() as tx:
        tx.journal.end([one.event_id], EventState.FAILED, written(""))
    with (
        pytest.raises(NotFound, check=says(Refusal.EVENTS_UNKNOWN, events=[999999])),
        store.transaction() as tx,
    ):
        tx.journal.replay([one.event_id, 999999])
    assert [row.state for row in rows(store)] == ["failed"]


def test_every_event_of_a_state_can_be_replayed(store: Store, append: Append) -> None:
    a, b, c = append(task_event(of_ticket=ticket(9)), task_event(of_ticket=ticket(8)), task_event())
    with store.transaction() as tx:
        tx.journal.end([a.event_id, b.event_id], EventState.FAILED, written(""))
        tx.journal.end([c.event_id], EventState.DONE, written(""))
        assert tx.journal.replay_state(EventState.FAILED) == [8, 9]
    assert [row.state for row in rows(store)] == ["pending", "pending", "done"]


def test_a_success_supersedes_the_failed_events_of_its_key(store: Store, append: Append) -> None:
    failed, done, other = append(task_event(), task_event(1), task_event(of_task=task(9)))
    with store.transaction() as tx:
        tx.journal.end([failed.event_id, other.event_id], EventState.FAILED, written(""))
        tx.journal.done_all([Done(done.event_id, done.key, written("done"), written("done by another"))])
    assert [(row.state, row.reason) for row in rows(store)] == [
        ("superseded", "done by another"),
        ("done", "done"),
        ("failed", ""),
    ]


def test_the_sweep_finds_due_tickets_once_each_the_oldest_first(store: Store, append: Append) -> None:
    append(*(task_event(of_ticket=ticket(number)) for number in (3, 1, 3, 2)))
    with store.transaction() as tx:
        assert tx.journal.due_tickets(10, older_than=0) == [3, 1, 2]
        assert tx.journal.due_tickets(2, older_than=0) == [3, 1]
        assert tx.journal.due_tickets(10, older_than=60) == []


def test_a_ticket_with_many_events_does_not_hide_the_others_from_the_sweep(
    store: Store, append: Append
) -> None:
    append(*(task_event(of_task=task(number)) for number in range(1, 101)))
    append(task_event(of_ticket=ticket(2)))
    with store.transaction() as tx:
        assert tx.journal.due_tickets(10, older_than=0) == [4711, 2]


def test_pruning_deletes_what_ended_long_ago_and_nothing_else(store: Store, append: Append) -> None:
    ended = append(*(task_event() for _ in range(5)))
    for one, state in zip(ended, ("done", "skipped", "superseded", "failed", "on_hold"), strict=True):
        with store.transaction() as tx:
            tx.journal.end([one.event_id], EventState(state), written(""))
    append(task_event())
    with store.transaction() as tx:
        assert tx.journal.prune(1, 100) == 0
    age(store, ended_at=START - timedelta(days=400))
    with store.transaction() as tx:
        assert tx.journal.prune(90, 2) == 2
        assert tx.journal.prune(90, 100) == 1
    assert sorted(row.state for row in rows(store)) == ["failed", "on_hold", "pending"]


def test_finding_filters_and_limits_newest_first(store: Store, append: Append) -> None:
    append(*(task_event(of_ticket=ticket(number)) for number in (1, 2, 1)))
    with store.transaction() as tx:
        assert [row.ticket_id for row in tx.journal.find()] == [1, 2, 1]
        assert len(tx.journal.find(limit=2)) == 2
        assert len(tx.journal.find(ticket_id=1)) == 2
        assert tx.journal.find(state="done") == []


def test_a_reason_with_nul_and_surrogates_can_be_kept(store: Store, append: Append) -> None:
    (one,) = append(task_event())
    with store.transaction() as tx:
        tx.journal.end([one.event_id], EventState.FAILED, written("a\x00b\ud800c€"))
    assert (rows(store)[0].reason or "").endswith("€")
