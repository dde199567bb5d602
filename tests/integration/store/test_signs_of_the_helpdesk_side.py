"""What the doctor queries about the help desk, over both databases: skipped tickets, and active producers."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from producer.admin.records.transaction import Store
from shared.notices.reasons import Reason
from shared.process.itself import Process
from shared.store.journal.journal_queries import Unlinked
from shared.store.tables.journal import EventState, JournalEvent, ProducerSign
from shared.store.tables.types import clock
from tests.support.events import stored_event, ticket, ticket_event


def skip(store: Store, append: Any, number: int, **of_ticket: Any) -> None:
    (one,) = append(ticket_event(number, of_ticket=ticket(number, **of_ticket)))
    with store.transaction() as tx:
        row = tx.journal.get(one.event_id)
        assert row is not None
        tx.statuses.fold_all([(row, stored_event(row.payload))], 15)
        tx.journal.end([row.id], EventState.SKIPPED, Reason.NO_LINK())


def test_skipped_tickets_are_counted_by_entity_and_project(store: Store, append: Any) -> None:
    for number in (1, 2, 3):
        skip(store, append, number, entity_id=44, entity_name="Acme")
    skip(store, append, 4, entity_id=44, project_id=9)
    skip(store, append, 5, entity_id=45)
    with store.transaction() as tx:
        first, *others = tx.journal.unlinked(3600)
        assert first == Unlinked(44, None, 3, 1, "Acme")
        assert set(others) == {Unlinked(44, 9, 1, 4, None), Unlinked(45, None, 1, 5, None)}
        tx.session.execute(update(JournalEvent).values(received_at=clock(-7200)))
        assert tx.journal.unlinked(3600) == []


def test_a_producer_has_one_row_however_often_it_is_started(store: Store) -> None:
    with store.transaction() as tx:
        tx.producers.mark("a:8080", Process("a", 1, "1", "x"), [])
        tx.producers.mark("a:8080", Process("a", 2, "2", "y"), [{"code": "z"}], [{"waiting": 3}])
        (one,) = tx.producers.seen()
        assert (one.process, one.refused) == (Process("a", 2, "2", "y"), [{"code": "z"}])
        assert one.spools == [{"waiting": 3}]
        assert 0 <= one.seconds < 60
        assert tx.producers.prune() == 0
        tx.session.execute(update(ProducerSign).values(seen_at=clock(-8 * 86400)))
        assert tx.producers.seen() == []
        assert tx.producers.prune() == 1
