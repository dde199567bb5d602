"""Makes events pending again on request; the ledger prevents duplicates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from producer.admin.records.event_search import Wanted
from producer.admin.records.transaction import Store, Transaction
from producer.admin.services import Services
from producer.helpdesks.glpi.events import Item, read
from shared.errors import InvalidEvent
from shared.notices.changes import Did
from shared.notices.notice import Notice, codes_in
from shared.notices.reasons import Reason
from shared.notices.steps import What, Which
from shared.store.journal.journal_queries import UNREADABLE
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState

AT_ONCE = 1000
MOST_NAMED = 50
MOST_TOLD = 10_000
REPLAYABLE = (EventState.FAILED, EventState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay.

    Attributes:
        events: number of events that are pending again.
        tickets: the tickets to notify.
        unreadable: number of deliveries that still cannot be read; they stay as they are.
    """

    events: int
    tickets: list[int]
    unreadable: int = 0


def replay(
    services: Services,
    event_ids: Collection[int] = (),
    *,
    state: EventState | None = None,
    code: str | None = None,
) -> Replayed:
    """Replay events, and notify their tickets.

    Args:
        services: the collaborators.
        event_ids: the events, if no state is given.
        state: replay every event in this state.
        code: only the events in this state whose reason, or a cause within it, has this code.

    Raises:
        NotFound: as `replay_events`.
    """
    if state is None:
        done = replay_events(services.store, event_ids)
    elif code:
        done = replay_code(services.store, state, code)
    else:
        done = replay_state(services.store, state)
    services.notify(done.tickets)
    return done


def replay_events(store: Store, event_ids: Collection[int]) -> Replayed:
    """Replay the named events.

    Raises:
        NotFound: if events are not in the journal; it names them, and nothing was replayed.
    """
    wanted = set(event_ids)
    with store.transaction() as tx:
        tickets = tx.journal.replay(wanted)
        by_ticket = tx.journal.by_ticket(wanted)
        left, read = _read_again(tx, wanted)
        which = _these(sorted(wanted))
        tx.trace.append(
            [
                _step(ticket_id, _these(by_ticket[ticket_id]) if ticket_id in by_ticket else which)
                for ticket_id in tickets
            ]
        )
        tx.changes.note(Did.EVENTS_REPLAYED(count=len(wanted) - left, which=which))
    return Replayed(len(wanted) - left, sorted({*tickets, *read}), left)


def _these(event_ids: list[int]) -> Notice:
    """Return a notice with the first of some events, and how many more there are."""
    more = max(0, len(event_ids) - MOST_NAMED) or None
    return Which.EVENTS_NAMED(events=event_ids[:MOST_NAMED], more=more)


def replay_state(store: Store, state: EventState, code: str | None = None) -> Replayed:
    """Replay every event in a state, or those whose reason has a code."""
    with store.transaction() as tx:
        count = tx.journal.count(state, code=code)
        tickets = tx.journal.replay_state(state, code=code)
        unreadable = state is EventState.FAILED and code in (None, Reason.DELIVERY_UNREADABLE)
        left, read = _read_again(tx) if unreadable else (0, [])
        which = _of_state(state, code)
        tx.changes.note(Did.EVENTS_REPLAYED(count=count - left, which=which))
        tx.trace.append([_step(ticket_id, which) for ticket_id in tickets])
    return Replayed(count - left, sorted({*tickets, *read}), left)


def replay_code(store: Store, state: EventState, code: str) -> Replayed:
    """Replay the events in a state whose reason, or a cause within it, has a code."""
    if code == Reason.DELIVERY_UNREADABLE:
        return replay_state(store, state, code)
    with store.transaction() as tx:
        wanted = [event_id for event_id, why in tx.journal.reasons(state) if code in codes_in(why)]
        tickets = {
            ticket_id
            for first in range(0, len(wanted), AT_ONCE)
            for ticket_id in tx.journal.replay(wanted[first : first + AT_ONCE])
        }
        which = _of_state(state, code)
        tx.trace.append([_step(ticket_id, which) for ticket_id in sorted(tickets)])
        tx.changes.note(Did.EVENTS_REPLAYED(count=len(wanted), which=which))
    return Replayed(len(wanted), sorted(tickets))


def replay_matching(services: Services, wanted: Wanted) -> tuple[Replayed, int | None]:
    """Replay the failed or skipped events that match a filter, up to its highest id; notify their tickets.

    As with single events, failed events with the same keys are replayed too.

    Args:
        services: the collaborators.
        wanted: the filter; its state is `failed` or `skipped`, and its `upto` is set.

    Returns:
        The result, and the id of the audit log entry that lists the events; None if none matched.
    """
    with services.store.transaction() as tx:
        found = tx.events.page(wanted, limit=MOST_TOLD)
        count, told = len(found), [row.id for row in found]
        unreadable = [row.id for row in found if row.key == UNREADABLE]
        tickets = tx.journal.replay_where(tx.events.where(wanted))
        left, read = _read_again(tx, unreadable) if unreadable else (0, [])
        which = Which.EVENTS_MATCHING(**dict(_named(wanted)))
        tx.trace.append([_step(ticket_id, which) for ticket_id in tickets])
        if not count:
            return Replayed(0, []), None
        change = tx.changes.note(
            Did.EVENTS_REPLAYED(count=count - left, which=which), after={"event_ids": told}
        )
    done = Replayed(count - left, sorted({*tickets, *read}), left)
    services.notify(done.tickets)
    return done, change


def _named(wanted: Wanted) -> Iterator[tuple[str, object]]:
    for one in fields(wanted):
        value = getattr(wanted, one.name)
        if value is not None:
            yield one.name, value.isoformat() if isinstance(value, datetime) else value


def _read_again(tx: Transaction, wanted: Collection[int] | None = None) -> tuple[int, list[int]]:
    """Parse unreadable deliveries again; return how many are still unreadable, and the tickets of the others."""
    left, tickets = 0, list[int]()
    private_text = tx.journal.keeps_private_text()
    for row in tx.journal.unreadable():
        if wanted is not None and row.id not in wanted:
            continue
        try:
            kept = json.loads(row.payload)
            item = Item(kept["source"].removeprefix("glpi/"))
            delivery = read(item, kept["body"].encode("utf-8", "surrogateescape"), row.delivery_id)
        except (InvalidEvent, ValueError, KeyError, TypeError, AttributeError):
            left += 1
            continue
        delivered = [delivery] if delivery else []
        accepted = tx.journal.append(delivered, datetime.now(UTC), private_text=private_text)
        tickets += [one.ticket_id for one in accepted]
        tx.journal.remove(row.id)
    return left, tickets


def _of_state(state: EventState, code: str | None) -> Notice:
    if code is None:
        return Which.EVENTS_OF_STATE(state=str(state))
    return Which.EVENTS_OF_CODE(state=str(state), code=code)


def _step(ticket_id: int, which: Notice) -> Step:
    return Step(ticket_id, What.PERSON_REPLAYS(which=which))
