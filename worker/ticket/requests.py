"""Requests that create a ticket's issue or a ticket task's time entry on the tracker (SPEC section 3).

Additions to an issue, such as notes, are in `additions.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from shared.bodies.contexts import RenderInput
from shared.bodies.precedence import RenderedBody
from shared.events.authors import author_of
from shared.events.event import Event
from shared.events.payloads import Body, issue_body, not_taken, time_entry_body, watchers_of
from shared.events.snapshots import HelpdeskUser
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.configuration.matching import Match, nobody, who
from shared.store.journal.journal import Done
from shared.store.journal.ticket_queries import Desired
from shared.store.ledger.statements import Claim
from shared.store.tables.ledger import LedgerRow
from shared.store.transaction import Transaction
from shared.templating.operations import Operation
from worker.ticket.bodies import choose_body
from worker.ticket.confirmed import WATCHERS, Watchers
from worker.ticket.context import TicketContext
from worker.ticket.impersonation import Sender
from worker.ticket.load import Work, as_of
from worker.ticket.match import fingerprint
from worker.ticket.plan import Pending
from worker.ticket.results import Created
from worker.ticket.status import note_given

C = TypeVar("C", bound="Creation")


@dataclass(frozen=True)
class Linked(Generic[C]):
    """A creation whose row has just been linked.

    Attributes:
        found: the tracker's object.
        wrong: why its author is not the intended one, or None.
    """

    creation: C
    found: dict[str, Any]
    wrong: Notice | None


@dataclass(frozen=True)
class Creation(ABC):
    """One object to create on the tracker.

    Attributes:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
        asking: the event that asks for it.
        key: the key of its ledger row.
        chosen: the request body, and its source.
        sender: sends it on behalf of the right person.
        issue: the issue that a time entry or an addition belongs to.
    """

    kind: ClassVar[Kind]
    operation: ClassVar[Operation]
    method: ClassVar[str] = "POST"
    read_with_issue: ClassVar[str | None] = None
    """What is read together with the issue when that is recognised before the request."""

    ctx: TicketContext
    work: Work
    asking: Pending
    key: int
    chosen: RenderedBody
    sender: Sender
    issue: Created | None = None

    @property
    def issue_id(self) -> int | None:
        """The issue that a time entry or an addition belongs to."""
        return self.issue.tracker_id if self.issue else None

    @property
    def newest_before(self) -> int | None:
        """The newest tracker id of its series that was read before the request; None if none was read."""
        return None

    @property
    def item_created_at(self) -> datetime | None:
        """When the help desk created what it is for, if known."""
        return (self.asking.event if self.issue else self.work.ticket).created

    @property
    def task_id(self) -> int | None:
        """The ticket task of a time entry."""
        return self.key if self.kind is Kind.TICKET_TASK else None

    @property
    def path(self) -> str:
        """The path of the request."""
        return self.kind.path

    def forms(self) -> list[Creation]:
        """Return the creation in each form in which it may have been sent."""
        return [self]

    async def prepared(self) -> Creation:
        """Return the creation in its final form, now that its sender is known; nothing is claimed yet.

        Raises:
            BridgeError: if it cannot be sent now.
        """
        return self

    async def send(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:  # noqa: ARG002
        """Send it as the person, or else as the API user; return the tracker's object.

        Args:
            attempt: the number of the claimed attempt.
            before_send: called right before each request is sent; an error that it raises stops the request.

        Raises:
            KeyError: if the answer has no object.
            BridgeError: as for `Sender.send`.
        """
        answer = await self.sender.send(self.method, self.path, self.body, before_send)
        return answer.object(self.kind.wire_name)

    @classmethod
    @abstractmethod
    def all_linked(cls, tx: Transaction, links: Sequence[Linked[Self]]) -> list[bool]:
        """Make the changes that are committed together with the links.

        Args:
            tx: the linking transaction.
            links: the linked creations, each of another ticket.

        Returns:
            For each, whether it was created with the ticket's newest status.
        """

    @abstractmethod
    def as_of(self, event: Event) -> Creation:
        """Return the same creation as an earlier event of the journal would have requested it."""

    def not_taken(self, found: dict[str, Any]) -> list[str]:  # noqa: ARG002
        """Return the fields that the tracker did not store as they were sent.

        Args:
            found: the tracker's object.
        """
        return []

    @property
    def body(self) -> Body:
        return self.chosen.body

    @property
    def named(self) -> list[int]:
        """The author that the body itself names, if any; a template may name one if no person is known."""
        user_id = self.body[self.kind.wire_name].get("user_id")
        return [user_id] if isinstance(user_id, int) else []

    def claim(self, row: LedgerRow | None = None) -> Claim:
        """Return the claim that is stored before the request is sent.

        Args:
            row: the current ledger row; bodies that its attempts sent without a clear answer are kept.
        """
        sent = [*(row.earlier or []), row.body] if row is not None and row.unclear else []
        person, administrators = self.sender.person, self.sender.administrators
        possible = {*administrators, *([person.tracker_user_id] if person else []), *self.named}
        return Claim(
            key=self.key,
            ticket_id=self.ctx.ticket_id,
            event_id=self.asking.id,
            tracker_project_id=self.sender.project_id,
            issue_id=self.issue_id,
            body=self.body,
            authors=sorted(possible) if administrators else [],  # the API user may become the author
            fingerprint=fingerprint(self.kind, self.body, self.issue_id),
            earlier=_distinct([one for one in sent if one is not None and one != self.body]),
            newest_before=self.newest_before,
            item_created_at=self.item_created_at,
        )


class IssueCreation(Creation):
    """A ticket's issue, from the ticket's newest snapshot."""

    kind = Kind.TICKET
    operation = Operation.ISSUE_CREATE

    @classmethod
    def of(cls, ctx: TicketContext, work: Work, asking: Pending, tried: int = 0) -> IssueCreation:
        """Return the issue that an event asks for.

        Args:
            ctx: the ticket's context.
            work: the loaded data of the ticket; a project mapping applies.
            asking: the event.
            tried: the number of earlier attempts.
        """
        link = work.mapping
        assert link is not None, "the project rule comes before any creation"  # noqa: S101
        event = asking.event
        about = RenderInput(
            ticket=work.ticket,
            task=event.task,
            occurred_at=event.occurred_at,
            event_name=event.event,
            link=link,
            project_id=link.tracker_project_id,
            person=work.technician.person,
            status=work.status(ctx.config.status_map),
        )
        plain = partial(
            issue_body,
            work.ticket,
            link.tracker_project_id,
            link.default_category_id,
            ctx.config,
            about.status,
            ctx.attached,
        )
        chosen = choose_body(ctx, cls.operation, about, plain)
        project_id = chosen.body["issue"]["project_id"]  # a template may override the mapping's project
        is_member = _is_member(ctx, work.technician, project_id)
        about = replace(about, project_id=project_id)
        sender = Sender(ctx, work.technician, about, is_member, work.administrators, tried)
        return cls(ctx, work, asking, ctx.ticket_id, chosen, sender)

    def as_of(self, event: Event) -> IssueCreation:
        """Return the same creation as an earlier event would have requested it."""
        with self.ctx.store.transaction() as tx:
            work = as_of(tx, self.work, event, administrators=self.ctx.config.match_administrators)
        return IssueCreation.of(self.ctx, work, Pending(self.asking.id, event))

    def not_taken(self, found: dict[str, Any]) -> list[str]:
        """Return the fields of the issue that the tracker dropped or replaced, and watchers that are not confirmed."""
        fields = not_taken(self.body, found)
        watchers = Watchers(self.sender.project_id, watchers_of(self.body))
        if watchers.user_ids and not self.ctx.services.confirmed.is_known(watchers):
            fields.append(WATCHERS)  # the answer does not list them, so they must be read
        return fields

    @classmethod
    def all_linked(cls, tx: Transaction, links: Sequence[Linked[Self]]) -> list[bool]:
        """Record which status is still due by the current status map, and which fields are."""
        status_map = tx.configs.status_map()
        given, owing, is_given = (
            list[tuple[TicketContext, Desired, int | None]](),
            dict[int, int | None](),
            [],
        )
        for one in links:
            creation, has = one.creation, (one.found.get("status") or {}).get("id")
            ctx, state = creation.ctx, creation.work.state
            its_map = ctx.config.status_map  # its body was built with this map
            wanted = its_map.get(creation.work.status(its_map))
            is_given.append(creation._has_its_status(has, wanted))
            if is_given[-1]:
                given.append((ctx, state, has if wanted is None else wanted))
            elif is_given[-1] is False:
                owing[ctx.ticket_id] = has
            fields = creation.not_taken(one.found)
            if fields or state.fields_due or state.fields_kept:
                tx.statuses.owe_fields(ctx.ticket_id, fields)
            ctx.note(
                What.ISSUE_CREATED(
                    issue_id=one.found.get("id"),
                    tracker_project_id=creation.sender.project_id,
                    link=creation.work.mapping.notice if creation.work.mapping else None,
                    match=creation.work.technician.why,
                )
            )
        tx.statuses.mark_due(owing, status_map)
        newest = note_given(tx, status_map, given)
        return [one.creation.ctx.ticket_id in newest for one in links]

    def _has_its_status(self, has: int | None, wanted: int | None) -> bool | None:
        """Return whether an issue has the ticket's newest status; None if that is unknown, so that it stays due.

        A status that a template chose is kept until the ticket changes, provided that the issue's status is known.
        """
        ctx, chosen = self.ctx, self.chosen
        if Operation.ISSUE_UPDATE_STATUS in ctx.templates and not chosen.template and wanted is None:
            return None  # the template may map what status_map lacks
        if has is not None and chosen.template and chosen.body["issue"].get("status_id") in (None, has):
            return True
        return wanted in (None, has)


class TimeEntryCreation(Creation):
    """A ticket task's time on the ticket's issue, from the task's newest Done snapshot."""

    issue: Created

    kind = Kind.TICKET_TASK
    operation = Operation.TIME_ENTRY_CREATE

    @classmethod
    def of(
        cls, ctx: TicketContext, work: Work, asking: Pending, issue: Created, event: Event | None = None
    ) -> TimeEntryCreation:
        """Return the time entry that an event asks for.

        Args:
            ctx: the ticket's context.
            work: the loaded data of the ticket.
            asking: the event.
            issue: the issue that it belongs to.
            event: an earlier event of the same ticket task, used instead.
        """
        event = event or asking.event
        task = event.task or asking.task
        issue = replace(issue, project_id=ctx.moved.get(issue.tracker_id, issue.project_id))
        match = match_of(ctx, author_of(event if event.task else asking.event, ctx.config))
        is_member = _is_member(ctx, match, issue.project_id)
        about = RenderInput(
            ticket=work.ticket,
            task=task,
            occurred_at=event.occurred_at,
            event_name=event.event,
            link=work.mapping,
            project_id=issue.project_id,
            issue_id=issue.tracker_id,
            person=match.person,
        )
        plain = partial(time_entry_body, ctx.ticket_id, task, issue.tracker_id, ctx.config)
        chosen = choose_body(ctx, cls.operation, about, plain)
        sender = Sender(ctx, match, about, is_member, work.administrators, asking.attempts)
        return cls(ctx, work, asking, asking.task.id, chosen, sender, issue)

    def as_of(self, event: Event) -> TimeEntryCreation:
        """Return the same creation as an earlier event would have requested it."""
        return TimeEntryCreation.of(self.ctx, self.work, self.asking, self.issue, event)

    @classmethod
    def all_linked(cls, tx: Transaction, links: Sequence[Linked[Self]]) -> list[bool]:
        """End their events, and failed events of the same ticket tasks."""
        ended = []
        for one in links:
            creation, asking = one.creation, one.creation.asking
            made = {"time_entry_id": one.found.get("id"), "issue_id": creation.issue_id}
            fields = list(creation.issue.fields) or None
            reason = logged(one.wrong, creation.issue.wrong_author, **made, fields=fields)
            ended.append(
                Done(asking.id, asking.event.key, reason, Reason.LOGGED_BY_EVENT(event_id=asking.id))
            )
            hours = asking.task.actiontime / 3600
            told = What.HOURS_LOGGED(**made, hours=hours, task_id=creation.key)
            creation.ctx.note(told, task_id=creation.key)
        tx.journal.done_all(ended)
        return [False] * len(links)


