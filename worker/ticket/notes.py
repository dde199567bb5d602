"""Notes: what a follow-up or a solution of the ticket adds to its issue.

A note is an update of the issue. Its answer names no id, and says 204 also if the tracker left the note out because
the person may not add any. So the issue is read back at once: that tells the note's id, and whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Self

from shared.bodies.contexts import RenderInput
from shared.bodies.precedence import RenderedBody
from shared.errors import BridgeError, ImpersonationRefused, NotYet, OutcomeUnknown, TrackerRejected
from shared.events.event import Event
from shared.events.payloads import note_body
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.store.journal.journal import Done
from shared.store.tables.ledger import LedgerState
from shared.store.transaction import Transaction
from shared.templating.operations import Operation
from shared.tracker.answers import Answer
from worker.ticket.bodies import choose_body
from worker.ticket.context import TicketContext
from worker.ticket.impersonation import Sender
from worker.ticket.load import Work
from worker.ticket.match import Candidate, sent_essence, unheld
from worker.ticket.plan import Pending
from worker.ticket.reconcile import CLOCK_MARGIN
from worker.ticket.requests import Creation, Linked, match_of
from worker.ticket.results import Created
from worker.ticket.search import ids_of, notes_of


class NoteCreation(Creation):
    """A note on the ticket's issue, from a follow-up or a solution."""

    issue: Created

    operation = Operation.NOTE_CREATE
    method: ClassVar[str] = "PUT"
    records_author: ClassVar[bool] = False

    @classmethod
    def of(
        cls, ctx: TicketContext, work: Work, asking: Pending, issue: Created, event: Event | None = None
    ) -> NoteCreation:
        """Return the note that an event asks for.

        Args:
            ctx: the ticket's context.
            work: what is known of the ticket.
            asking: the event.
            issue: the issue that it belongs to.
            event: an earlier event of the same follow-up or solution, to be taken in its place.
        """
        event = event or asking.event
        note = event.note or asking.addition
        issue = replace(issue, project_id=ctx.moved.get(issue.tracker_id, issue.project_id))
        match, is_member = match_of(ctx, note.user, issue.project_id)
        about = RenderInput(
            ticket=work.ticket,
            task=None,
            occurred_at=event.occurred_at,
            event_name=event.event,
            link=work.link,
            project_id=issue.project_id,
            issue_id=issue.tracker_id,
            person=match.person,
            note=note,
        )
        plain = partial(note_body, note, ctx.config, is_authors=match.person is not None)
        chosen = choose_body(ctx, cls.operation, about, plain)
        if note.is_private:
            chosen = _private(chosen)
        sender = Sender(ctx, match, about, is_member, work.administrators, asking.attempts)
        return OF_KIND[asking.event.addition_kind](
            ctx, work, asking, asking.addition.id, chosen, sender, issue
        )

    def as_of(self, event: Event) -> NoteCreation:
        """Return the same as an earlier event would have asked for it."""
        return NoteCreation.of(self.ctx, self.work, self.asking, self.issue, event)

    @property
    def path(self) -> str:
        """The issue."""
        return f"/issues/{self.issue.tracker_id}.json"

    @property
    def text(self) -> str:
        """The text of the note; an empty one adds none."""
        return str(self.body["issue"].get("notes") or "").strip()

    def prepared(self) -> NoteCreation:
        """Return the same with the name in the text if the API user acts in the person's place; templates say it."""
        if not self.sender.is_withheld or self.chosen.template is not None:
            return self
        note = self.sender.about.note or self.asking.addition
        body = note_body(note, self.ctx.config, is_authors=False)
        return replace(self, chosen=replace(self.chosen, body=body))

    async def send(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:
        """Send it, and return the note as the tracker has it."""
        confirm = partial(self._confirm, attempt)
        answer = await self.sender.send(self.method, self.path, self.body, before_send, confirm)
        found: dict[str, Any] = answer.object("note")
        if self.body["issue"].get("private_notes") and found.get("private_notes") is False:
            login = self.sender.person.login if self.sender.person else None
            made = {"note_id": found.get("id"), "issue_id": self.issue_id, "login": login}
            self.ctx.warn(What.NOTE_IS_PUBLIC(**made))
        return found

    async def _confirm(self, attempt: int, answer: Answer, person: TrackerPerson | None) -> Answer:
        """Complete an answer with the note that it is about.

        Raises:
            ImpersonationRefused, TrackerRejected: the tracker has no such note: it left it out.
            OutcomeUnknown: it could not be read back; it may be there.
        """
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

    async def _read_back(self, attempt: int, person: TrackerPerson | None) -> Mapping[str, Any] | None:
        """Return the note that was just added, the newest if there are several of its text; None: there is none.

        If none has its text, the tracker may have changed that: then it is the only one that the person added lately.

        Raises:
            NotYet: there is none, and another worker has taken over meanwhile.
            BridgeError: as any call.
        """
        ctx, kind = self.ctx, self.kind
        listed, answer = await notes_of(ctx, self.issue.tracker_id)

        def read(tx: Transaction) -> tuple[bool, set[int], datetime]:
            row, now = tx.ledger(kind).get(self.key), tx.now()
            is_ours = row is not None and row.attempt == attempt and row.state == LedgerState.CLAIMED
            held = tx.ledger(kind).holders(ids_of(listed)) - {row.tracker_id if row else None}
            refused = set(row.candidates or ()) if row and is_ours else set()
            ahead = answer.at - now if answer.at is not None else timedelta(0)
            began = row.claimed_at if row and row.claimed_at else now
            return is_ours, held | refused, began + ahead - CLOCK_MARGIN

        is_ours, held, since = await ctx.db.change(read)
        left, own = list(unheld(kind, listed, held)), sent_essence(kind, self.body, self.issue_id)
        found = [one for one in left if one.essence and one.essence.meets(own) and self._may_be_by(one)]
        if not found and is_ours and person is not None:
            lately = [one for one in left if one.created_on >= since]
            found = [one for one in lately if one.author_id == person.tracker_user_id]
            found = found if len(found) == 1 else []
        if not found and not is_ours:
            raise NotYet(Fault.ANOTHER_WORKER_HAS_IT())
        if not found:
            await ctx.tracker.ask_whether_open()  # a key without rights is not shown private notes
            return None
        return max(found, key=lambda one: one.tracker_id).listed

    def _may_be_by(self, one: Candidate) -> bool:
        person, administrators = self.sender.match.person, self.sender.administrators
        authors = {*administrators, *([person.tracker_user_id] if person else [])}
        return not administrators or one.author_id in authors

    @classmethod
    def all_linked(cls, tx: Transaction, links: Sequence[Linked[Self]]) -> list[bool]:
        """End their events, and those of the same follow-ups and solutions that had failed."""
        ended = []
        for one in links:
            creation, asking = one.creation, one.creation.asking
            made = {"note_id": one.found.get("id"), "issue_id": creation.issue_id}
            reason = sent(one.wrong, **made)
            by_event = Reason.NOTED_BY_EVENT(event_id=asking.id)
            ended.append(Done(asking.id, asking.event.key, reason, by_event))
            creation.ctx.note(What.NOTE_ADDED(**made, kind=creation.kind, key=creation.key))
        tx.journal.done_all(ended)
        return [False] * len(links)


class FollowupCreation(NoteCreation):
    """The note of a follow-up."""

    kind = Kind.FOLLOWUP


class SolutionCreation(NoteCreation):
    """The note of a solution."""

    kind = Kind.SOLUTION


OF_KIND: Mapping[Kind, type[NoteCreation]] = {one.kind: one for one in (FollowupCreation, SolutionCreation)}


def sent(wrong: Notice | None, **made: object) -> Notice:
    """Return how an event ended that sent a note: also that it has another author than was meant."""
    return Reason.NOTE_SENT(**made) if wrong is None else Reason.NOTE_SENT_AS_ANOTHER(**made, because=wrong)


def _private(chosen: RenderedBody) -> RenderedBody:
    """Return a body whose note is private, whatever a template says."""
    body = {**chosen.body, "issue": {**chosen.body["issue"], "private_notes": True}}
    return replace(chosen, body=body)
