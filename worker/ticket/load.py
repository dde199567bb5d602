"""All data that a sync pass needs about its ticket, loaded in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest

from shared.errors import SettingsError
from shared.events.attachments import shown_documents
from shared.events.authors import author_of, is_requesters
from shared.events.config import PluginConfig
from shared.events.event import Deletion, Event, is_private
from shared.events.place import Place
from shared.events.snapshots import LARGEST_TICKET, HelpdeskUser, Ticket, document_key
from shared.notices.kinds import Kind, RowId, row_id_of
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.redis.locks import HeldLock
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.matching import Match, nobody, who
from shared.store.journal.deletions import DeletionState
from shared.store.journal.due import Due, DueEvents, content_of
from shared.store.journal.ticket_queries import Desired
from shared.store.journal.trace import Step
from shared.store.ledger.transitions import IN_FLIGHT
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.store.transaction import Transaction
from shared.values.identity import is_another_item
from shared.values.ids import is_sample
from worker.ticket.plan import KnownEvent, Pending, Plan, plan_additions, plan_times
from worker.ticket.settings_cache import CachedSettings


@dataclass(frozen=True)
class Incomplete:
    """Events that lack data for which the help desk was not queried yet, oldest first."""

    events: list[Pending]


@dataclass(frozen=True)
class TooManyEvents:
    """A ticket with too many due events to be loaded together with others: it must be loaded alone."""


@dataclass(frozen=True)
class Work:
    """The loaded data of a ticket.

    Attributes:
        events: pending and due events, oldest first.
        state: the desired state, with the newest known snapshot.
        ticket: that snapshot.
        mapping: the project mapping that applies, or None.
        issue_row: the ledger row of the issue.
        rows: ledger rows of time entries, notes and attachments: those of the events, those that are claimed or in
            doubt, and those of documents that a text shows.
        technician: the match of the assigned technician on the tracker.
        people: help desk users who log time or write (`People.who`) to their match on the tracker.
        members: (tracker project, tracker user) to whether the membership is known, for these people.
        administrators: the tracker's administrators, as far as they are known.
        statuses: the tracker's statuses, as far as they are known.
        now: the database's clock.
        is_complete: whether these are all due events; if not, older ones were not loaded.
        is_deleted: whether the help desk has deleted the ticket, so that only `deleted_status_id` is sent for it.
        plan: what to do with the events of ticket tasks, follow-ups, solutions and documents.
        newest: id and time of receipt of the last event that arrived.
        created: when the help desk created what has these keys now, if known.
    """

    events: list[Pending]
    state: Desired
    ticket: Ticket
    mapping: ProjectMapping | None
    issue_row: LedgerRow | None
    rows: Mapping[RowId, LedgerRow]
    technician: Match
    people: Mapping[tuple[int, str | None], Match]
    members: Mapping[tuple[int, int], bool]
    administrators: tuple[int, ...]
    statuses: frozenset[int]
    now: datetime
    is_complete: bool = True
    is_deleted: bool = False
    plan: Plan = field(default_factory=Plan)
    newest: tuple[int, datetime] | None = None
    created: Mapping[RowId, datetime | None] = field(default_factory=dict)

    @property
    def task_events(self) -> list[Pending]:
        """The events of ticket tasks."""
        return [pending for pending in self.events if pending.event.task]

    @property
    def addition_events(self) -> list[Pending]:
        """The events of follow-ups, solutions and documents."""
        return [pending for pending in self.events if pending.event.addition]

    @property
    def ticket_events(self) -> list[Pending]:
        """The ticket updates."""
        return [pending for pending in self.events if pending.event.is_update]

    def deleted_status_id(self, config: PluginConfig) -> int | None:
        """Return the tracker status for the issue, if the ticket was deleted or merged, or else None."""
        return config.deleted_status_id if self.is_deleted or self.ticket.is_merged else None

    def status(self, status_map: Mapping[int, int]) -> int:
        """Return the ticket's newest mapped status, or its newest status if none is mapped."""
        status, mapped = self.ticket.status, self.state.mapped_status
        return mapped if status not in status_map and mapped is not None and mapped in status_map else status

    @property
    def unsettled(self) -> dict[RowId, LedgerRow]:
        """The ledger rows of time entries, notes and attachments that are claimed or in doubt."""
        return {one: row for one, row in self.rows.items() if row.state in IN_FLIGHT}

    @property
    def is_issue_unsettled(self) -> bool:
        """Whether the issue is claimed or in doubt."""
        return self.issue_row is not None and self.issue_row.state in IN_FLIGHT

    @property
    def is_issue_linked(self) -> bool:
        """Whether the ticket is linked to its issue."""
        return self.issue_row is not None and self.issue_row.state == LedgerState.LINKED


