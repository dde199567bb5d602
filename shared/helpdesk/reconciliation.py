"""Adds events to the journal that the help desk has but the journal never received: lost webhooks, older changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TypeVar

from shared.events.delivery import Delivery, parse_delivery
from shared.events.event import Event
from shared.events.filter import why_filtered
from shared.events.parsing import parse, parse_event
from shared.events.place import place_of
from shared.helpdesk.lookup import Changed, HelpdeskLookup
from shared.notices.kinds import Kind, row_id_of
from shared.store.journal.ticket_queries import Desired
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Store, Transaction
from shared.values.ids import LARGEST

OVERLAP = timedelta(days=1)
"""How far to read back before the mark: clocks differ, GLPI's filter has no time zone, transactions commit late."""
ON_ITS_WAY = timedelta(minutes=15)
"""The event of a recent change may still arrive: GLPI's cron sends once a minute, and the plugin retries later."""
AT_ONCE = 200
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
) -> Reconciled:
    """Compare the help desk with the journal, and append the missing events in the order of their dates.

    Args:
        store: the database with the journal and the record of runs.
        lookup: the help desk.
        since: how far to look back; None: to the last run, with an overlap.
        hours_since: leave out ticket tasks of earlier days, now and in every later run; None: as in the last run.
        dry_run: whether to change nothing.

    Returns:
        The result. A dry run has the same counts as the run after it, if nothing changes in between.

    Raises:
        HelpdeskUnreachable: if it could not be read to the end; nothing is appended, and the mark is not moved.
    """
    with store.transaction() as tx:
        began, last = tx.now(), tx.reconciliation.get()
    read_until = last.read_until if last else began
    before = last.hours_since if last else None
    day = hours_since.isoformat() if hours_since else before
    found = Reconciled(since or read_until - OVERLAP)
    missing: list[Changed] = []
    changed: dict[int, datetime] = {}
    for batch in _batches(lookup.changed_since(found.since)):
        changed |= {one.event["ticket"]["id"]: one.changed_at for one in batch if "task" not in one.event}
        with store.transaction() as tx:
            missing += _missing(tx, batch, found, day)
    missing.sort(key=lambda one: one.changed_at)
    if last:
        overdue = (read_until - OVERLAP, began - ON_ITS_WAY)
        found.missed = sum(overdue[0] <= one.changed_at <= overdue[1] for one in missing)
    with store.transaction() as tx:
        _count(tx, missing, found)
    withdrawn = _withdrawn(store, lookup, changed)
    found.withdrawn = len(withdrawn)
    found.tickets |= {one.event["ticket"]["id"] for one in withdrawn}
    if dry_run:
        return found
    for batch in _batches([*missing, *withdrawn]):
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
        if (row is not None and row.state != LedgerState.FREE) or why_filtered(event, config):
            continue
        if hours_since and event.task.date and event.task.date < hours_since:
            found.left_out += 1
            continue
        found.missing_tasks += 1
        yield one


def _is_status_missing(state: Desired | None, event: Event) -> bool:
    """Return whether a known ticket has a new status without an event; unknown tickets wait for their first task."""
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
        person = tx.people.match(event.task.user, administrators=config.match_administrators).person
        found.seconds[HoursOf(project_id, person.login if person else "")] += event.task.actiontime


def _withdrawn(store: Store, lookup: HelpdeskLookup, changed: Mapping[int, datetime]) -> list[Changed]:
    """Return events for notes of changed tickets that were not sent yet and are now deleted or private.

    GLPI's API hides follow-ups that its user may not read, so they count as deleted only if this user sees others.
    It shows solutions to every user.
    """
    shown = dict[tuple[int, Kind], dict[int, bool] | None]()
    withdrawn = list[Changed]()
    for ticket_ids in _batches(changed):
        with store.transaction() as tx:
            rows = tx.journal.unsent_notes(ticket_ids)
            unsent = [(row.ticket_id, *row_id_of(row.key), row.occurred_at) for row in rows]
        for ticket_id, kind, number, known_at in unsent:
            if (ticket_id, kind) not in shown:
                shown[ticket_id, kind] = lookup.parts_of(ticket_id, kind)
            notes = shown[ticket_id, kind]
            if notes is not None and notes.get(number, True):
                at = max(changed[ticket_id], known_at)
                withdrawn.append(_withdrawal(ticket_id, kind, number, at, is_private=number in notes))
    seen = {Kind.SOLUTION} | {kind for (_, kind), notes in shown.items() if notes}
    return [one for one in withdrawn if not seen.isdisjoint(one.event)]


def _withdrawal(ticket_id: int, kind: Kind, number: int, at: datetime, *, is_private: bool) -> Changed:
    event = {
        "event": f"{kind}.updated" if is_private else f"{kind}.deleted",
        "occurred_at": at.isoformat(),
        "sequence": LARGEST,  # after the events of this moment
        "ticket": {"id": ticket_id},
        str(kind): {"id": number, **({"is_private": True} if is_private else {})},
    }
    return Changed(event, at)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, AT_ONCE)):
        yield batch


def _delivery(one: Changed) -> Delivery:
    return parse_delivery(one.event, f"reconcile:{parse(one.event).key}:{one.changed_at:%Y%m%dT%H%M%SZ}")
