"""Notes (`notes.py`) and attachments (`documents.py`), which are added to a ticket's issue by updating it.

The answer to such an update contains no id, and is 204 even if the tracker dropped the addition. So the issue is read
back at once, to see whether the addition exists and to get its id.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

from shared.bodies.contexts import RenderInput
from shared.errors import TrackerOutage
from shared.events.authors import is_requesters
from shared.events.event import Event
from shared.events.snapshots import HelpdeskUser
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.journal.journal import Done
from shared.store.transaction import Transaction
from shared.templating.operations import Operation
from worker.ticket.context import TicketContext
from worker.ticket.impersonation import Sender
from worker.ticket.load import Work
from worker.ticket.plan import Pending
from worker.ticket.requests import Creation, Linked, match_of
from worker.ticket.results import Created, Skipped, Waiting


class Addition(Creation):
    """A note or an attachment to add to the ticket's issue."""

    issue: Created

    operation = Operation.NOTE_CREATE
    method: ClassVar[str] = "PUT"

    @classmethod
    @abstractmethod
    def of(
        cls, ctx: TicketContext, work: Work, asking: Pending, issue: Created, event: Event | None = None
    ) -> Addition:
        """Return the addition that an event asks for.

        Args:
            ctx: the ticket's context.
            work: the loaded data of the ticket.
            asking: the event.
            issue: the issue that it belongs to.
            event: an earlier event of the same addition, used instead.
        """

    def as_of(self, event: Event) -> Addition:
        """Return the same addition as an earlier event would have requested it."""
        return self.of(self.ctx, self.work, self.asking, self.issue, event)

    @property
    def path(self) -> str:
        """The path of the issue."""
        return f"/issues/{self.issue.tracker_id}.json"

    @abstractmethod
    def trial_notice(self) -> Notice:
        """Return the notice that trial mode shows."""

    def why_nothing(self) -> Notice | None:
        """Return why nothing can be sent if that is known already, else None."""
        return None

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Self | Skipped | Waiting]:
        """Yield the addition ready to send for the block, or why it is not sent, or what it waits for."""
        yield self

    def remember(self) -> None:
        """Record for the rest of the pass that the addition exists."""

    async def send(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:
        """Send it and return the tracker's object; mark an outage during which the tracker may have added it."""
        try:
            return await self.add(attempt, before_send)
        except TrackerOutage as outage:
            outage.is_adding = (outage.method, outage.path) == (self.method, self.path)
            raise

    @abstractmethod
    async def add(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:
        """Send it and return the tracker's object."""

    @classmethod
    @abstractmethod
    def sent(cls, wrong: Notice | None, tracker_id: int, issue_id: int | None) -> Notice:
        """Return the reason with which its event ends; it names a wrong author, if any."""

    @abstractmethod
    def history_notice(self, tracker_id: int) -> Notice:
        """Return the notice for the ticket history."""

    @classmethod
    def all_linked(cls, tx: Transaction, links: Sequence[Linked[Self]]) -> list[bool]:
        """End their events, and failed events of the same additions."""
        ended = []
        for one in links:
            creation, asking = one.creation, one.creation.asking
            tracker_id = int(one.found["id"])
            reason = creation.sent(one.wrong, tracker_id, creation.issue_id)
            by_event = Reason.NOTED_BY_EVENT(event_id=asking.id)
            ended.append(Done(asking.id, asking.event.key, reason, by_event))
            creation.ctx.note(creation.history_notice(tracker_id))
        tx.journal.done_all(ended)
        return [False] * len(links)


def issue_and_sender(
    work: Work, asking: Pending, event: Event, issue: Created, user: HelpdeskUser | None, ctx: TicketContext
) -> tuple[Created, Sender]:
    """Return the issue of an addition, in its current project, and the sender of the addition.

    Args:
        work: the loaded data of the ticket.
        asking: the event that asks for it.
        event: the event that it is built from.
        issue: the issue.
        user: its author in the help desk.
        ctx: the ticket's context.
    """
    issue = replace(issue, project_id=ctx.moved.get(issue.tracker_id, issue.project_id))
    match = match_of(ctx, user)
    about = RenderInput(
        ticket=work.ticket,
        task=None,
        occurred_at=event.occurred_at,
        event_name=f"{event.addition_kind}.added",  # templates tell the kinds apart by it; an update adds, too
        link=work.mapping,
        project_id=issue.project_id,
        issue_id=issue.tracker_id,
        person=match.person,
        note=event.note,
    )
    sender = Sender(ctx, match, about, administrators=work.administrators, tried=asking.attempts)
    return issue, replace(sender, is_requesters=is_requesters(event))