Loaded = Work | Incomplete | TooManyEvents | None


def confirmed_epoch(tx: Transaction, locks: Collection[HeldLock], retention_days: float) -> int:
    """Return the database's epoch, if it has what Redis remembered when the locks were taken.

    Raises:
        SettingsError: if the database may lack what was sent to the tracker.
    """
    remembered = max((one.remembered for one in locks if one.remembered), default=None)
    standing = tx.recovery.standing(remembered, retention_days)
    if standing.doubt:
        raise SettingsError(standing.doubt)
    return standing.epoch


def load(
    tx: Transaction,
    ticket_ids: Collection[int],
    settling: float,
    config: PluginConfig,
    known: CachedSettings,
    *,
    alone: bool = True,
) -> dict[int, Loaded]:
    """Load tickets: read their due events, move each snapshot to the newest event, and read the related rows.

    Args:
        tx: an open transaction; it must be committed, because snapshots move.
        ticket_ids: the tickets.
        settling: seconds in which a call that got no clear answer may still take effect.
        config: the Redmine settings.
        known: the settings cache.
        alone: whether to load a ticket even if it has very many due events; otherwise its result is `TooManyEvents`.

    Returns:
        For each ticket its data, `Incomplete` or `TooManyEvents`; None if no event ever named the ticket.
    """
    due = tx.journal.due_of(ticket_ids, few=not alone)
    found: dict[int, Loaded] = dict.fromkeys(ticket_ids)
    read = dict[int, _Read]()
    for ticket_id in sorted(due):
        one = _read(tx, due[ticket_id]) if alone or due[ticket_id].is_complete else TooManyEvents()
        if not isinstance(one, _Read):
            found[ticket_id] = one
        else:
            read[ticket_id] = one
    _end_deletions(tx, read, settling, config)
    states = _fold(tx, read, settling, config)
    known.note_seen(tx, *_people((pending.event for one in read.values() for pending in one.events), config))
    states |= tx.statuses.some(read.keys() - states.keys())
    read = {ticket_id: one for ticket_id, one in read.items() if ticket_id in states}
    return found | _works(tx, read, states, config, known)


@dataclass(frozen=True)
class _Read:
    """A ticket's due events and their journal rows; deletions are separate, since they have no snapshot."""

    due: DueEvents
    rows: list[Due]
    events: list[Pending]
    deletions: list[tuple[Due, Deletion]]

    @property
    def task_events(self) -> list[Pending]:
        return [one for one in self.events if one.event.task]

    @property
    def addition_events(self) -> list[Pending]:
        return [one for one in self.events if one.event.addition]

    @property
    def row_ids(self) -> set[RowId]:
        """The ledger rows of what the events are about, of what documents are attached to, and of documents shown."""
        asked = {one.row_id for one in self.events if not one.event.is_update}
        asked |= {row_id_of(event.key) for _, event in self.deletions if event.part}
        for one in self.addition_events:
            asked |= {one.event.holder} if one.event.holder else set()
            note = one.event.note if one.event.ticket.id <= LARGEST_TICKET else None
            shown = shown_documents(note.content, note.helpdesk_url) if note else ()
            asked |= {(Kind.DOCUMENT, document_key(one.event.ticket.id, number)) for number in shown}
        return asked

    def ticket(self, state: Desired) -> Ticket:
        """Return the newest snapshot, which usually came with one of these events."""
        of_events = (one.event.ticket for one in reversed(self.events) if one.id == state.event_id)
        return next(of_events, None) or Ticket.model_validate(state.snapshot)

    @property
    def moving(self) -> list[tuple[Due, Pending]]:
        """The events that may move the ticket's snapshot: its updates, and the newest event."""
        return [(row, one) for row, one in self.pairs if one.event.is_update or row is self.rows[-1]]

    @property
    def pairs(self) -> list[tuple[Due, Pending]]:
        """The events with their journal rows."""
        return list(zip(self.rows, self.events, strict=True))


