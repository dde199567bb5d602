"""The lists of pages: one page at a time, in a fixed order; other rows are neither read nor counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from producer.admin.people.misattributed import WrongAuthor, misattributed
from producer.admin.records.transaction import Store
from producer.admin.review.held import page_on_hold, row_on_hold, rows_on_hold
from shared.notices.kinds import Kind
from shared.store.journal import ticket_queries
from shared.store.tables.journal import TicketState
from shared.store.tables.ledger import (
    LedgerState,
    Misattributed,
    TaskTimeLink,
    TicketIssueLink,
)
from tests.support.events import START

MODELS = {Kind.TICKET: TicketIssueLink, Kind.TICKET_TASK: TaskTimeLink}


def put(store: Store, kind: Kind, key: int, state: LedgerState, minute: int, **values: Any) -> None:
    """Insert a ledger row that was changed at that minute."""
    keys = {"ticket_id": key} if kind is Kind.TICKET else {"task_id": key, "ticket_id": 1}
    blank = {"attempt": 1, "rounds": 0, "adopted": False, "duplicate": False}
    at = {"changed_at": START + timedelta(minutes=minute)}
    with store.database.transaction() as session:
        session.execute(insert(MODELS[kind]).values(**keys, **blank, **at, state=state, **values))


def test_what_is_held_comes_in_pages_those_waiting_longest_first(store: Store) -> None:
    states = (LedgerState.ON_HOLD, LedgerState.GONE, LedgerState.LINKED, LedgerState.IN_DOUBT)
    for number in range(24):
        kind = (Kind.TICKET, Kind.TICKET_TASK)[number // 4 % 2]
        put(store, kind, number + 1, states[number % 4], minute=number * 7 % 24)
    pages = [page_on_hold(store, limit=5, after=after) for after in range(0, 20, 5)]
    found = [(kind, row.key) for page in pages for kind, row in page]
    assert found == [(kind, row.key) for kind, row in rows_on_hold(store)]
    assert len(found) == 12
    for kind, key in found:
        assert row_on_hold(store, kind, key)
    assert row_on_hold(store, Kind.TICKET, 3) is None, "it is linked"
    assert row_on_hold(store, Kind.TICKET, 99) is None


def test_wrong_authors_come_in_pages_the_newest_first_and_none_twice(store: Store) -> None:
    for number in range(1, 31):
        kind = (Kind.TICKET, Kind.TICKET_TASK)[number % 2]
        state = LedgerState.GONE if number % 5 == 0 else LedgerState.LINKED
        put(store, kind, number, state, 0, tracker_id=100 + number, author_id=number)
        at = START + timedelta(minutes=number // 4)  # several at the same time
        noted = {"kind": str(kind), "key": number, "ticket_id": 1, "at": at}
        with store.database.transaction() as session:
            tracker_id = 0 if number % 7 == 0 else 100 + number  # linked to another one since
            session.execute(insert(Misattributed).values(**noted, tracker_id=tracker_id))
    found: list[WrongAuthor] = []
    while page := misattributed(
        store, limit=4, below=(found[-1].since, str(found[-1].kind), found[-1].key) if found else None
    ):
        found += page
    assert found == misattributed(store)
    assert sorted(one.key for one in found) == [one for one in range(1, 31) if one % 5 and one % 7]
    assert [one.author_id for one in found] == [one.key for one in found]
    assert [one.since for one in found] == sorted((one.since for one in found), reverse=True)
    with store.transaction() as tx:
        assert tx.misattributed.count() == len(found)


def test_statuses_are_counted_up_to_a_limit_and_not_more_than_some(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.transaction() as tx:
        assert tx.statuses.statuses_seen() == {}
    blank = {"event_id": 1, "occurred_at": START, "sequence": 0, "snapshot": {}, "status_due": False}
    with store.database.transaction() as session:
        for ticket_id in range(1, 31):
            status = {1: 9, 2: 2, 3: 5}.get(ticket_id, 4)
            session.execute(insert(TicketState).values(ticket_id=ticket_id, status=status, **blank))
    with store.transaction() as tx:
        assert tx.statuses.statuses_seen() == {2: 1, 4: 27, 5: 1, 9: 1}
    monkeypatch.setattr(ticket_queries, "MOST_COUNTED", 11)
    monkeypatch.setattr(ticket_queries, "MOST_STATUSES", 3)
    with store.transaction() as tx:
        assert tx.statuses.statuses_seen() == {2: 1, 4: 11, 5: 1}
