"""The oracle: checks what must be true after every failure ended, from the events and the tracker's own data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import select

from shared.events.event import Deletion, Event
from shared.events.snapshots import Document, document_in
from shared.events.stored import stored
from shared.notices.kinds import ADDITIONS, Kind
from shared.notices.reasons import Reason
from shared.store.journal.ticket_queries import Desired
from shared.store.journal.tickets import TicketStates
from shared.store.ledger.transitions import IN_FLIGHT
from shared.store.tables.journal import EventState, JournalEvent, TicketState
from shared.store.tables.ledger import MODELS, LedgerRow, LedgerState
from tests.model.helpdesk import NOT_SENT, content_of
from tests.model.tracker import Made, Row
from tests.model.world import World
from tests.support.bridge import STATUS_MAP
from tests.support.events import DONE
from worker.ticket.retry import MOST_ATTEMPTS, MOST_ROUNDS


@dataclass(frozen=True)
class Ended:
    """The final state of the journal, the tickets and the ledger, read once."""

    world: World
    journal: list[JournalEvent]
    events: dict[int, Event]
    deletions: dict[int, Deletion]
    states: dict[int, Desired]
    rows: dict[Kind, dict[int, LedgerRow]]

    def linked(self, kind: Kind) -> dict[int, int]:
        """Return the key of each linked row, by tracker id."""
        return {
            row.tracker_id: key
            for key, row in self.rows[kind].items()
            if row.state == LedgerState.LINKED and row.tracker_id is not None
        }

    def taken(self, kind: Kind) -> set[int]:
        """Return the linked tracker ids of every kind that the tracker numbers in the same series."""
        return {tracker_id for one in _alike(kind) for tracker_id in self.linked(one)}

    def held(self, *kinds: Kind) -> list[LedgerRow]:
        """Return the rows that are on hold."""
        return [row for kind in kinds for row in self.rows[kind].values() if row.state == LedgerState.ON_HOLD]

    def shown(self, kind: Kind) -> set[int]:
        """Return the tracker ids that a person is shown with rows on hold."""
        rows = self.held(*_alike(kind))
        ids = {one for row in rows for one in [row.tracker_id, *(row.candidates or ())]}
        return {one for one in ids if one is not None}

    def newest(self, rows: Iterable[JournalEvent]) -> JournalEvent:
        """Return the newest of some events."""
        return max(rows, key=lambda row: (row.occurred_at, row.sequence, row.id))

    def is_deleted(self, ticket_id: int) -> bool:
        """Tell whether a ticket's newest deletion or restoration is a deletion."""
        said = [one for one in self.journal if one.ticket_id == ticket_id and one.task_id is None]
        said = [one for one in said if one.id in self.deletions]
        return bool(said) and self.deletions[self.newest(said).id].is_deleted

    def left_over(self) -> list[Made]:
        """Return the created objects that still exist and are neither linked nor shown to a person."""
        return [
            made
            for made in self.world.tracker.made
            if self.on_tracker(made)
            and made.tracker_id not in self.taken(made.kind)
            and made.tracker_id not in self.shown(made.kind)
        ]

    def on_tracker(self, made: Made) -> bool:
        """Tell whether an object still exists on the tracker."""
        return made.tracker_id in self.there(made.kind)

    def there(self, kind: Kind) -> Collection[int]:
        """Return the ids of the tracker's objects of a kind."""
        tracker = self.world.tracker
        if kind.is_addition:
            return tracker.attachments() if kind is Kind.DOCUMENT else tracker.notes()
        return tracker.data.issues if kind is Kind.TICKET else tracker.data.time_entries


def _alike(kind: Kind) -> list[Kind]:
    """Return the kinds that the tracker numbers in the same series."""
    return [one for one in Kind if one.noun == kind.noun]


def look(world: World) -> Ended:
    """Read the final state."""
    with world.database.transaction() as session:
        journal = list(session.scalars(select(JournalEvent).order_by(JournalEvent.id)))
        tickets = session.scalars(select(TicketState.ticket_id)).all()
        states = TicketStates(session).some(tickets)
        rows: dict[Kind, dict[int, LedgerRow]] = {
            kind: {row.key: row for row in session.scalars(select(model))} for kind, model in MODELS.items()
        }
    said = {row.id: stored(row.payload) for row in journal}
    events = {event_id: one for event_id, one in said.items() if isinstance(one, Event)}
    deletions = {event_id: one for event_id, one in said.items() if isinstance(one, Deletion)}
    return Ended(world, journal, events, deletions, states, rows)


