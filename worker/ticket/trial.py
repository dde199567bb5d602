"""Trial mode: each event is planned as usual, and waits with the planned action as its reason; nothing is sent.

An event is planned again after `AGAIN`, since other settings lead to another plan. When trial mode is switched off, all
waiting events are due at once, or dropped (`producer.admin.configuration.trial`).

The plan is one protection. The other is in `TicketTracker.call`, which refuses every request except a GET.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.events.payloads import Body
from shared.events.snapshots import TicketTask
from shared.events.text import hours
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.trial import Would
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import MetadataKind
from worker.ticket.context import TicketContext
from worker.ticket.results import Created, Waiting

AGAIN = timedelta(minutes=15)
NOT_CREATED = 0
"""The placeholder for the id of an issue that trial mode does not create."""


def planned(ctx: TicketContext, now: datetime, would: Notice, also: Notice | None = None) -> Waiting:
    """Return the result for an event that waits in trial mode, with the planned action.

    Args:
        ctx: the ticket's context.
        now: the database's clock when the ticket was loaded.
        would: the planned action, with a code of `Would`.
        also: the action that is planned after it.
    """
    reason = Reason.TRIAL_MODE(would=would, also=also)
    return Waiting(reason, until=ctx.now(now) + AGAIN, follows_from_settings=True)


async def new_issue(ctx: TicketContext, project_id: int, person: TrackerPerson | None) -> Notice:
    """Return the notice that an issue would be created.

    Args:
        ctx: the ticket's context.
        project_id: the Redmine project.
        person: its author, or None for the API user.
    """
    project = await _name(ctx, MetadataKind.PROJECT, project_id)
    return Would.CREATE_ISSUE(project=project, author=author(person))


def time_entry(body: Body, task: TicketTask, issue: Created, person: TrackerPerson | None) -> Notice:
    """Return the notice that time would be logged.

    Args:
        body: the request body.
        task: the ticket task.
        issue: its issue; `NOT_CREATED` means the new one.
        person: the person whose time it is, or None for the API user.
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
    """Return the notice that an issue would be updated.

    Args:
        ctx: the ticket's context.
        issue_id: the issue.
        status_id: its new status, or None if it keeps its own.
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
    """Return the login of the author, or the notice for the API user if the person is None."""
    return Would.AS_API_USER() if person is None else person.login
