"""The workflow of a ticket, from top to bottom: lock, load, plan; then issue, time entries and notes, status."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self, TypeVar

from shared.errors import BridgeError, Outdated, TrackerOutage, TrackerRejected
from shared.events.event import Event
from shared.notices.kinds import Kind, RowId
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.trial import Would
from shared.redis.locks import HeldLock
from shared.store.transaction import Transaction
from shared.telemetry.logs import get_logger
from shared.templating.operations import Operation
from shared.tracker.uploads import UPLOADS
from shared.values.newest_event import NewestEvent
from worker.ticket import trial
from worker.ticket.adding import Additions
from worker.ticket.addresses import find_additional
from worker.ticket.bodies import built
from worker.ticket.context import DbOp, Services, TicketContext
from worker.ticket.create import ClaimedCreation, create
from worker.ticket.error_table import Events, effect_of
from worker.ticket.fields import give_fields
from worker.ticket.finish import EventFinisher
from worker.ticket.gone import ISSUE_MAY_BE_GONE, issue_gone
from worker.ticket.impersonation import Sender
from worker.ticket.load import Incomplete, Loaded, TooManyEvents, Work, confirmed_epoch, load
from worker.ticket.log_context import bind_event_fields
from worker.ticket.plan import BY_SETTINGS, Pending, Plan
from worker.ticket.requests import IssueCreation, TimeEntryCreation, logged
from worker.ticket.resolve import noted_author, resolve_row
from worker.ticket.results import AlreadyDone, Created, Result, Sent, Skipped, Waiting
from worker.ticket.retry import is_exhausted
from worker.ticket.status import drop, give_status
from worker.ticket.steps import Blocking, Holding, Pool

log = get_logger("sync")

T = TypeVar("T")
SendToIssue = Callable[[Pending, Created], Awaitable[Result]]


@dataclass(frozen=True)
class Forwarded:
    """The result of one sync pass over a ticket.

    Attributes:
        results: the results of the work, in order.
        answered: whether the tracker gave any clear answer.
        is_more_due: whether more work is due now, for which there may be no queue message.
    """

    results: list[Result]
    answered: bool
    is_more_due: bool


async def forward(
    using: Services, ticket_id: int, lock: HeldLock, *, asks_first: bool = False, probes: bool = False
) -> Forwarded:
    """Do the due work of a ticket once, under its lock.

    Args:
        using: the services of the worker.
        ticket_id: the ticket.
        lock: its lock, which is released at the end.
        asks_first: whether to check that the tracker is open before anything is sent, because it had refused the key
            or given no clear answers.
        probes: whether all other tickets wait for the tracker's answer; if nothing has to be sent, it is still queried.

    Raises:
        LockBusy: if the lock was lost, the process is stopping or an outage has begun.
        TrackerError: on an outage: the tracker is unreachable, busy or closed; the remaining work stays pending.
        SettingsError: if the tracker is not configured.
    """
    ctx, results = None, list[Result]()
    try:
        async with Holding(using.locks, lock):
            ctx, work = await _loaded(using, ticket_id, lock)
            ctx.probes = probes
            if isinstance(work, Work | Incomplete):
                ctx.about = bind_event_fields(work.events)
            if isinstance(work, Incomplete):
                results = await ctx.helpdesk(using.completion.complete, ticket_id, work.events)
            elif isinstance(work, Work):
                if asks_first:
                    # a key without rights would create in its owner's name, and an unclear answer leaves a row in doubt
                    await ctx.tracker.check_access()
                results = await _synced(ctx, work)
            if probes and not ctx.answered:
                await ctx.tracker.check_access()
    finally:
        is_more_due = ctx is not None and (await HasDueEvents(ctx) or ctx.is_outdated)
        if ctx is not None and ctx.to_notify:
            await ctx.blocking(using.notify, sorted(ctx.to_notify))
    return Forwarded(results, ctx.answered, is_more_due)


async def _synced(ctx: TicketContext, work: Work) -> list[Result]:
    """Do the work; if the settings change meanwhile, the rest stays due and is loaded again."""
    forwarding = Forwarding(ctx, work)
    try:
        return await forwarding.carry_out()
    except Outdated:
        log.info("settings were changed meanwhile; the rest is loaded again", ticket_id=ctx.ticket_id)
        ctx.is_outdated = True
        return forwarding.results


async def _loaded(using: Services, ticket_id: int, lock: HeldLock) -> tuple[TicketContext, Loaded]:
    ctx, work = await Load(using, ticket_id, lock)
    if isinstance(work, TooManyEvents):
        return await Blocking(Pool.OTHERS, Load(using, ticket_id, lock, alone=True).carry_out)
    return ctx, work


@dataclass(frozen=True)
class HasDueEvents(DbOp[bool]):
    """A query whether the ticket has due events.

    A message that arrived while the lock was held found it busy, so the query runs after the lock's release.
    """

    ctx: TicketContext
    lane: ClassVar[Literal["write", "read"]] = "read"
    durable: ClassVar[bool] = False
    order: ClassVar[int] = 1

    def owner(self) -> TicketContext:
        return self.ctx

    @classmethod
    def execute_many(cls, tx: Transaction, operations: Sequence[Self]) -> Sequence[bool]:
        """Query several tickets in one statement."""
        due = tx.journal.have_due([one.ctx.ticket_id for one in operations])
        return [one.ctx.ticket_id in due for one in operations]


@dataclass(frozen=True)
class Load(DbOp[tuple[TicketContext, Loaded]]):
    """An operation that reads all data of a ticket's workflow, and moves its snapshot to its newest event."""

    using: Services
    ticket_id: int
    lock: HeldLock
    alone: bool = False
    lane: ClassVar[Literal["write", "read"]] = "read"
    durable: ClassVar[bool] = False  # it can be repeated from the journal

    def owner(self) -> Services:
        return self.using

    @classmethod
    def execute_many(
        cls, tx: Transaction, operations: Sequence[Self]
    ) -> Sequence[tuple[TicketContext, Loaded]]:
        """Load several tickets, in as many statements as for one.

        Raises:
            SettingsError: if the database may lack what was sent to the tracker, or has no usable settings.
        """
        using, settings = operations[0].using, operations[0].using.settings
        epoch = confirmed_epoch(tx, [one.lock for one in operations], settings.retention_days)
        config, tracker = using.connect(tx)
        basis = tx.configs.basis
        known = using.settings_cache.as_of(basis)
        templates = known.templates(tx)
        ids, alone = [one.ticket_id for one in operations], operations[0].alone
        works = load(tx, ids, settings.settling_time, config, known, alone=alone)
        found = []
        for one in operations:
            work = works[one.ticket_id]
            ctx = TicketContext(
                using, one.ticket_id, config, tracker, one.lock, templates, cached=known, basis=basis
            )
            if isinstance(work, Work):
                one.lock.newest = NewestEvent.of(epoch, *work.newest) if work.newest else None
                ctx.created = work.created
                ctx.people.update(work.people)
                ctx.members.update(work.members)
            found.append((ctx, work))
        return found