def faults(world: World, *, decided: bool = False) -> list[str]:
    """Return every violation of the guarantees.

    Args:
        world: the world, after it has healed.
        decided: a person decided every row on hold and replayed every failed event; none of either may be left.
    """
    ended = look(world)
    found = [*_journal(ended), *_synced(ended), *_once(ended), *_wanted(ended), *_contents(ended)]
    found += [*_deleted(ended), *_additions(ended), *world.overtaken]
    found += [*_held(ended)] if not decided else [*_nothing_left(ended)]
    return found


def _journal(ended: Ended) -> Iterator[str]:
    by_id = {row.id: row.delivery_id for row in ended.journal}
    accepted: dict[str, set[int]] = {}
    for event_id, delivery_id in ended.world.accepted:
        accepted.setdefault(delivery_id, set()).add(event_id)
        if event_id not in by_id:
            yield f"accepted, and not in the journal: {delivery_id}"
    for delivery_id, ids in accepted.items():
        if len(ids) > 1:
            yield f"{delivery_id} came again and is in the journal as events {sorted(ids)}"


def _synced(ended: Ended) -> Iterator[str]:
    for row in ended.journal:
        if row.state == EventState.PENDING:
            yield f"event {row.id} is still pending: {row.reason}"
    for kind, rows in ended.rows.items():
        for key, one in rows.items():
            if one.state in IN_FLIGHT:
                yield f"{kind} {key} is still {one.state}: {one.reason}"
    linked = ended.linked(Kind.TICKET).values()
    for state in ended.states.values():
        if state.status_due and state.ticket_id in linked:
            yield f"the status of ticket {state.ticket_id} is still due: {state.status_reason}"


def _once(ended: Ended) -> Iterator[str]:
    """Check that each created object is linked, shown to a person, or equal to one that a person is asked about."""
    alike: dict[str, list[Made]] = {}
    for made in ended.left_over():
        alike.setdefault(made.fingerprint, []).append(made)
    for fingerprint, left in alike.items():
        rows = ended.held(*ended.rows)
        asked = [row for row in rows if row.fingerprint == fingerprint and _may_be_another(ended, row)]
        excused = [one for one in ended.world.tracker.made if one.is_excused and ended.on_tracker(one)]
        excused = [one for one in excused if one.fingerprint == fingerprint]
        if len(left) > len(asked) + len(excused):
            names = ", ".join(f"{one.kind.noun} #{one.tracker_id} (created for {one.key})" for one in left)
            yield f"of these {len(left) - len(asked)} belong to nothing: {names}"


def _may_be_another(ended: Ended, row: LedgerRow) -> bool:
    """Tell whether a person is asked about an object that was never seen; with policy `hold`, also for a duplicate."""
    return not row.duplicate or ended.world.rules.policy == "hold"


def _passing(ended: Ended) -> dict[int, list[Event]]:
    """Return the Done snapshots with time, by ticket task."""
    found: dict[int, list[Event]] = {}
    for event in ended.events.values():
        if event.task and event.task.state == DONE and event.task.actiontime > 0:
            found.setdefault(event.task.id, []).append(event)
    return found


def _wanted(ended: Ended) -> Iterator[str]:
    """Check that each Done ticket task, and no other, has its time entry and issue, unless it waits for a person."""
    settled = (LedgerState.LINKED, LedgerState.ON_HOLD)
    passing = _passing(ended)
    failed = {row.task_id for row in ended.journal if row.state == EventState.FAILED}
    held = {row.ticket_id for row in ended.held(Kind.TICKET, Kind.TICKET_TASK)}
    for task_id in passing:
        logged = ended.rows[Kind.TICKET_TASK].get(task_id)
        is_logged = logged is not None and logged.state == LedgerState.LINKED
        ticket_id = logged.ticket_id if logged and is_logged else _ticket_at_last(ended, task_id)
        if task_id in failed or ticket_id in held or not _is_done_at_last(ended, task_id):
            continue
        if ended.is_deleted(ticket_id):
            continue
        for kind, key in ((Kind.TICKET, ticket_id), (Kind.TICKET_TASK, task_id)):
            row = ended.rows[kind].get(key)
            if row is None or row.state not in settled:
                yield f"{kind} {key} was never created"
    for key in ended.linked(Kind.TICKET_TASK).values():
        if key not in passing:
            yield f"time was logged for ticket task {key}, which never was Done"
    for key in ended.linked(Kind.TICKET).values():
        if not any(event.ticket.id == key for events in passing.values() for event in events):
            yield f"an issue was created for ticket {key}, which has no Done ticket task"


