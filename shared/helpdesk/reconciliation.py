"""Adds events to the journal that the help desk has but the journal never received: lost webhooks, older changes."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TypeVar

from shared.events.authors import author_of
from shared.events.delivery import Delivery, parse_delivery
from shared.events.event import Event
from shared.events.filter import why_filtered
from shared.events.parsing import parse, parse_event
from shared.events.place import place_of
from shared.helpdesk.lookup import (
    Changed,
    HelpdeskLookup,
    HelpdeskUnreachable,
    ListedNotes,
    NoteState,
    note_state,
)
from shared.notices.faults import HelpdeskFault
from shared.notices.kinds import Kind, row_id_of
from shared.store.journal.ticket_queries import Desired
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Store, Transaction
from shared.values.identity import is_another_item
from shared.values.ids import LARGEST

OVERLAP = timedelta(days=1)
"""How far to read back before the mark: clocks differ, GLPI's filter has no time zone, transactions commit late."""
ON_ITS_WAY = timedelta(minutes=15)
"""The event of a recent change may still arrive: GLPI's cron sends once a minute, and the plugin retries later."""
AT_ONCE = 200
TICKETS = "/v2/Assistance/Ticket"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class HoursOf:
    """The tracker project and person for which time would be logged."""

    tracker_project_id: int
    person: str


@dataclass
class Reconciled:
    """The result of a run, or of a dry run.

    Attributes:
        since: how far back it looked.
        seen: the number of tickets and ticket tasks that the help desk returned.
        missing_statuses: tickets whose newest status the journal never received.
        missing_tasks: Done ticket tasks that the journal never received.
        missed: missing events of changes since the last run, except recent ones; they should have arrived.
        unlinked_tasks: missing ticket tasks whose ticket has no project mapping; nothing is sent for them.
        left_out: Done ticket tasks from before the first day for which hours are wanted.
        issues: the number of issues that will be created, by tracker project.
        seconds: the time that will be logged, by tracker project and person.
        withdrawn: follow-ups and solutions that were not sent yet, and are now deleted or private.
        tickets: tickets with new events, which must be notified.
    """

    since: datetime
    seen: int = 0
    missing_statuses: int = 0
    missing_tasks: int = 0
    missed: int = 0
    unlinked_tasks: int = 0
    left_out: int = 0
    withdrawn: int = 0
    issues: Counter[int] = field(default_factory=Counter)
    seconds: Counter[HoursOf] = field(default_factory=Counter)
    tickets: set[int] = field(default_factory=set)

    @property
    def missing(self) -> int:
        """The number of missing events."""
        return self.missing_statuses + self.missing_tasks


def reconcile(
    store: Store,
    lookup: HelpdeskLookup,
    since: datetime | None,
    *,
    hours_since: date | None = None,
    dry_run: bool = False,
    seconds: float = math.inf,
    most_bytes: float = math.inf,
) -> Reconciled:
    """Compare the help desk with the journal, and append the missing events of each batch in the order of their dates.

    Args:
        store: the database with the journal and the record of runs.
        lookup: the help desk.
        since: how far to look back; None: to the last run, with an overlap.
        hours_since: leave out ticket tasks of earlier days, now and in every later run; None: as in the last run.
        dry_run: whether to change nothing.
        seconds: how long the help desk's list may go on.
        most_bytes: how much to append.

    Returns:
        The result. A dry run has the same counts as the run after it, if nothing changes in between.

    Raises:
        HelpdeskUnreachable: if it could not be read to the end. What was appended stays, and the mark is not moved:
            the next run reads everything again, and appends what is still missing.
    """
    ends = time.monotonic() + seconds
    with store.transaction() as tx:
        began, last, (config, _) = tx.now(), tx.reconciliation.get(), tx.configs.get()
    read_until = last.read_until if last else began
    before = last.hours_since if last else None
    day = hours_since.isoformat() if hours_since else before
    found = Reconciled(since or read_until - OVERLAP)
    unsent: list[_Unsent] = []
    with_issue: set[int] = set()
    for batch in _batches(_in_time(lookup.changed_since(found.since), ends)):
        with store.transaction() as tx:
            missing = sorted(_missing(tx, batch, found, day), key=lambda one: one.changed_at)
            _count(tx, missing, found, with_issue)
            unsent += _unsent(tx, batch)
            overdue = (read_until - OVERLAP, began - ON_ITS_WAY)
            missed = sum(overdue[0] <= one.changed_at <= overdue[1] for one in missing) if last else 0
            found.missed += missed
            if missed and not dry_run:  # now, as this run may not reach the end
                tx.reconciliation.missed(missed)
        if not dry_run:
            most_bytes -= _append(store, missing)
            if most_bytes < 0:
                raise _endless()
    withdrawn = list(_withdrawn(lookup, unsent, ends, also_private=config.sends_private_followups))
    found.withdrawn = len(withdrawn)
    found.tickets |= {one.event["ticket"]["id"] for one in withdrawn}
    if dry_run:
        return found
    for batch in _batches(withdrawn):
        _append(store, batch)
    with store.transaction() as tx:
        is_gapless = last is None or found.since <= read_until
        tx.reconciliation.ran(began if is_gapless else read_until, found.missed, day)
    return found


