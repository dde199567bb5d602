"""Notes that a ticket's follow-ups and solutions add to its issue.

The tracker silently drops a note if the person may not add notes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

from shared.bodies.contexts import RenderInput
from shared.bodies.precedence import RenderedBody
from shared.errors import (
    AnswerTooLong,
    BridgeError,
    ImpersonationRefused,
    NotYet,
    OutcomeUnknown,
    TrackerRejected,
)
from shared.events.attachments import shown_documents
from shared.events.event import Event
from shared.events.payloads import Body, note_body
from shared.events.snapshots import Note, document_key
from shared.helpdesk.lookup import HelpdeskLookup, HelpdeskRefused, NoteState, note_state
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.notices.trial import Would
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Transaction
from shared.templating.operations import Operation
from shared.tracker.answers import Answer
from shared.tracker.lists import Listed
from worker.ticket.additions import Addition, issue_and_sender
from worker.ticket.bodies import built, choose_body
from worker.ticket.context import TicketContext
from worker.ticket.enrichment import AFTER_PAUSE_S
from worker.ticket.impersonation import Confirm
from worker.ticket.load import Work
from worker.ticket.match import Candidate, fingerprint, sent_essence, unheld
from worker.ticket.plan import Pending, made_private
from worker.ticket.reconcile import CLOCK_MARGIN, of_no_row
from worker.ticket.requests import Creation
from worker.ticket.results import Created, Skipped, Waiting
from worker.ticket.search import additions_of, see_notes
from worker.ticket.trial import NOT_CREATED, author

LATE = timedelta(minutes=10)
"""A note that is sent later than this after it was written begins with its time (the help desk retries for minutes)."""


class NoteCreation(Addition):
    """A note on the ticket's issue, from a follow-up or a solution."""

    read_with_issue = Kind.FOLLOWUP.list_name

    @classmethod
    def of(
        cls, ctx: TicketContext, work: Work, asking: Pending, issue: Created, event: Event | None = None
    ) -> NoteCreation:
        """Return the note that an event asks for."""
        event = event or asking.event
        note = event.note or _note(asking)
        issue, sender = issue_and_sender(work, asking, event, issue, note.user, ctx)
        chosen = _body(ctx, work, note, sender.about)
        return cls(ctx, work, asking, note.id, chosen, sender, issue)

    def by_api_user(self, *, is_late: bool | None = None) -> NoteCreation:
        """Return the note as the API user sends it in its person's place: it names the person, as an unknown one."""
        return self._written(replace(self.sender.about, person=None), is_late)

    def forms(self) -> list[Creation]:
        """Return the note as its person and as the API user may have sent it, on time or late."""
        return [
            form
            for is_late in (False, True)
            for form in (self._written(self.sender.about, is_late), self.by_api_user(is_late=is_late))
        ]

    def _written(self, about: RenderInput, is_late: bool | None) -> NoteCreation:
        note = about.note or _note(self.asking)
        return replace(self, chosen=_body(self.ctx, self.work, note, about, is_late))

    def trial_notice(self) -> Notice:
        """Return the notice that trial mode shows."""
        made = author(self.sender.person)
        if self.issue.tracker_id == NOT_CREATED:
            return Would.ADD_NOTE_TO_NEW(author=made)
        return Would.ADD_NOTE(issue_id=self.issue.tracker_id, author=made)

    def why_nothing(self) -> Notice | None:
        """Return the reason if the note has no text, since the tracker would add none; else return None."""
        return None if self.text else Reason.NOTE_IS_EMPTY()

    @property
    def text(self) -> str:
        """The text of the note; an empty text adds no note."""
        return str(self.body["issue"].get("notes") or "").strip()

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Self | Skipped | Waiting]:
        """Yield the note as it is in the help desk now, or why it is not sent, or what it waits for.

        The help desk's own webhooks do not report that a note was deleted.

        Raises:
            NotYet: if the help desk does not show it.
        """
        is_asked = self.asking.is_completed and self.ctx.services.completion.lookup is not None
        yield await self._as_it_is_now() if is_asked else self

    async def _as_it_is_now(self) -> Self | Skipped | Waiting:
        ctx, completion = self.ctx, self.ctx.services.completion
        state = await ctx.helpdesk(completion.ask, partial(_state, ctx, self.kind, self.key))
        if isinstance(state, Notice):
            pause = timedelta(seconds=completion.paused_s() + AFTER_PAUSE_S)
            return Waiting(Fault.NOTE_AWAITED(because=state), until=ctx.now(self.work.now) + pause)
        if state is NoteState.HIDDEN:
            user = ctx.settings.glpi_api_user
            raise NotYet(Fault.NOTE_HIDDEN(kind=self.kind, key=self.key, user=user))
        if state is NoteState.DELETED:
            return Skipped(Reason.DELETED_THERE())
        if state is NoteState.PUBLIC:
            return self
        private = made_private(self.asking, ctx.config)
        if isinstance(private, Notice):
            return Skipped(private, follows_from_settings=True)
        made = await built(ctx, self.of, ctx, self.work, private, self.issue)
        return replace(self, asking=private, chosen=made.chosen, sender=made.sender)

    async def prepared(self) -> NoteCreation:
        """Return the note as the API user sends it, if the API user acts for a known person.

        The issue's notes are read first, unless this pass has read them: what is newer afterwards may be this note.
        """
        if self.newest_before is None:
            try:
                await self._notes()
            except TrackerRejected as refused:
                if isinstance(refused, AnswerTooLong):
                    raise  # otherwise the answer to the note itself tells why
        return await built(self.ctx, self.by_api_user) if self.sender.is_withheld else self

    async def add(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:
        """Send the note, and return it as the tracker has it."""
        confirm, in_place = partial(self._confirm, attempt), partial(self._in_place, attempt)
        answer = await self.sender.send(self.method, self.path, self.body, before_send, confirm, in_place)
        found: dict[str, Any] = answer.object("note")
        if self.body["issue"].get("private_notes") and found.get("private_notes") is False:
            login = self.sender.person.login if self.sender.person else None
            made = {"note_id": found.get("id"), "issue_id": self.issue_id, "login": login}
            self.ctx.warn(What.NOTE_IS_PUBLIC(**made))
        return found

    async def _in_place(self, attempt: int) -> tuple[Body, Confirm]:
        """Return the API user's request, once it is recorded: it is what is looked for after an unclear answer.

        Raises:
            NotYet: if another worker has the event now.
        """
        note = await built(self.ctx, self.by_api_user)
        if note.body != self.body:
            recorded = note.body, fingerprint(self.kind, note.body, self.issue_id)
            kind, key = self.kind, self.key
            if not await self.ctx.db.change(lambda tx: tx.ledger(kind).repeat(key, attempt, *recorded)):
                raise NotYet(Fault.ANOTHER_WORKER_HAS_IT())
        return note.body, partial(note._confirm, attempt)

    async def _confirm(self, attempt: int, call: Awaitable[Answer], person: TrackerPerson | None) -> Answer:
        """Add the created note to the answer of a call.

        Raises:
            ImpersonationRefused, TrackerRejected: if the tracker dropped the note.
            OutcomeUnknown: if the note could not be read back; it may exist.
        """
        answer = await call
        about: dict[str, Any] = {"status": answer.status}
        try:
            note = await self._read_back(attempt, person)
        except BridgeError as unclear:  # whatever it is, the note may be there
            detail = Detail.NOTE_NOT_SEEN(because=unclear.notice)
            raise OutcomeUnknown(self.method, self.path, **about, detail=detail) from None
        if note is None:
            error = ImpersonationRefused if person is not None else TrackerRejected
            raise error(self.method, self.path, **about, detail=Detail.NOTE_NOT_KEPT())
        return replace(answer, data={"note": note})

    @property
    def newest_before(self) -> int | None:
        """The newest of the issue's notes, as read before this one is sent."""
        return self.ctx.newest_notes.get(self.issue.tracker_id)

    async def _notes(self) -> tuple[list[Listed], Answer]:
        """Read the issue's notes, and remember the newest."""
        issue_id = self.issue.tracker_id
        listed, answer = await additions_of(self.ctx, self.kind, issue_id)
        see_notes(self.ctx, issue_id, listed)
        return listed, answer

    async def _read_back(self, attempt: int, person: TrackerPerson | None) -> Mapping[str, Any] | None:
        """Return the note that was just added, or None; if several have its text, return the newest.

        If none has its text, the tracker may have changed the text: then the sender's only new note counts.

        Raises:
            NotYet: if there is none and another worker has the event now, or if one has an unexpected author, or if
                several may be the one.
            BridgeError: as for any call.
        """
        ctx, kind, before = self.ctx, self.kind, self.newest_before
        listed, answer = await self._notes()

        def read(tx: Transaction) -> tuple[bool, set[int], datetime, datetime]:
            row, now = tx.ledger(kind).get(self.key), tx.now()
            is_ours = row is not None and row.attempt == attempt and row.state == LedgerState.CLAIMED
            held = tx.ledger(kind).holders(listed) - {row.tracker_id if row else None}
            refused = set(row.candidates or ()) if row and is_ours else set()
            ahead = answer.at - now if answer.at is not None else timedelta(0)
            began = row.claimed_at if row and row.claimed_at else now
            first = row.first_claimed_at if row and row.first_claimed_at else began
            margin = ahead - CLOCK_MARGIN
            # a tracker that sends no Date header may have any clock
            earliest = first + margin if answer.at is not None else datetime.min.replace(tzinfo=UTC)
            return is_ours, held | refused, earliest, began + margin

        is_ours, held, first_sent, since = await ctx.db.change(read)
        left = [one for one in unheld(kind, listed, held) if one.created_on >= first_sent]
        own = sent_essence(kind, self.body, self.issue_id)
        alike = [one for one in left if one.essence and one.essence.meets(own)]
        found = [one for one in alike if self._may_be_by(one)]
        if not found and is_ours:
            newer = [one for one in left if _is_newer(one, before, since)]
            found = await self._of_sender(newer, person)
        if not found and not is_ours:
            raise NotYet(Fault.ANOTHER_WORKER_HAS_IT())
        if not found and any(one.created_on >= since for one in alike):
            raise NotYet(Reason.UNEXPECTED_AUTHOR())
        if not found:
            await ctx.tracker.check_access()  # a key without rights sees no private notes
            return None
        return max(found, key=lambda one: one.tracker_id).listed

    async def _of_sender(self, newer: list[Candidate], person: TrackerPerson | None) -> list[Candidate]:
        """Return the sender's only new note, whatever its text; no other row may have sent it.

        Args:
            newer: the notes that are new since the issue was read before the call.
            person: the person of the call; None for the API user.

        Raises:
            NotYet: if there are several.
        """
        administrators = self.sender.administrators
        authors = [[person.tracker_user_id], administrators] if person is not None else [administrators]
        of_each = [[one for one in newer if one.author_id in some] for some in authors]
        if person is None and not administrators:
            of_each = [newer]
        mine = next(filter(None, of_each), [])
        if not mine:
            return []
        own_row = self.kind, self.key
        rows = await self.ctx.db.change(
            lambda tx: list(tx.ledger(self.kind).unlinked_at(self.issue.tracker_id))
        )
        mine = of_no_row(mine, [row for row in rows if (row.kind, row.key) != own_row])
        if len(mine) > 1:
            raise NotYet(Reason.OTHER_TEXT())
        return mine

    def _may_be_by(self, one: Candidate) -> bool:
        person, administrators = self.sender.match.person, self.sender.administrators
        authors = {*administrators, *([person.tracker_user_id] if person else [])}
        return not administrators or one.author_id in authors

    @classmethod
    def sent(cls, wrong: Notice | None, tracker_id: int, issue_id: int | None) -> Notice:
        """Return the reason with which its event ends; it names a wrong author, if any."""
        made = {"note_id": tracker_id, "issue_id": issue_id}
        return (
            Reason.NOTE_SENT(**made) if wrong is None else Reason.NOTE_SENT_AS_ANOTHER(**made, because=wrong)
        )

    def history_notice(self, tracker_id: int) -> Notice:
        """Return the notice for the ticket history."""
        made = {"note_id": tracker_id, "issue_id": self.issue_id}
        return What.NOTE_ADDED(**made, kind=self.kind, key=self.key)


class FollowupCreation(NoteCreation):
    """The note of a follow-up."""

    kind = Kind.FOLLOWUP


class SolutionCreation(NoteCreation):
    """The note of a solution."""

    kind = Kind.SOLUTION


def _is_newer(one: Candidate, before: int | None, since: datetime) -> bool:
    """Return whether a note is newer than those read before the call; if they could not be read, go by its time."""
    return one.created_on >= since if before is None else one.tracker_id > before


def _state(ctx: TicketContext, kind: Kind, number: int, lookup: HelpdeskLookup) -> NoteState:
    """Return a note's state in the help desk; hidden, if it refuses to tell."""
    note, also_private = (ctx.ticket_id, kind, number), ctx.config.sends_private_followups
    try:
        return note_state(lookup, note, ctx.listed_notes, also_private=also_private)
    except HelpdeskRefused:
        return NoteState.HIDDEN


def attached(ctx: TicketContext, work: Work, note: Note) -> dict[int, str]:
    """Return the documents that the issue has or will get and that the text may show: number to file name."""
    names = dict(ctx.attached)
    for number in shown_documents(note.content, note.helpdesk_url):
        row = work.rows.get((Kind.DOCUMENT, document_key(ctx.ticket_id, number)))
        if row is not None and row.state not in (LedgerState.FREE, LedgerState.GONE):
            uploads = ((row.body or {}).get("issue") or {}).get("uploads") or [{}]
            names.setdefault(number, str(uploads[0].get("filename") or ""))
    return names


def _note(asking: Pending) -> Note:
    if asking.event.note is None:
        raise ValueError(f"event {asking.id} has no follow-up or solution")
    return asking.event.note


def _body(
    ctx: TicketContext, work: Work, note: Note, about: RenderInput, is_late: bool | None = None
) -> RenderedBody:
    """Return the body of a note: as its person, or as the API user if `about` names no person.

    Args:
        ctx: the ticket's context.
        work: the loaded data of the ticket.
        note: the follow-up or solution.
        about: the data that a template is rendered from.
        is_late: whether it is sent clearly later than it was written; None: if that is so now.
    """
    if is_late is None:  # within a pass this does not change
        is_late = note.written_at is not None and work.now - note.written_at > LATE
    names, is_authors = attached(ctx, work, note), about.person is not None
    plain = partial(note_body, note, ctx.config, names, is_authors=is_authors, is_late=is_late)
    chosen = choose_body(ctx, Operation.NOTE_CREATE, about, plain)
    return _private(chosen) if note.is_private else chosen


def _private(chosen: RenderedBody) -> RenderedBody:
    """Return a body whose note is private, whatever a template says."""
    body = {**chosen.body, "issue": {**chosen.body["issue"], "private_notes": True}}
    return replace(chosen, body=body)
