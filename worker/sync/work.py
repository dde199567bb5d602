"""Everything a drain needs to know of its ticket, read in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product

from shared.codes.reasons import Reason
from shared.config import PluginConfig
from shared.events import Event, HelpdeskUser, Ticket
from shared.store import Transaction
from shared.store.due import Due, content_of
from shared.store.ledger import IN_FLIGHT, Row
from shared.store.links import Link
from shared.store.models import EventState, LedgerState, TicketState
from shared.store.people import Match, nobody, who
from worker.sync.gates import Known, Pending, Plan, plan_times


@dataclass(frozen=True)
class Incomplete:
    """Events that lack what their helpdesk did not send, oldest first: nobody has looked yet."""

    events: list[Pending]


@dataclass(frozen=True)
class Work:
    """What is known of a ticket.

    Attributes:
        events: pending and due events, oldest first.
        state: desired state, its snapshot the newest known.
        ticket: that snapshot.
        link: what the project rule resolved, None where nothing is linked.
        issue_row: the ledger row of the issue.
        time_rows: ledger rows by ticket-task id: those of the events, and those not settled yet.
        technician: who the assigned technician is on the tracker.
        people: the helpdesk users who are to log time (`shared.store.people.who`), and who they are on the tracker.
        members: (tracker project, tracker user) to whether the membership is known, for these people.
        administrators: the tracker's administrators, as far as they are known.
        statuses: the tracker's statuses, likewise.
        now: the database's clock.
        is_complete: whether the events are all that are due; older ones may be left.
        plan: what the events of ticket tasks ask for.
    """

    events: list[Pending]
    state: TicketState
    ticket: Ticket
    link: Link | None
    issue_row: Row | None
    time_rows: dict[int, Row]
    technician: Match
    people: Mapping[tuple[int, str | None], Match]
    members: Mapping[tuple[int, int], bool]
    administrators: tuple[int, ...]
    statuses: frozenset[int]
    now: datetime
    is_complete: bool = True
    plan: Plan = field(default_factory=Plan)

    @property
    def task_events(self) -> list[Pending]:
        """The events of ticket tasks."""
        return [pending for pending in self.events if pending.event.task]

    @property
    def ticket_events(self) -> list[Pending]:
        """The ticket updates."""
        return [pending for pending in self.events if not pending.event.task]

    @property
    def unsettled_times(self) -> dict[int, Row]:
        """Time entries that were begun and are not settled, by ticket-task id."""
        return {task_id: row for task_id, row in self.time_rows.items() if row.state in IN_FLIGHT}

    @property
    def is_issue_unsettled(self) -> bool:
        """Whether the issue was begun and is not settled."""
        return self.issue_row is not None and self.issue_row.state in IN_FLIGHT

    @property
    def is_issue_linked(self) -> bool:
        """Whether the ticket has its issue."""
        return self.issue_row is not None and self.issue_row.state == LedgerState.LINKED


def load(tx: Transaction, ticket_id: int, settling: float, config: PluginConfig) -> Work | Incomplete | None:
    """Read a ticket's pending events, move its snapshot to the newest of them, and read all that bears on it.

    Args:
        tx: an open transaction; it is to be committed, since the snapshot moves.
        ticket_id: the ticket.
        settling: seconds in which a call that got no clear answer may still take effect.
        config: the plugin configuration.

    Returns:
        The work; what is to be completed first; or None where nothing was ever heard of the ticket.
    """
    due = tx.journal.due(ticket_id)
    contents = {row.id: content_of(row) for row in due.rows}
    rows = due.rows
    if unreadable := [event_id for event_id, content in contents.items() if content is None]:
        tx.journal.end(unreadable, EventState.FAILED, Reason.EVENT_UNREADABLE())
        rows = []  # what it may have hidden is looked at when they are out of the way
    events = [Pending(row.id, content, row.attempts) for row in rows if (content := contents[row.id])]
    unseen = {row.id for row in rows if row.completion is None}
    if lacking := [one for one in events if one.event.incomplete and one.id in unseen]:
        return Incomplete(lacking)
    state = None
    for row, pending in zip(rows, events, strict=True):
        if pending.event.task is None or row is rows[-1]:
            state = _fold(tx, row, pending, settling, config) or state
    tx.people.note_seen(_people(events))
    state = state or tx.tickets.get(ticket_id)
    if state is None:
        return None
    ticket = Ticket.model_validate(state.snapshot)
    task_events = [pending for pending in events if pending.event.task]
    time_rows = tx.times.of_drain(ticket_id, {pending.task.id for pending in task_events})
    logged = {
        task_id: row.tracker_id
        for task_id, row in time_rows.items()
        if row.state == LedgerState.LINKED and row.tracker_id is not None
    }
    plan = plan_times(task_events, logged, config, _newest(tx, task_events))
    link, issue_row = tx.links.resolve(ticket.project_id, ticket.entity_id), tx.issues.get(ticket_id)
    logging = [one.newest.task.user for one in plan.wanted] if link else []
    users = [user for user in (ticket.technician, *logging) if user]
    people = tx.people.pin_all(users, administrators=config.match_administrators)
    technician = people[who(ticket.technician)] if ticket.technician else nobody()
    administrators, statuses = tx.metadata.needed()
    return Work(
        events=events,
        state=state,
        ticket=ticket,
        link=link,
        issue_row=issue_row,
        time_rows=time_rows,
        technician=technician,
        people=people,
        members=_members(tx, link, issue_row, people.values()),
        administrators=administrators,
        statuses=statuses,
        now=due.now or tx.now(),
        is_complete=due.is_complete,
        plan=plan,
    )


def _fold(
    tx: Transaction, row: Due, pending: Pending, settling: float, config: PluginConfig
) -> TicketState | None:
    """Move the ticket's snapshot to an event's; where it is there already, see whether its status is due again."""
    state = tx.tickets.fold(row, pending.event, settling)
    if state is None:
        wanted = config.status_map.get(pending.event.ticket.status)
        is_update, is_fresh = pending.event.task is None, row.attempts == 0
        tx.tickets.give_again(row.ticket_id, row.id, settling, wanted, is_update=is_update, is_fresh=is_fresh)
    return state


def _members(
    tx: Transaction, link: Link | None, issue_row: Row | None, people: Collection[Match]
) -> dict[tuple[int, int], bool]:
    """Return which memberships are known of the linked project and of the one where the issue is."""
    named = (link and link.tracker_project_id, issue_row and issue_row.tracker_project_id)
    projects = {project_id for project_id in named if project_id}
    users = {one.person.tracker_user_id for one in people if one.person}
    known = tx.people.members(projects, users)
    return {one: one in known for one in product(projects, users)}


def _newest(tx: Transaction, events: Sequence[Pending]) -> dict[int, Known]:
    """Return the newest event of each ticket task of some events, whatever became of it."""
    read = {one.id: one.event for one in events}
    newest = tx.journal.newest_of_tasks({one.task.id for one in events})
    for row in tx.journal.by_ids(set(newest.values()) - read.keys()):
        if event := content_of(row):
            read[row.id] = event
    return {
        task_id: Known(event_id, read[event_id]) for task_id, event_id in newest.items() if event_id in read
    }


def as_of(tx: Transaction, work: Work, event: Event, *, administrators: bool = True) -> Work:
    """Return the work as it would be if an earlier event of the ticket were its newest."""
    ticket = event.ticket
    return replace(
        work,
        ticket=ticket,
        link=tx.links.resolve(ticket.project_id, ticket.entity_id) or work.link,
        technician=tx.people.match(ticket.technician, administrators=administrators),
    )


def _people(events: list[Pending]) -> Iterator[HelpdeskUser]:
    """Return the helpdesk users that events name."""
    for pending in events:
        task = pending.event.task
        yield from (one for one in (pending.event.ticket.technician, task.user if task else None) if one)