def _read(tx: Transaction, due: DueEvents) -> _Read | Incomplete:
    """Return the events of a ticket, or those that lack data; fail events that cannot be read."""
    contents = {row.id: content_of(row) for row in due.rows}
    rows = due.rows
    if unreadable := [event_id for event_id, content in contents.items() if content is None]:
        tx.journal.end(unreadable, EventState.FAILED, Reason.EVENT_UNREADABLE())
        rows = []  # events that they may hide are loaded after they have ended
    deletions = [(row, content) for row in rows if isinstance(content := contents[row.id], Deletion)]
    rows = [row for row in rows if isinstance(contents[row.id], Event)]
    events = [
        Pending(
            row.id,
            content,
            row.attempts,
            row.delivery_id,
            row.traceparent,
            row.received_at,
            is_completed=row.completion is not None,
        )
        for row in rows
        if isinstance(content := contents[row.id], Event)
    ]
    unseen = {row.id for row in rows if row.completion is None}
    if lacking := [one for one in events if one.event.incomplete and one.id in unseen]:
        return Incomplete(lacking)
    return _Read(due, rows, events, deletions)


def _end_deletions(tx: Transaction, read: Mapping[int, _Read], settling: float, config: PluginConfig) -> None:
    """Record which tickets were deleted or restored, and end the events without a snapshot: at most a status is due."""
    deletions = [one for some in read.values() for one in some.deletions]
    said = [_deletion_state(row, event.is_deleted) for row, event in deletions if event.part is None]
    said += [
        _deletion_state(row, True)
        for some in read.values()
        for row, one in some.pairs
        if one.event.ticket.is_deleted
    ]
    _note(tx, said, None if config.deleted_status_id is None else settling)
    for row, event in deletions:
        state, reason = EventState.SKIPPED, Reason.PRIVATE_THERE()
        if event.is_deleted:
            reason = Reason.DELETED_THERE()
        elif event.part is None:
            state, reason = EventState.DONE, Reason.TICKET_RESTORED()
        tx.journal.end([row.id], state, reason)
        what = What.EVENTS_ENDED(count=1, events=[row.id], state=state, because=reason)
        tx.trace.append([Step(row.ticket_id, what, row.task_id)])


def _bring_back(tx: Transaction, read: Mapping[int, _Read], deleted: Collection[int]) -> set[int]:
    """Return the deleted tickets that a newer snapshot shows as restored."""
    pairs = [pair for ticket_id in sorted(deleted) for pair in read[ticket_id].pairs]
    return _note(
        tx, [_deletion_state(row, False) for row, one in pairs if one.event.ticket.is_deleted is False]
    )


def _note(tx: Transaction, said: Collection[DeletionState], settling: float | None = None) -> set[int]:
    """Record deletions and restorations that events report; return the tickets that are restored."""
    back = tx.deletions.note(said, settling)
    tx.trace.append([Step(ticket_id, What.TICKET_IS_BACK()) for ticket_id in back])
    return set(back)


def _deletion_state(row: Due, is_deleted: bool) -> DeletionState:
    return DeletionState(row.occurred_at, row.sequence, row.id, row.ticket_id, is_deleted)


def _fold(
    tx: Transaction, read: Mapping[int, _Read], settling: float, config: PluginConfig
) -> dict[int, Desired]:
    """Move each snapshot to its ticket's events, oldest first; if none moves it, check if a status is due again.

    Returns:
        The states that have moved.
    """
    states = dict[int, Desired]()
    for together in zip_longest(*(one.moving for one in read.values())):
        folded = [one for one in together if one is not None]
        moved = tx.statuses.fold_all(
            [(row, pending.event) for row, pending in folded], settling, config.status_map
        )
        states |= moved
        for row, pending in folded:
            if row.ticket_id not in moved:
                wanted = config.status_map.get(pending.event.ticket.status)
                is_update, is_fresh = pending.event.is_update, row.attempts == 0
                tx.statuses.retry_late_status(
                    row.ticket_id, row.id, settling, wanted, is_update=is_update, is_fresh=is_fresh
                )
                if wanted is not None:
                    tx.statuses.fold_behind(row, pending.event.ticket.status, settling, config.status_map)
    return states