def _in_time(items: Iterable[Item], ends: float) -> Iterator[Item]:
    """Yield the items.

    Raises:
        HelpdeskUnreachable: if there are more when the time is up.
    """
    for item in items:
        if time.monotonic() > ends:
            raise _endless()
        yield item


def _endless() -> HelpdeskUnreachable:
    return HelpdeskUnreachable(HelpdeskFault.HELPDESK_TOO_SLOW(method="GET", path=TICKETS))


def _append(store: Store, batch: Iterable[Changed]) -> int:
    """Append the events of a batch; return their size in bytes."""
    deliveries = [_delivery(one) for one in batch]
    with store.transaction() as tx:
        private_text = tx.journal.keeps_private_text()
        tx.journal.append(deliveries, datetime.now(UTC), private_text=private_text)
    return sum(len(json.dumps(one.event)) for one in batch)


def _missing(
    tx: Transaction, batch: Iterable[Changed], found: Reconciled, hours_since: str | None
) -> Iterator[Changed]:
    config, _ = tx.configs.get()
    events = [(one, parse_event(one.event)) for one in batch]
    rows = tx.times.of_keys({event.task.id for _, event in events if event.task})
    newest = tx.journal.newest_of({event.key for _, event in events})
    for one, event in events:
        found.seen += 1
        if event.key in newest and newest[event.key] >= one.changed_at:
            continue
        if event.task is None:
            if _is_status_missing(tx.statuses.get(event.ticket.id), event):
                found.missing_statuses += 1
                yield one
            continue
        if event.ticket.is_deleted:
            continue
        row = rows.get(event.task.id)
        is_of_another = row is not None and is_another_item(row.item_created_at, event.created)
        is_known = row is not None and row.state != LedgerState.FREE and not is_of_another
        if is_known or why_filtered(event, config):
            continue
        if hours_since and event.task.date and event.task.date < hours_since:
            found.left_out += 1
            continue
        found.missing_tasks += 1
        yield one


def _is_status_missing(state: Desired | None, event: Event) -> bool:
    """Return whether a known ticket has a new status without an event; unknown tickets wait for their first task."""
    return state is not None and state.occurred_at < event.occurred_at and state.status != event.ticket.status


def _count(tx: Transaction, missing: Iterable[Changed], found: Reconciled, with_issue: set[int]) -> None:
    config, _ = tx.configs.get()
    for one in missing:
        event = parse_event(one.event)
        ticket, state = event.ticket, tx.statuses.get(event.ticket.id)
        found.tickets.add(ticket.id)
        if event.task is None:
            continue
        row = tx.issues.get(ticket.id)
        place = ticket.place
        if state and not place.project_ids:  # the help desk's API does not return them
            place = place._replace(project_ids=place_of(state.snapshot).project_ids)
        link = tx.mappings.of(place)
        if link is None:
            found.unlinked_tasks += 1
            continue
        project_id = row.tracker_project_id if row and row.tracker_project_id else link.tracker_project_id
        if ticket.id not in with_issue and (row is None or row.state == LedgerState.FREE):
            found.issues[project_id] += 1
        with_issue.add(ticket.id)
        person = tx.people.match(author_of(event, config), administrators=config.match_administrators).person
        found.seconds[HoursOf(project_id, person.login if person else "")] += event.task.actiontime


@dataclass(frozen=True, slots=True)
class _Unsent:
    """A note of a changed ticket that was not sent yet, and the time of its newest change."""

    ticket_id: int
    kind: Kind
    number: int
    at: datetime


def _unsent(tx: Transaction, batch: Iterable[Changed]) -> Iterator[_Unsent]:
    changed = {one.event["ticket"]["id"]: one.changed_at for one in batch if "task" not in one.event}
    for row in tx.journal.unsent_notes(changed):
        yield _Unsent(row.ticket_id, *row_id_of(row.key), max(changed[row.ticket_id], row.occurred_at))


def _withdrawn(
    lookup: HelpdeskLookup, unsent: Iterable[_Unsent], ends: float, *, also_private: bool
) -> Iterator[Changed]:
    """Yield events for notes that were not sent yet and are now deleted or private."""
    listed: ListedNotes = {}
    for one in _in_time(unsent, ends):
        note = one.ticket_id, one.kind, one.number
        state = note_state(lookup, note, listed, also_private=also_private)
        if state in (NoteState.DELETED, NoteState.PRIVATE):
            yield _withdrawal(one, is_private=state is NoteState.PRIVATE)


def _withdrawal(note: _Unsent, *, is_private: bool) -> Changed:
    event = {
        "event": f"{note.kind}.updated" if is_private else f"{note.kind}.deleted",
        "occurred_at": note.at.isoformat(),
        "sequence": LARGEST,  # after the events of this moment
        "ticket": {"id": note.ticket_id},
        str(note.kind): {"id": note.number, **({"is_private": True} if is_private else {})},
    }
    return Changed(event, note.at)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, AT_ONCE)):
        yield batch


def _delivery(one: Changed) -> Delivery:
    return parse_delivery(one.event, f"reconcile:{parse(one.event).key}:{one.changed_at:%Y%m%dT%H%M%SZ}")
