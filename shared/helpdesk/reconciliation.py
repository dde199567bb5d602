"""Feeds to the journal what the helpdesk has and the journal never saw: lost webhooks, and everything of before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TypeVar

from shared.events.delivery import Delivery, parse_delivery
from shared.events.event import Event
from shared.events.gate import closed_gate
from shared.events.parsing import parse_event
from shared.events.place import place_of
from shared.helpdesk.lookup import Changed, HelpdeskLookup
from shared.store.journal.ticket_queries import Desired
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Store, Transaction

OVERLAP = timedelta(days=1)
"""Read again before the mark: clocks differ, GLPI's filter knows no time zone, and long transactions commit late."""
ON_ITS_WAY = timedelta(minutes=15)
"""What changed a moment ago may still be on its way: GLPI's cron sends once a minute, the plugin tries again later."""
AT_ONCE = 200
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class HoursOf:
    """Time that would be logged: in which tracker project, as whom."""

    tracker_project_id: int
    person: str


@dataclass
class Reconciled:
    """What a run found, or would do.

    Attributes:
        since: how far back it looked.
        seen: tickets and Done ticket tasks that the helpdesk named.
        missing_statuses: tickets whose newest status the journal never saw.
        missing_tasks: Done ticket tasks that the journal never saw.
        missed: of all that is missing, what has changed since the last run, and not just now: it should have come in.
        unlinked_tasks: of these, those whose ticket leads to no tracker project: they send nothing.
        left_out: Done ticket tasks of before the date from which hours are wanted.
        issues: issues that come to be, by tracker project.
        seconds: time that is logged, by tracker project and person.
        tickets: those that have something new, to be notified.
    """

    since: datetime
    seen: int = 0
    missing_statuses: int = 0
    missing_tasks: int = 0
    missed: int = 0
    unlinked_tasks: int = 0
    left_out: int = 0
    issues: Counter[int] = field(default_factory=Counter)
    seconds: Counter[HoursOf] = field(default_factory=Counter)
    tickets: set[int] = field(default_factory=set)

    @property
    def missing(self) -> int:
        """How many events are missing."""
        return self.missing_statuses + self.missing_tasks


def reconcile(
    store: Store,
    lookup: HelpdeskLookup,
    since: datetime | None,
    *,
    hours_since: date | None = None,
    dry_run: bool = False,
) -> Reconciled:
    """Compare the helpdesk with the journal, and append what is missing in the order of its dates.

    Args:
        store: the journal, and what was done.
        lookup: the helpdesk.
        since: how far to look back; None: to the last run, with an overlap.
        hours_since: ticket tasks of an earlier day are left out, now and in every later run; None: as the last run did.
        dry_run: change nothing.

    Returns:
        What was missing. A dry run's counts are those of the run after it, as long as nothing changes in between.

    Raises:
        HelpdeskUnreachable: it could not be read to the end; what was found so far is kept, the mark is not moved.
    """
    with store.transaction() as tx:
        began, last = tx.now(), tx.reconciliation.get()
    read_until = last.read_until if last else began
    before = last.hours_since if last else None
    day = hours_since.isoformat() if hours_since else before
    found = Reconciled(since or read_until - OVERLAP)
    missing: list[Changed] = []
    for batch in _batches(lookup.changed_since(found.since)):
        with store.transaction() as tx:
            missing += _missing(tx, batch, found, day)
    missing.sort(key=lambda one: one.changed_at)
    if last:
        overdue = (read_until - OVERLAP, began - ON_ITS_WAY)
        found.missed = sum(overdue[0] <= one.changed_at <= overdue[1] for one in missing)
    with store.transaction() as tx:
        _count(tx, missing, found)
    if dry_run:
        return found
    for batch in _batches(missing):
        with store.transaction() as tx:
            private_text = tx.journal.keeps_private_text()
            tx.journal.append([_delivery(one) for one in batch], datetime.now(UTC), private_text=private_text)
    with store.transaction() as tx:
        is_gapless = last is None or found.since <= read_until
        tx.reconciliation.ran(began if is_gapless else read_until, found.missed, day)
    return found


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
        if (row is not None and row.state != LedgerState.FREE) or closed_gate(event, config):
            continue
        if hours_since and event.task.date and event.task.date < hours_since:
            found.left_out += 1
            continue
        found.missing_tasks += 1
        yield one


def _is_status_missing(state: Desired | None, event: Event) -> bool:
    """Return whether a ticket that is known has got a status that no one told of; others wait for their first task."""
    return state is not None and state.occurred_at < event.occurred_at and state.status != event.ticket.status


def _count(tx: Transaction, missing: Iterable[Changed], found: Reconciled) -> None:
    config, _ = tx.configs.get()
    with_issue: set[int] = set()
    for one in missing:
        event = parse_event(one.event)
        ticket, state = event.ticket, tx.statuses.get(event.ticket.id)
        found.tickets.add(ticket.id)
        if event.task is None:
            continue
        row = tx.issues.get(ticket.id)
        place = ticket.place
        if state and not place.project_ids:  # the helpdesk's API does not tell them
            place = place._replace(project_ids=place_of(state.snapshot).project_ids)
        link = tx.links.of(place)
        if link is None:
            found.unlinked_tasks += 1
            continue
        project_id = row.tracker_project_id if row and row.tracker_project_id else link.tracker_project_id
        if ticket.id not in with_issue and (row is None or row.state == LedgerState.FREE):
            found.issues[project_id] += 1
        with_issue.add(ticket.id)
        person = tx.people.match(event.task.user, administrators=config.match_administrators).person
        found.seconds[HoursOf(project_id, person.login if person else "")] += event.task.actiontime


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, AT_ONCE)):
        yield batch


def _delivery(one: Changed) -> Delivery:
    event = one.event
    what = f"ticket-task:{event['task']['id']}" if "task" in event else f"ticket:{event['ticket']['id']}"
    return parse_delivery(event, f"reconcile:{what}:{one.changed_at:%Y%m%dT%H%M%SZ}")