def _works(
    tx: Transaction,
    read: Mapping[int, _Read],
    states: Mapping[int, Desired],
    config: PluginConfig,
    known: CachedSettings,
) -> dict[int, Work]:
    """Read the related rows of the tickets, and plan their events."""
    if not read:
        return {}
    tickets = {ticket_id: one.ticket(states[ticket_id]) for ticket_id, one in read.items()}
    read = {ticket_id: _of_this_ticket(tx, one, tickets[ticket_id]) for ticket_id, one in read.items()}
    related_rows = tx.related_rows({ticket_id: one.row_ids for ticket_id, one in read.items()})
    issue_rows, rows = related_rows.issues, related_rows.on_issue
    newest = _newest(tx, [event for one in read.values() for event in one.events], related_rows.newest)
    _remove_private_texts(tx, newest, config)
    events = {row_id: known.event for row_id, known in newest.items()}
    created = {row_id: event.created for row_id, event in events.items() if isinstance(event, Event)}
    created |= {(Kind.TICKET, ticket_id): ticket.created for ticket_id, ticket in tickets.items()}
    deleted = (
        related_rows.deleted - _bring_back(tx, read, related_rows.deleted) if related_rows.deleted else set()
    )
    plans = dict[int, Plan]()
    for ticket_id, one in read.items():
        sent, is_deleted = _linked(rows[ticket_id], created), ticket_id in deleted
        plan = plan_times(one.task_events, sent, config, newest, is_ticket_deleted=is_deleted)
        plan_additions(plan, one.addition_events, sent, config, newest, is_ticket_deleted=is_deleted)
        plans[ticket_id] = plan
    mappings = known.mappings(tx, {one.place for one in tickets.values()})
    _replay_unmapped(tx, states, tickets, mappings, plans, issue_rows)
    users = dict[int, list[HelpdeskUser]]()
    for ticket_id, ticket in tickets.items():
        is_linked = mappings[ticket.place] is not None
        plan = plans[ticket_id]
        named = [author_of(one.event, config) for one in (*plan.wanted, *plan.additions)]
        users[ticket_id] = [user for user in (ticket.technician, *(named if is_linked else ())) if user]
    every = [user for some in users.values() for user in some]
    people = known.people(tx, every, administrators=config.match_administrators)
    members = _members(tx, known, mappings.values(), issue_rows.values(), people.values())
    administrators, statuses = known.needed(tx)
    now = next((one.due.now for one in read.values() if one.due.now), None) or tx.now()
    return {
        ticket_id: Work(
            events=one.events,
            state=states[ticket_id],
            ticket=tickets[ticket_id],
            mapping=mappings[tickets[ticket_id].place],
            issue_row=issue_rows.get(ticket_id),
            rows=rows[ticket_id],
            technician=people[who(technician)] if (technician := tickets[ticket_id].technician) else nobody(),
            people={who(user): people[who(user)] for user in users[ticket_id]},
            members=members,
            administrators=administrators,
            statuses=statuses,
            now=now,
            is_complete=one.due.is_complete,
            is_deleted=ticket_id in deleted,
            plan=plans[ticket_id],
            newest=None if is_sample(ticket_id) else one.due.newest,  # a sample is deleted again
            created=created,
        )
        for ticket_id, one in read.items()
    }


def _of_this_ticket(tx: Transaction, read: _Read, ticket: Ticket) -> _Read:
    """Fail the events of an earlier ticket with this number, which a restored help desk gave to another one since."""
    others = {
        row.id: one.event.ticket.created
        for row, one in read.pairs
        if not one.event.is_update and is_another_item(one.event.ticket.created, ticket.created)
    }
    for event_id, before in others.items():
        times = {"created_at": str(ticket.created), "before": str(before)}
        tx.journal.end([event_id], EventState.FAILED, Reason.OF_EARLIER_TICKET(ticket_id=ticket.id, **times))
    rows = [row for row in read.rows if row.id not in others]
    return replace(read, rows=rows, events=[one for one in read.events if one.id not in others])