def _at_last(ended: Ended, task_id: int) -> Event | Deletion:
    newest = ended.newest(row for row in ended.journal if row.task_id == task_id)
    return ended.events.get(newest.id) or ended.deletions[newest.id]


def _ticket_at_last(ended: Ended, task_id: int) -> int:
    """Return the ticket that a ticket task belongs to according to its newest event."""
    return _at_last(ended, task_id).ticket.id


def _is_done_at_last(ended: Ended, task_id: int) -> bool:
    """Tell whether a ticket task is Done and has time in its newest event; otherwise nothing need be created."""
    event = _at_last(ended, task_id)
    task = event.task if isinstance(event, Event) else None
    return task is not None and task.state == DONE and task.actiontime > 0


def _contents(ended: Ended) -> Iterator[str]:
    """Check that each linked object exists on the tracker and has the content of an event."""
    data, passing = ended.world.tracker.data, _passing(ended)
    for issue_id, ticket_id in ended.linked(Kind.TICKET).items():
        issue = data.issues.get(issue_id)
        titles = {event.ticket.title for event in ended.events.values() if event.ticket.id == ticket_id}
        if issue is None or issue.subject not in titles:
            yield f"ticket {ticket_id} is linked to issue #{issue_id}, which is not its own: {issue}"
        else:
            yield from _status(ended, ticket_id, issue.status_id)
    issues = {ticket_id: issue_id for issue_id, ticket_id in ended.linked(Kind.TICKET).items()}
    for entry_id, task_id in ended.linked(Kind.TICKET_TASK).items():
        entry = data.time_entries.get(entry_id)
        events = passing.get(task_id, [])
        said = {
            (one.task.actiontime / 3600, _as_stored(ended, one.task.content)) for one in events if one.task
        }
        if entry is None or (entry.hours, entry.comments) not in said:
            yield f"ticket task {task_id} is linked to time entry #{entry_id}, which is not its own: {entry}"
        elif entry.issue_id not in {issues.get(one.ticket.id, entry.issue_id) for one in events}:
            yield f"time entry #{entry_id} of ticket task {task_id} is on #{entry.issue_id}, another ticket's issue"


def _status(ended: Ended, ticket_id: int, status_id: int) -> Iterator[str]:
    rows = [row for row in ended.journal if row.ticket_id == ticket_id and row.id in ended.events]
    if ended.is_deleted(ticket_id):
        return
    newest = ended.newest(rows)
    wanted = STATUS_MAP[ended.events[newest.id].ticket.status]
    refused = EventState.FAILED in (row.state for row in rows) or ended.states[ticket_id].status_reason
    if status_id != wanted and not refused:
        yield f"the issue of ticket {ticket_id} has status {status_id}, not {wanted} as event {newest.id} says"


def _additions(ended: Ended) -> Iterator[str]:
    """Check that each addition to a ticket with an issue is a note or an attachment of it, or waits for a person."""
    said: dict[Row, list[Event]] = {}
    for event in ended.events.values():
        if event.addition and event.addition.id not in NOT_SENT:
            said.setdefault((event.addition_kind, event.addition_key), []).append(event)
    issues = {ticket_id: issue_id for issue_id, ticket_id in ended.linked(Kind.TICKET).items()}
    failed = {row.key for row in ended.journal if row.state == EventState.FAILED}
    for (kind, key), events in said.items():
        ticket_id, row = events[0].ticket.id, ended.rows[kind].get(key)
        if row is not None and row.state == LedgerState.LINKED:
            of_kind = _attachment if kind is Kind.DOCUMENT else _note
            yield from of_kind(ended, row, events, issues.get(ticket_id))
        elif row is not None and row.state == LedgerState.ON_HOLD:
            continue
        elif ticket_id in issues and f"{kind}:{key}" not in failed and not ended.is_deleted(ticket_id):
            yield f"{kind} {key} was never sent"
    for kind in ADDITIONS:
        for key in ended.linked(kind).values():
            if (kind, key) not in said:
                yield f"a {kind.noun} was sent for {kind} {key}, of which nothing was heard or is to be sent"


