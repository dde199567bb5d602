"""What a person sees of the journal: what came in, what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from producer.admin.desk import Desk
from producer.admin.records.event_search import Group, Wanted
from producer.admin.records.transaction import Store
from producer.admin.showing.waiting import with_reasons
from shared.notices.notice import Notice
from shared.store.tables.journal import EventState, JournalEvent


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some of the events that match.

    Attributes:
        rows: newest first.
        newest: the newest of all that match, 0 where none does.
        matching: how many match, as far as they are counted.
        groups: the failed ones by cause.
        has_newer: whether some that match stand before the rows.
        has_older: whether some that match stand after them.
    """

    rows: Sequence[JournalEvent]
    newest: int
    matching: int
    groups: Sequence[Group]
    has_newer: bool
    has_older: bool


def latest_events(
    store: Store, *, state: str | None = None, ticket_id: int | None = None, limit: int
) -> Sequence[JournalEvent]:
    """Return events, newest first."""
    with store.transaction() as tx:
        return tx.journal.find(state=state, ticket_id=ticket_id, limit=limit)


def latest_with_reasons(
    desk: Desk, *, state: str | None = None, ticket_id: int | None = None, limit: int
) -> list[tuple[JournalEvent, Notice | None]]:
    """Return events, newest first, each with why it is as it is."""
    rows = latest_events(desk.store, state=state, ticket_id=ticket_id, limit=limit)
    return with_reasons(rows, desk.redis)


def recent_events(store: Store, most: int) -> Sequence[JournalEvent]:
    """Return the newest events, without what came in."""
    with store.transaction() as tx:
        return tx.events.page(Wanted(), limit=most)


def event_page(
    store: Store, wanted: Wanted, *, size: int, below: int | None, above: int | None, grouped: bool
) -> EventPage:
    """Return a page of the events that match.

    Args:
        store: where the journal is.
        wanted: the filter.
        size: how many events.
        below: the page begins below this id.
        above: it ends right above this one.
        grouped: whether the failed ones are told by cause.
    """
    with store.transaction() as tx:
        rows = list(tx.events.page(wanted, limit=size + 1, below=below, above=above))
        newest = next((row.id for row in tx.events.page(wanted, limit=1)), 0)
        matching = tx.events.count(wanted)
        groups = tx.events.groups() if grouped or wanted.state == EventState.FAILED else []
    more = len(rows) > size
    rows = (rows[-size:] if above is not None else rows[:size]) if more else rows
    has_older = bool(rows) and (more if above is None else True)
    return EventPage(rows, newest, matching, groups, bool(rows) and rows[0].id < newest, has_older)