def match_of(ctx: TicketContext, user: HelpdeskUser | None) -> Match:
    """Return the match of a help desk user on the tracker."""
    match = ctx.people.get(who(user)) if user else nobody()
    if match is None:
        with ctx.store.transaction() as tx:
            match = tx.people.pin(user, administrators=ctx.config.match_administrators)
    return match


def _is_member(ctx: TicketContext, match: Match, project_id: int) -> bool:
    """Return whether a person's membership is known, from the loaded data or this pass, else from the database."""
    if match.person is None or not project_id:
        return False
    known = ctx.members.get((project_id, match.person.tracker_user_id))
    if known is not None:
        return known
    with ctx.store.transaction() as tx:
        return tx.people.is_member(project_id, match)


def logged(wrong: Notice | None, of_issue: Notice | None, **made: object) -> Notice:
    """Return the reason for an event that logged time.

    Args:
        wrong: why the time entry has a wrong author, or None.
        of_issue: why its new issue has a wrong author, or None.
        made: the other parameters of the reason.
    """
    if wrong is None and of_issue is None:
        return Reason.TIME_LOGGED(**made)
    return Reason.TIME_LOGGED_AS_ANOTHER(**made, because=wrong, of_issue=of_issue)


def _distinct(bodies: list[Body]) -> list[Body] | None:
    return [one for number, one in enumerate(bodies) if one not in bodies[:number]] or None