def _replay_unmapped(
    tx: Transaction,
    states: Mapping[int, Desired],
    tickets: Mapping[int, Ticket],
    mappings: Mapping[Place, ProjectMapping | None],
    plans: Mapping[int, Plan],
    issue_rows: Collection[int],
) -> None:
    """Replay events that were skipped for lack of a project mapping, once their ticket has moved to a mapped place.

    This does not cover a mapping that a person adds for the old place: that person is asked about the skipped events.
    """
    noted = dict[int, str | None]()
    for ticket_id, ticket in tickets.items():
        before, here, mapping = states[ticket_id].unlinked_place, str(ticket.place), mappings[ticket.place]
        plan = plans[ticket_id]
        if mapping is None and before != here and (plan.wanted or plan.additions or ticket_id in issue_rows):
            noted[ticket_id] = here
        elif mapping is not None and before not in (None, here):
            noted[ticket_id] = None
            tx.journal.replay_skipped([ticket_id], Reason.NO_LINK, Reason.LINK_WAS_MADE())
            tx.statuses.give_dropped([ticket_id], Reason.NO_LINK)
            what = What.REPLAYED_FOR_LINK(link=mapping.notice, tracker_project_id=mapping.tracker_project_id)
            tx.trace.append([Step(ticket_id, what)])
    tx.statuses.note_unlinked(noted)


def _linked(rows: Mapping[RowId, LedgerRow], created: Mapping[RowId, datetime | None]) -> dict[RowId, int]:
    """Return the tracker id of each row that is linked, and not to that of an earlier item with its key."""
    return {
        key: row.tracker_id
        for key, row in rows.items()
        if row.state == LedgerState.LINKED
        and row.tracker_id is not None
        and not is_another_item(row.item_created_at, created.get(key))
    }


def _members(
    tx: Transaction,
    known: CachedSettings,
    mappings: Collection[ProjectMapping | None],
    issue_rows: Collection[LedgerRow],
    people: Collection[Match],
) -> dict[tuple[int, int], bool]:
    """Return whether each person's membership is known, in the mapped projects and in the issues' projects."""
    linked = {one.tracker_project_id for one in mappings if one}
    projects = linked | {row.tracker_project_id for row in issue_rows if row.tracker_project_id}
    return known.members(tx, projects, {one.person.tracker_user_id for one in people if one.person})


def _newest(tx: Transaction, events: Sequence[Pending], newest: Collection[int]) -> dict[RowId, KnownEvent]:
    """Return the newest event of each task, note and document, whatever its state."""
    read: dict[int, Event | Deletion] = {one.id: one.event for one in events}
    for row in tx.journal.by_ids(set(newest) - read.keys()):
        if event := content_of(row):
            read[row.id] = event
    known = (KnownEvent(event_id, read[event_id]) for event_id in newest if event_id in read)
    return {row_id_of(one.event.key): one for one in known}


def _remove_private_texts(tx: Transaction, newest: Mapping[RowId, KnownEvent], config: PluginConfig) -> None:
    """Remove from older events the text of a task or follow-up that is private now, unless it may be stored."""
    kept = {Kind.TICKET_TASK: config.sends_private_text, Kind.FOLLOWUP: config.sends_private_followups}
    for (kind, _), known in newest.items():
        if is_private(known.event) and not kept.get(kind, True):
            tx.journal.remove_texts(known.event.key, known.event_id)


def as_of(tx: Transaction, work: Work, event: Event, *, administrators: bool = True) -> Work:
    """Return the data as it would be if an earlier event of the ticket were its newest."""
    ticket = event.ticket
    return replace(
        work,
        ticket=ticket,
        mapping=tx.mappings.of(ticket.place) or work.mapping,
        technician=tx.people.match(ticket.technician, administrators=administrators),
    )


def _people(events: Iterable[Event], config: PluginConfig) -> tuple[list[HelpdeskUser], set[int]]:
    """Return the help desk users whom events make an author, and the ids of those who are only requesters."""
    users, requesters, others = list[HelpdeskUser](), set[int](), set[int]()
    for event in events:
        author = author_of(event, config)
        people = [one for one in (event.ticket.technician, author) if one]
        own = {author.id} if author and is_requesters(event) else set[int]()
        users += people
        requesters |= own
        others |= {one.id for one in people} - own
    return users, requesters - others