class Forwarding:
    """Carries out the work of one ticket.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
    """

    def __init__(self, ctx: TicketContext, work: Work) -> None:
        self._ctx = ctx
        self._work = work
        self._events = EventFinisher(ctx, work.now)
        self._additions = Additions(ctx, work, self._events)
        self._begun: ClaimedCreation | None = None  # the first time entry, if claimed with its issue's link
        self._planned: dict[int, Notice] = {}  # in trial mode, by event: the issue that it would create

    @property
    def results(self) -> list[Result]:
        """The results so far, in order."""
        return self._events.results

    async def carry_out(self) -> list[Result]:
        """End the events that send nothing, then send; return the results, in order."""
        work, plan = self._work, self._work.plan
        await self._end_what_sends_nothing(plan)
        wanted = [] if work.mapping is None else await self._with_attempts_left(plan.wanted)
        additions = [] if work.mapping is None else await self._with_attempts_left(plan.additions)
        issue = await self._issue(wanted)
        if isinstance(issue, Created):
            if (issue.fields or work.state.fields_due) and not self._ctx.config.trial:
                issue = replace(issue, fields=tuple(await give_fields(self._ctx, work, issue)))
            await self._add_to(issue, wanted, additions)
        else:
            await self._additions.end(additions, issue)
        await self._settle({one.row_id for one in (*wanted, *additions)})
        await self._status(issue)
        return self.results

    async def _end_what_sends_nothing(self, plan: Plan) -> None:
        work, events = self._work, self._events
        for event_id, closed in plan.skipped.items():
            by_setting = closed.code in BY_SETTINGS
            await events.end([event_id], Skipped(closed, follows_from_settings=by_setting))
        for event_id, entry_id in plan.logged.items():
            await events.end([event_id], AlreadyDone(await self._logged_before(event_id, entry_id)))
        await self._additions.end_what_is_there()
        additions = {one.id: one.event for one in work.addition_events}
        for event_id, other_id in plan.superseded.items():
            other = _superseding(additions.get(event_id))
            await events.supersede([event_id], other(event_id=other_id))
        if work.is_deleted:
            await events.end(_ids(work.ticket_events), Skipped(Reason.TICKET_DELETED()))
        elif work.mapping is None:
            no_link = Skipped(Reason.NO_LINK(), follows_from_settings=True)
            await events.end(_ids(plan.wanted + plan.additions + work.ticket_events), no_link)
        if not work.is_complete:
            await self._ctx.db.change(partial(self._supersede_unread, plan))

    def _supersede_unread(self, plan: Plan, tx: Transaction) -> None:
        """End older events that were not loaded: if they stayed due, they would be loaded again at once."""
        for one in plan.wanted:
            tx.journal.supersede_older(one.id, Reason.NEWER_TASK_EVENT(event_id=one.id))
        for newest in self._work.ticket_events[-1:]:
            tx.journal.supersede_older(newest.id, Reason.NEWER_TICKET_EVENT(event_id=newest.id))

    async def _with_attempts_left(self, wanted: list[Pending]) -> list[Pending]:
        """Fail events without attempts left, unless their creation is claimed or in doubt; return the others."""
        left = []
        for one in wanted:
            settling = self._work.is_issue_unsettled or one.row_id in self._work.unsettled
            if is_exhausted(one.attempts) and not settling and not self._ctx.config.trial:
                await self._give_up(one)
            else:
                left.append(one)
        return left

    async def _give_up(self, one: Pending) -> None:
        """Fail an event, and name the cause of its last failed attempt."""

        def cause(tx: Transaction) -> Notice | None:
            stored = tx.journal.get(one.id)
            return stored.notice if stored else None

        because = await self._ctx.db.change(cause)
        await self._events.fail([one.id], Reason.GAVE_UP(count=one.attempts, because=because))

    async def _issue(self, asking: list[Pending]) -> Created | Waiting | None:
        """Return the ticket's issue, created if an event needs it, or what it waits for; None if there is none."""
        if not asking and self._work.issue_row is None:
            return None
        outcome = await self._attempt(asking, self._settled_or_new_issue(asking))
        if isinstance(outcome, Waiting):
            await self._events.end(_ids(asking), outcome)
        return outcome

    async def _settled_or_new_issue(self, asking: list[Pending]) -> Created | Waiting | None:
        ctx, work = self._ctx, self._work
        if asking or work.plan.additions:
            await find_additional(ctx, work)
        outcome = await resolve_row(ctx, Kind.TICKET, ctx.ticket_id, work.issue_row, work.now)
        if isinstance(outcome, Created) and asking:
            return replace(outcome, wrong_author=await self._wrong_author_of(outcome.tracker_id))
        if outcome or not asking:
            return outcome
        await self._additions.name_pictures()
        creation = await built(ctx, IssueCreation.of, ctx, work, asking[0], _tried(asking))
        if ctx.config.trial:
            return await self._not_created(creation.sender)
        outcome, self._begun = await create(creation, work.issue_row, following=asking[0])
        return outcome

    async def _not_created(self, sender: Sender) -> Created:
        """Return a placeholder for the issue that trial mode does not create; only one event reports the creation."""
        ctx = self._ctx
        first = await ctx.db.change(lambda tx: tx.journal.first_pending_task(ctx.ticket_id))
        if first is not None:
            self._planned[first] = await trial.new_issue(ctx, sender.project_id, sender.person)
        return Created(trial.NOT_CREATED, sender.project_id)

    async def _time_entry(self, asking: Pending, issue: Created) -> Result:
        """Log a ticket task's time on the ticket's issue, once."""
        ctx, work, task_id = self._ctx, self._work, asking.task.id
        row, begun, self._begun = work.rows.get(asking.row_id), self._begun, None
        outcome: Created | Waiting | None
        if begun is not None:
            outcome, _ = await create(begun.creation, row, begun.attempt)
        else:
            outcome = await resolve_row(ctx, Kind.TICKET_TASK, task_id, row, work.now)
        if outcome is None:
            creation = await built(ctx, TimeEntryCreation.of, ctx, work, asking, issue)
            if ctx.config.trial:
                would = trial.time_entry(creation.body, asking.task, issue, creation.sender.person)
                first = self._planned.get(asking.id)
                return trial.planned(ctx, work.now, first or would, would if first else None)
            outcome, _ = await create(creation, row)
        if isinstance(outcome, Waiting):
            return outcome
        made: dict[str, object] = {"time_entry_id": outcome.tracker_id, "issue_id": issue.tracker_id}
        made["fields"] = list(issue.fields) or None
        if outcome.now:
            return Sent(logged(outcome.wrong_author, issue.wrong_author, **made))
        noted = await noted_author(ctx, Kind.TICKET_TASK, task_id, outcome.tracker_id)
        return AlreadyDone(logged(noted, issue.wrong_author, **made))

    async def _logged_before(self, event_id: int, entry_id: int) -> Notice:
        """Return the reason of an event whose time entry exists; of its own one it includes wrong authors."""
        for (kind, key), row in self._work.rows.items():
            if (kind, row.tracker_id, row.event_id) == (Kind.TICKET_TASK, entry_id, event_id):
                wrong = await noted_author(self._ctx, kind, key, entry_id)
                of_issue = await self._wrong_author_of(row.issue_id)
                if wrong or of_issue:
                    return logged(wrong, of_issue, time_entry_id=entry_id, issue_id=row.issue_id)
        return Reason.LOGGED_BEFORE(time_entry_id=entry_id)

    async def _wrong_author_of(self, issue_id: int | None) -> Notice | None:
        """Return why an earlier pass gave the ticket's issue a wrong author, if its events have not told that yet.

        Work that arrived after the issue is not wrong itself, so its events do not tell it.
        """
        row = self._work.issue_row
        began = row.claimed_at if row else None
        if began is None or all((one.received_at or began) > began for one in self._work.task_events):
            return None
        return await noted_author(self._ctx, Kind.TICKET, self._ctx.ticket_id, issue_id)

    async def _add_to(self, issue: Created, wanted: list[Pending], additions: list[Pending]) -> None:
        """Send time entries, notes and attachments in event order; if an addition waits, later ones wait too."""
        is_any = additions or self._work.state.notes_wait
        first = await self._additions.first(issue, additions) if is_any else []
        place = {one.id: number for number, one in enumerate(self._work.events)}
        is_waiting = False
        for asking in sorted(wanted + first, key=lambda one: place[one.id]):
            if asking.event.task:
                await self._send(asking, issue, self._time_entry)
            elif not is_waiting or self._ctx.config.trial:
                is_waiting = await self._send(asking, issue, self._additions.addition)
        # additions that were not sent stay due: the next pass sends them, or has them wait for earlier ones

    async def _send(self, asking: Pending, issue: Created, send: SendToIssue) -> bool:
        """Send something to the issue, and end its event; return whether later additions must wait for it."""
        before = len(self.results)
        result = await self._attempt([asking], self._unless_gone(asking, issue, send))
        if isinstance(result, Sent):
            self._events.results.append(result)  # its event ended in the linking commit
        elif result is not None:
            await self._events.end([asking.id], result)
        return any(
            isinstance(one, Waiting) and one.on_hold is None and one.reason.code != Reason.DOCUMENT_MISSING
            for one in self.results[before:]
        )

    async def _unless_gone(self, asking: Pending, issue: Created, send: SendToIssue) -> Result:
        """Send something to the issue; if the tracker refuses it because the issue is gone, wait for a decision."""
        try:
            return await send(asking, issue)
        except TrackerRejected as rejection:
            is_about_issue = rejection.path != UPLOADS and rejection.status in ISSUE_MAY_BE_GONE
            if is_about_issue and (gone := await issue_gone(self._ctx, issue.tracker_id)):
                return gone
            raise

    async def _settle(self, attempted: set[RowId]) -> None:
        """Resolve unfinished creations on the issue that this pass has not attempted."""
        for (kind, key), row in self._work.unsettled.items():
            if (kind, key) not in attempted:
                await self._attempt([], resolve_row(self._ctx, kind, key, row, self._work.now))

    async def _status(self, issue: Created | Waiting | None) -> None:
        """Set the newest status if it is due, and end the ticket updates."""
        ctx, work, events, state = self._ctx, self._work, self._events, self._work.state
        deleted_status_id = work.deleted_status_id(ctx.config)
        if work.is_deleted and (deleted_status_id is None or work.issue_row is None):
            if state.status_due and work.issue_row is not None:
                dropping = partial(drop, ctx, state, work.issue_row.tracker_id, Reason.TICKET_DELETED())
                await ctx.db.change(dropping)
            return
        if work.mapping is None:
            if state.status_due and work.issue_row is not None:
                issue_id = work.issue_row.tracker_id
                await ctx.db.change_if_current(partial(drop, ctx, state, issue_id, Reason.NO_LINK()))
            return
        is_given = deleted_status_id is None and isinstance(issue, Created) and issue.is_status_given
        if not work.is_issue_linked and not is_given:  # linking the issue may have changed it
            now = await ctx.db.change(lambda tx: tx.statuses.get(ctx.ticket_id))
            state = now or state
        is_due = state.status_due or (deleted_status_id is not None and not state.status_dropped)
        updates = [] if work.is_deleted else work.ticket_events  # those of a deleted ticket have ended
        desired, status = state.newest_mapped(ctx.config.status_map)
        if Operation.ISSUE_UPDATE_STATUS in ctx.templates:  # it may map what status_map lacks
            desired = state.event_id
        newest = [one.id for one in updates if one.id == desired]
        unmapped = [one.id for one in updates if one.id == state.event_id != desired]
        older = [one.id for one in updates if one.id not in (*newest, *unmapped)]
        by_newest = [one.id for one in updates if one.id in older and not _is_mapped(ctx, one)]
        before = [event_id for event_id in older if event_id not in by_newest]
        await events.supersede(before, Reason.NEWER_TICKET_EVENT(event_id=desired))
        await events.supersede(by_newest, Reason.NEWER_TICKET_EVENT(event_id=state.event_id))
        if unmapped and deleted_status_id is None and isinstance(issue, Created):
            not_mapped = Skipped(Reason.STATUS_NOT_MAPPED(status=state.status), follows_from_settings=True)
            await events.end(unmapped, not_mapped)
        else:
            newest += unmapped
        if isinstance(issue, Waiting):
            await events.end(newest, issue)
        elif issue is None:
            await events.end(newest, await self._without_issue())
        elif issue.tracker_id == trial.NOT_CREATED:
            await events.end(newest, trial.planned(ctx, work.now, Would.GIVE_STATUS()))
        elif is_given or not is_due:
            await events.end(newest, AlreadyDone(Reason.STATUS_AS_IT_IS(issue_id=issue.tracker_id)))
        elif state.status_next_at and state.status_next_at > work.now:
            reason = state.status_notice or Reason.STATUS_WAITS()
            await events.end(newest, Waiting(reason, until=state.status_next_at))
        else:
            try:
                given = await give_status(ctx, replace(work, state=state), issue)
            except TrackerRejected as rejection:
                refused = Reason.STATUS_REFUSED(because=rejection.notice)
                await events.fail(newest, refused, of_status=status)
            else:
                if newest or not isinstance(given, Skipped):
                    await events.end(newest, given)

    async def _without_issue(self) -> Result:
        """Return the result of a ticket update without an issue: skipped, or waiting if trial mode plans the issue."""
        ctx = self._ctx
        if ctx.config.trial:
            waiting = await ctx.db.change(lambda tx: tx.journal.first_pending_task(ctx.ticket_id))
            if waiting is not None:
                return trial.planned(ctx, self._work.now, Would.GIVE_STATUS())
        return Skipped(Reason.NO_ISSUE())

    async def _attempt(self, events: list[Pending], doing: Awaitable[T]) -> T | None:
        """Await an action; if it fails, do with its events what the error table says."""
        try:
            return await doing
        except BridgeError as error:
            effect, ids = effect_of(error), _ids(events)
            if effect.events is Events.FAIL:
                await self._events.fail(ids, error.notice)
            elif effect.events in (Events.WAIT, Events.WAIT_LONGER):
                tried = 0 if effect.events is Events.WAIT else _tried(events)
                until = self._ctx.later(self._work.now, tried)
                waiting = Waiting(error.notice, until=until, attempt=effect.costs_attempt)
                await self._events.end(ids, waiting)
            else:
                if isinstance(error, TrackerOutage) and error.may_have_acted:
                    await self._events.end(ids, Waiting(error.notice, attempt=effect.costs_attempt))
                raise
        return None


def _superseding(addition: Event | None) -> Reason:
    """Return the reason code of a superseded event: of an addition, or if None of a ticket task."""
    if addition is None:
        return Reason.NEWER_TASK_EVENT
    return Reason.NEWER_NOTE_EVENT if addition.document is None else Reason.EARLIER_DOCUMENT_EVENT


def _ids(events: list[Pending]) -> list[int]:
    return [one.id for one in events]


def _is_mapped(ctx: TicketContext, one: Pending) -> bool:
    return one.event.ticket.status in ctx.config.status_map


def _tried(events: list[Pending]) -> int:
    return max((one.attempts for one in events), default=0)
