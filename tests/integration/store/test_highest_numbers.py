"""The highest numbers of the help desk's items are known, whatever was linked, deleted or is past its retention."""

from __future__ import annotations

from sqlalchemy import update

from producer.admin.queries.highest import highest_numbers
from producer.admin.records.transaction import Store
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.journal.installations import installation_id
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.types import clock
from shared.values.ids import new_sample
from tests.integration.store.conftest import Append
from tests.support.events import (
    deletion,
    document_event,
    followup,
    followup_event,
    on_ticket,
    solution_event,
    task_event,
    ticket_event,
)


def of_each(store: Store) -> dict[str, int]:
    return {one.kind: one.highest for one in highest_numbers(store)}


def prune_all(store: Store, *event_ids: int) -> None:
    with store.transaction() as tx:
        tx.journal.end(list(event_ids), EventState.DONE, written("a test"))
    with store.database.transaction() as session:
        session.execute(update(JournalEvent).values(ended_at=clock(-1e9)))
    with store.transaction() as tx:
        assert tx.journal.prune(90, 100) == len(event_ids)


def test_without_an_event_there_is_none(store: Store) -> None:
    assert set(of_each(store).values()) == {0}


def test_every_kind_is_counted_although_nothing_was_linked_and_all_is_past_its_retention(
    store: Store, append: Append
) -> None:
    installation_id(store.database)
    events = [
        on_ticket(task_event(), 4711, 600),
        on_ticket(task_event(), 4709, 512),
        followup_event(of_followup=followup(81)),
        solution_event(),
        document_event(),
        deletion(1, "ticket.deleted", ticket_id=4720),
    ]
    ids = [one.event_id for one in append(*events)]
    expected = {"ticket": 4720, "ticket-task": 600, "followup": 81, "solution": 77, "document": 91}
    assert of_each(store) == expected
    prune_all(store, *ids)
    assert of_each(store) == expected
    prune_all(store, *(one.event_id for one in append(on_ticket(ticket_event(), 4000))))
    assert of_each(store) == expected


def test_what_was_imported_counts_and_a_sample_does_not(store: Store, append: Append) -> None:
    append(on_ticket(task_event(), new_sample(), new_sample()))
    with store.transaction() as tx:
        about = {"tracker_project_id": 1, "issue_id": None, "author_id": None}
        assert tx.ledger(Kind.TICKET).take_over(5000, 5000, 12, **about)
    assert of_each(store)["ticket"] == 5000
    assert of_each(store)["ticket-task"] == 0


def test_the_statement_lets_the_help_desk_continue_above(store: Store, append: Append) -> None:
    append(on_ticket(ticket_event(), 4711))
    statements = {one.kind: one.statement for one in highest_numbers(store)}
    assert statements["ticket"] == "ALTER TABLE glpi_tickets AUTO_INCREMENT = 4712;"
