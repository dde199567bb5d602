"""Pages read the same hours, wrong authors and names from both databases."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import insert

from producer.admin.people.misattributed import by_person, entries_of, of_whose
from producer.admin.records.transaction import Store
from shared.notices.authors import Misattribution
from shared.notices.kinds import Kind
from shared.notices.reasons import Matching
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.journal import TicketState
from shared.store.tables.ledger import LedgerState
from tests.integration.store.conftest import Append
from tests.integration.store.test_lists_for_pages import put
from tests.support.events import START, task, task_event

STRANGER = Misattribution.NOT_MATCHED(match=Matching.EMAIL_UNKNOWN(helpdesk_user_id=99))
OF_ALICE = Misattribution.SWITCH_IGNORED(login="alice")


def logged(store: Store, task_id: int, hours: object, state: LedgerState = LedgerState.LINKED) -> None:
    """Add a time entry with these hours to the ledger."""
    body = {"time_entry": {"hours": hours, "comments": 'quotes " and {'}}
    put(store, Kind.TICKET_TASK, task_id, state, 0, tracker_id=100 + task_id, author_id=1, body=body)


def test_wrong_authors_are_counted_by_person_with_their_hours(store: Store) -> None:
    for task_id, hours in ((1, 1.5), (2, 2), (3, "2.25"), (4, "2h 30"), (5, 1.0), (6, 7.0)):
        logged(store, task_id, hours)
    put(store, Kind.TICKET, 9, LedgerState.LINKED, 0, tracker_id=300, author_id=1)
    with store.transaction() as tx:
        for task_id in (1, 2, 3, 4):
            tx.misattributed.put(Kind.TICKET_TASK, task_id, 1, 100 + task_id, STRANGER)
        tx.misattributed.put(Kind.TICKET, 9, 9, 300, STRANGER)
        tx.misattributed.put(Kind.TICKET_TASK, 5, 1, 105, OF_ALICE)
        tx.misattributed.put(Kind.TICKET_TASK, 6, 1, 999, OF_ALICE)  # linked to another one since
        tx.misattributed.put(Kind.TICKET_TASK, 7, 1, 107, Misattribution.NOBODY_NAMED())  # not linked at all
        tx.people.replace_cache([TrackerPerson(5, "alice", "Alice Archer", "alice@example.test")])
        tx.people.put_override(7, 5)
    found = {one.key: (one.issues, one.entries, one.hours) for one in by_person(store).people}
    assert found == {"person:99": (1, 4, 5.75), "person:7": (0, 1, 1.0)}, "words are no hours"
    assert sorted(entries_of(store, "person:99", 10)) == [1, 2, 3, 4]
    assert {(one.kind, one.key, one.hours) for one in of_whose(store, "person:99", limit=10)} == {
        ("ticket", 9, None), ("ticket-task", 1, 1.5), ("ticket-task", 2, 2.0), ("ticket-task", 3, 2.25),
        ("ticket-task", 4, None),
    }  # fmt: skip
    assert len(of_whose(store, "person:99", limit=10, after=3)) == 2


def test_tasks_and_ledger_rows_are_read_by_when_they_came_in(store: Store, append: Append) -> None:
    append(task_event(of_task=task(1, date="2026-01-04", actiontime=1800)), task_event(of_task=task(2)))
    logged(store, 1, 0.5)
    soon = START + timedelta(days=400)
    with store.transaction() as tx:
        (row, *_) = tx.journal.find()
        came = row.received_at
        by_work = list(tx.known_hours.tasks(came - timedelta(days=1), soon, by_day_of_work=True))
        by_day = list(tx.known_hours.tasks(came - timedelta(days=1), soon, by_day_of_work=False))
        none = list(tx.known_hours.tasks(came + timedelta(days=1), soon, by_day_of_work=True))
        rows, entries = tx.known_hours.of_tasks([1, 2]), tx.known_hours.of_entries([101, 102])
    assert {(one.task_id, one.day) for one in by_work} == {(1, "2026-01-04"), (2, f"{came:%Y-%m-%d}")}
    assert {one.day for one in by_day} == {f"{came:%Y-%m-%d}"}
    assert none == []
    assert rows[1].hours == 0.5
    assert entries == {101: rows[1]}


def test_names_come_from_the_newest_tickets_and_from_the_metadata(store: Store) -> None:
    snapshot = {
        "title": "Printer",
        "entity_id": 3,
        "entity_name": "Lyon",
        "technician": {"id": 7, "name": "Claire"},
    }
    blank = {"event_id": 1, "occurred_at": START, "sequence": 0, "status": 1, "status_due": False}
    with store.database.transaction() as session:
        session.execute(
            insert(TicketState).values(ticket_id=1, snapshot={**snapshot, "entity_name": "Paris"}, **blank)
        )
        session.execute(insert(TicketState).values(ticket_id=2, snapshot=snapshot, **blank))
    with store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(5, "alice", "Alice Archer", "alice@example.test")])
        found, titles = tx.known_names.all(), tx.known_names.titles([1, 2, 3])
    assert (found["entity"], found["person"], found["user"]) == (
        {3: "Lyon"},
        {7: "Claire"},
        {5: "Alice Archer"},
    )
    assert titles == {1: "Printer", 2: "Printer"}


def test_support_counts_by_state_and_code(store: Store, append: Append) -> None:
    append(task_event(of_task=task(1)), task_event(of_task=task(2)))
    logged(store, 1, 0.5)
    logged(store, 2, 0.5, LedgerState.ON_HOLD)
    with store.transaction() as tx:
        assert tx.support.events() == [("ticket_task.updated", "pending", None, 2)]
        assert tx.support.ledger()["time_entries"] == {"linked": 1, "on_hold": 1}
        assert tx.support.server().split()[0] in ("postgresql", "sqlite")
