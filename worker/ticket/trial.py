"""Trial mode: each event is planned as usual, and waits with what would be done for it; nothing is sent.

An event is planned again after `AGAIN`, since other settings lead to another plan. When trial mode is switched off, all
of them are due at once, or dropped (`producer.admin.configuration.trial`).

The plan is one protection. The other is in `TicketTracker.call`: it refuses every request but a GET.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.events.payloads import Body
from shared.events.snapshots import TicketTask
from shared.events.text import hours
from shared.notices.notice import Notice
from shared.notices.reasons import Reason, Would
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import MetadataKind
from worker.ticket.context import TicketContext
from worker.ticket.results import Created, Waiting

AGAIN = timedelta(minutes=15)
NOT_CREATED = 0
"""Stands for the number of an issue that trial mode does not create."""


def planned(ctx: TicketContext, now: datetime, would: Notice, also: Notice | None = None) -> Waiting:
    """Return that an event waits, and what would be done for it.

    Args:
        ctx: the ticket's context.
        now: the database's clock when the ticket was loaded.
        would: a code of `Would`.
        also: what would be done after it.
    """
    reason = Reason.TRIAL_MODE(would=would, also=also)
    return Waiting(reason, until=ctx.now(now) + AGAIN, follows_from_settings=True)


async def new_issue(ctx: TicketContext, project_id: int, person: TrackerPerson | None) -> Notice:
    """Return that an issue would be created.

    Args:
        ctx: the ticket's context.
        project_id: the Redmine project.
        person: its author; None: the API user.
    """
    project = await _name(ctx, MetadataKind.PROJECT, project_id)
    return Would.CREATE_ISSUE(project=project, author=author(person))


def time_entry(body: Body, task: TicketTask, issue: Created, person: TrackerPerson | None) -> Notice:
    """Return that time would be logged.

    Args:
        body: the request.
        task: the ticket task.
        issue: its issue; `NOT_CREATED`: the new one.
        person: whose time it is; None: the API user's.
    """
    sent = body["time_entry"]
    written, day = sent.get("hours"), sent.get("spent_on")
    made = {
        "hours": written if isinstance(written, (int, float)) else hours(task.actiontime),
        "day": None if day is None else str(day),
        "author": author(person),
    }
    if issue.tracker_id == NOT_CREATED:
        return Would.LOG_TIME_IN_NEW(**made)
    return Would.LOG_TIME(issue_id=issue.tracker_id, **made)


async def update(ctx: TicketContext, issue_id: int, status_id: object) -> Notice:
    """Return that an issue would be updated.

    Args:
        ctx: the ticket's context.
        issue_id: the issue.
        status_id: its new status; None: it keeps its own.
    """
    if status_id is None:
        return Would.UPDATE_ISSUE(issue_id=issue_id)
    status = str(status_id)
    if isinstance(status_id, int):
        status = await _name(ctx, MetadataKind.STATUS, status_id)
    return Would.SET_STATUS(issue_id=issue_id, status=status)


async def _name(ctx: TicketContext, kind: MetadataKind, number: int) -> str:
    entry = await ctx.db.change(lambda tx: tx.metadata.get(kind, number))
    return entry.name if entry else str(number)


def author(person: TrackerPerson | None) -> str | Notice:
    """Return who would be the author; None: the API user."""
    return Would.AS_API_USER() if person is None else person.login