def _note(ended: Ended, row: LedgerRow, events: list[Event], issue_id: int | None) -> Iterator[str]:
    """Check that the linked note is on the ticket's issue, has an event's text, and is private if all events are."""
    place, found = ended.world.tracker.notes().get(row.tracker_id or 0, (None, None))
    notes = [event.note for event in events if event.note]
    if found is None or found["notes"] not in {_as_stored(ended, one.content) for one in notes}:
        yield f"{row.kind} {row.key} is linked to note #{row.tracker_id}, which is not its own: {found}"
    elif place != issue_id and issue_id is not None:
        yield f"{row.kind} {row.key} is linked to note #{row.tracker_id} of #{place}, another ticket's issue"
    elif all(one.is_private for one in notes) and not found["private_notes"]:
        yield f"{row.kind} {row.key} is private, and note #{row.tracker_id} is public"


def _as_stored(ended: Ended, text: str | None) -> str | None:
    """Return a text as the tracker stores it."""
    return f"<p>{text}</p>" if ended.world.rules.edits_texts else text


def _attachment(ended: Ended, row: LedgerRow, events: list[Event], issue_id: int | None) -> Iterator[str]:
    """Check that the linked attachment is on the ticket's issue, is the same file, and has the name from an event."""
    found = ended.world.tracker.attachments().get(row.tracker_id or 0)
    digest = sha256(content_of(document_in(row.key))).hexdigest()
    names = {_attached_as(event.document) for event in events if event.document}
    if found is None or found.digest != digest or found.filename not in names:
        yield f"{row.kind} {row.key} is linked to attachment #{row.tracker_id}, which is not its own: {found}"
    elif found.issue_id != issue_id and issue_id is not None:
        place = f"#{found.issue_id}, another ticket's issue"
        yield f"{row.kind} {row.key} is linked to attachment #{row.tracker_id} of {place}"


def _attached_as(document: Document) -> str:
    """Return the name that a document has on the tracker; a picture's name contains the document's number."""
    stem, _, ending = str(document.name).rpartition(".")
    return f"{stem}-{document.id}.{ending}" if ending == "png" else str(document.name)


def _deleted(ended: Ended) -> Iterator[str]:
    """Check that no event stays skipped for a deletion after its ticket was restored."""
    for row in ended.journal:
        if row.has_code(Reason.TICKET_DELETED) and not ended.is_deleted(row.ticket_id):
            yield f"event {row.id} is skipped as of a deleted ticket, which is back"


def _held(ended: Ended) -> Iterator[str]:
    """Check that each row and event on hold has a true reason."""
    held = {row.ticket_id for row in ended.held(*ended.rows)}
    held_tasks = {row.key for row in ended.held(Kind.TICKET_TASK)}
    for event in ended.journal:
        waits = event.ticket_id in held or event.task_id in held_tasks
        if event.state == EventState.ON_HOLD and not waits:
            yield f"event {event.id} is held, and nothing of its ticket or task is: {event.reason}"
    for kind, rows in ended.rows.items():
        for key, row in rows.items():
            if row.state == LedgerState.GONE:
                yield f"{kind} {key} is said to be gone: {row.reason}"
            elif row.state == LedgerState.ON_HOLD and not _is_true(ended, kind, row):
                yield f"{kind} {key} is held, and its reason is not true: {row.reason}"


def _is_true(ended: Ended, kind: Kind, row: LedgerRow) -> bool:
    if row.duplicate:
        its_own = [one for one in row.candidates or () if one not in ended.taken(kind)]
        made = [one for one in ended.world.tracker.made if (one.kind, one.key) == (kind, row.key)]
        # with policy `hold` nobody looked for the result of an unanswered attempt, nor did the person who retried it
        known = 1 if ended.world.rules.policy == "hold" else 2
        return len(its_own) >= known and any(one.overdue for one in made)
    if row.has_code(Reason.ISSUE_GIVEN_UP) or row.has_code(Reason.ISSUE_IS_ANOTHERS):
        return True
    if row.unclear and row.unclear >= MOST_ATTEMPTS:
        return True
    if ended.world.rules.edits_texts and row.candidates:
        return True
    return ended.world.rules.policy == "hold" or row.rounds + 1 >= MOST_ROUNDS


def _nothing_left(ended: Ended) -> Iterator[str]:
    for row in ended.journal:
        if row.state in (EventState.ON_HOLD, EventState.FAILED):
            yield f"event {row.id} is still {row.state}: {row.reason}"
    for kind, rows in ended.rows.items():
        for key, one in rows.items():
            if one.state in (LedgerState.ON_HOLD, LedgerState.GONE):
                yield f"{kind} {key} is still {one.state}: {one.reason}"
