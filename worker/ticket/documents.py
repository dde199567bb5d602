"""Attachments that a ticket's documents add to its issue.

The file is fetched from the help desk and uploaded before anything is claimed: the tracker drops uploads that are not
attached. The upload's token begins with the id of the future attachment. So after an unclear answer, the id to look
for is known exactly. The tracker attaches an upload only once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, ClassVar, Self, cast

from shared.bodies.precedence import RenderedBody
from shared.errors import BridgeError, ImpersonationRefused, NotYet, OutcomeUnknown, TrackerRejected
from shared.events.attachments import attachment_body, attachment_name
from shared.events.event import Event
from shared.events.payloads import LONGEST_NAME
from shared.events.snapshots import Document
from shared.events.text import one_line
from shared.helpdesk.lookup import DocumentRefused, Download, HelpdeskLookup
from shared.notices.faults import Detail, Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.notices.trial import Would
from shared.store.configuration.matching import TrackerPerson
from shared.tracker.answers import NOT_FOUND, Answer
from shared.tracker.lists import Listed
from shared.tracker.uploads import UPLOADS, Upload
from worker.ticket.additions import Addition, issue_and_sender
from worker.ticket.context import TicketContext
from worker.ticket.enrichment import AFTER_PAUSE_S, Completion, waits_since
from worker.ticket.load import Work
from worker.ticket.match import uploaded_id
from worker.ticket.plan import Pending
from worker.ticket.results import Created, Skipped, Waiting
from worker.ticket.search import additions_of
from worker.ticket.steps import FileSlot
from worker.ticket.trial import NOT_CREATED, author

TOKEN_OR_CONTENT = 422
"""The tracker's answer to a token that is unknown or was used; it has other causes too."""
TOO_LARGE = 413
MISSING_FOR = timedelta(days=1)
MISSING_AGAIN = timedelta(minutes=1)
"""The first pause before a missing document is fetched again; each further pause doubles."""
IN_MEMORY = 256 * 1024
"""Files of up to this many bytes are not written to the disk."""


@dataclass(frozen=True)
class DocumentCreation(Addition):
    """An attachment of the ticket's issue, from a document.

    Attributes:
        file: its content, once it is fetched.
    """

    kind: ClassVar[Kind] = Kind.DOCUMENT

    issue: Created
    file: Upload | None = None

    @classmethod
    def of(
        cls, ctx: TicketContext, work: Work, asking: Pending, issue: Created, event: Event | None = None
    ) -> DocumentCreation:
        """Return the attachment that an event asks for."""
        event = event or asking.event
        document = event.document or _document(asking)
        issue, sender = issue_and_sender(work, asking, event, issue, document.user, ctx)
        chosen = RenderedBody(attachment_body(document, document.size))
        return cls(ctx, work, asking, asking.event.addition_key, chosen, sender, issue)

    @property
    def document(self) -> Document:
        """The document."""
        return _document(self.asking)

    def trial_notice(self) -> Notice:
        """Return the notice that trial mode shows."""
        made = {"document_id": self.document.id, "author": author(self.sender.person)}
        if self.issue.tracker_id == NOT_CREATED:
            return Would.ATTACH_TO_NEW(**made)
        return Would.ATTACH(issue_id=self.issue.tracker_id, **made)

    def why_nothing(self) -> Notice | None:
        """Return the reason if there is no help desk API to fetch it from, else None."""
        has_api = self.ctx.services.completion.lookup is not None
        return None if has_api else Reason.DOCUMENTS_NEED_API()

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Self | Skipped | Waiting]:
        """Yield the creation with its file for the block, or why it is not sent, or what it waits for.

        Raises:
            NotYet: if the help desk refuses this document.
        """
        async with FileSlot(is_retry=self.asking.attempts > 0) as slot:
            if not slot.is_held:
                yield Waiting(Reason.DOCUMENTS_UNDER_WAY())
                return
            with SpooledTemporaryFile(IN_MEMORY) as file:
                yield await self._fetched(cast(BinaryIO, file))

    async def _fetched(self, file: BinaryIO) -> Self | Skipped | Waiting:
        ctx, completion, document = self.ctx, self.ctx.services.completion, self.document
        answer = await ctx.helpdesk(
            _fetch, completion, ctx.ticket_id, document, file, ctx.config.document_most
        )
        if answer is Download.WHOLE and (size := file.tell()):
            chosen = replace(self.chosen, body=attachment_body(document, size))
            return replace(self, chosen=chosen, file=Upload(file, size))
        if answer is Download.GONE:
            return await self._missing()
        if isinstance(answer, DocumentRefused):
            raise NotYet(Fault.DOCUMENT_REFUSED(document_id=document.id, because=answer.problem))
        if isinstance(answer, Download):
            return Skipped(self._why_not(answer))
        pause = timedelta(seconds=completion.paused_s() + AFTER_PAUSE_S)
        return Waiting(Reason.DOCUMENT_AWAITED(because=answer), until=ctx.now(self.work.now) + pause)

    async def _missing(self) -> Skipped | Waiting:
        """Wait a day for a document that the help desk does not have: it may be restored, or its database."""
        row = await self.ctx.db.change(lambda tx: tx.journal.get(self.asking.id))
        now = self.ctx.now(self.work.now)
        since = waits_since(row, Reason.DOCUMENT_MISSING, now)
        if now - since >= MISSING_FOR:
            return Skipped(Reason.DOCUMENT_GONE())
        until = now + max(MISSING_AGAIN, now - since)
        return Waiting(
            Reason.DOCUMENT_MISSING(since=since.isoformat()), until=min(until, since + MISSING_FOR)
        )

    def _why_not(self, answer: Download) -> Notice:
        if answer is Download.WHOLE:
            return Reason.DOCUMENT_IS_EMPTY()
        if answer is Download.PRIVATE:
            return Reason.PRIVATE_DOCUMENT()
        return Reason.DOCUMENT_TOO_LARGE(most=self.ctx.config.document_max_mb)

    def remember(self) -> None:
        """Record its file name for texts that show the document."""
        self.ctx.attached[self.document.id] = attachment_name(self.document)

    async def prepared(self) -> DocumentCreation:
        """Upload the file; return the creation with its token.

        Raises:
            OutcomeUnknown: if the answer has no token.
            TrackerRejected: if the file is too large for a proxy; nothing was claimed, and no retry would help.
            BridgeError: as for `Sender.upload`.
        """
        assert self.file is not None, "it is ready"  # noqa: S101
        try:
            answer = await self.sender.upload(self.file, attachment_name(self.document))
        except OutcomeUnknown as unclear:
            if unclear.status != TOO_LARGE:
                raise
            too_large = Detail.TOO_LARGE_ON_THE_WAY()
            raise TrackerRejected("POST", UPLOADS, status=TOO_LARGE, detail=too_large) from None
        token = None
        with suppress(KeyError):
            token = answer.object("upload").get("token")
        uploads = [{**one, "token": token, **self._description} for one in self.body["issue"]["uploads"]]
        made = replace(self, chosen=replace(self.chosen, body={**self.body, "issue": {"uploads": uploads}}))
        if not uploaded_id(made.body):
            raise OutcomeUnknown("POST", UPLOADS, status=answer.status, detail=Detail.NO_UPLOAD_TOKEN())
        return made

    @property
    def _description(self) -> dict[str, str]:
        """The person's name, which the tracker shows with the file, if the API user has uploaded it in their place."""
        user = self.document.user
        name = one_line((user and user.name) or "", LONGEST_NAME) if self.sender.person is None else ""
        return {"description": name} if name else {}

    async def add(self, attempt: int, before_send: Callable[[], None]) -> dict[str, Any]:  # noqa: ARG002
        """Attach the file; return the tracker's attachment."""
        body = {"issue": self.body["issue"]}
        answer = await self.sender.send(self.method, self.path, body, before_send, self._confirm)
        found: dict[str, Any] = answer.object("attachment")
        return found

    async def _confirm(self, call: Awaitable[Answer], _: TrackerPerson | None) -> Answer:
        """Add the attachment to the answer of a call, even if the call was refused but the attachment exists.

        A token works only once, and a proxy may repeat a PUT.

        Raises:
            NotYet: if the tracker has not attached it, so that the file must be uploaded again.
            ImpersonationRefused, TrackerRejected: if the call was refused for another reason.
            OutcomeUnknown: if the attachment could not be read back; it may exist.
            TrackerError: as for any call.
        """
        refusal: ImpersonationRefused | TrackerRejected | None = None
        try:
            answer = await call
        except (ImpersonationRefused, TrackerRejected) as error:
            if error.status != TOKEN_OR_CONTENT:
                raise
            answer, refusal = Answer(error.status, None, None), error
        found = await self._read_back(answer.status)
        if found is not None:
            return replace(answer, data={"attachment": found})
        if refusal is None:
            raise NotYet(Fault.ATTACHMENT_NOT_KEPT())
        if await self._is_dropped():
            raise NotYet(Fault.UPLOAD_DROPPED())
        raise refusal

    async def _is_dropped(self) -> bool:
        """Return whether the tracker has dropped the upload; an existing one answers 403 to all but its author.

        Raises:
            TrackerError: on an outage, or without a clear answer.
        """
        try:
            await self.ctx.tracker.get(f"/attachments/{uploaded_id(self.body)}.json")
        except TrackerRejected as refused:
            return refused.status == NOT_FOUND
        return False

    async def _read_back(self, status: int) -> Listed | None:
        """Return the attachment that was made from the upload, or None if the issue does not have it.

        Args:
            status: the status of the answer to the call that attaches it.

        Raises:
            OutcomeUnknown: if it could not be read; it may exist.
        """
        tracker_id = uploaded_id(self.body)
        try:
            listed, _ = await additions_of(self.ctx, self.kind, self.issue.tracker_id)
        except BridgeError as unclear:  # whatever it is, the attachment may be there
            detail = Detail.ATTACHMENT_NOT_SEEN(because=unclear.notice)
            raise OutcomeUnknown(self.method, self.path, status=status, detail=detail) from None
        return next((one for one in listed if one.get("id") == tracker_id), None)

    @classmethod
    def sent(cls, wrong: Notice | None, tracker_id: int, issue_id: int | None) -> Notice:
        """Return the reason with which its event ends; it names a wrong author, if any."""
        made = {"attachment_id": tracker_id, "issue_id": issue_id}
        if wrong is None:
            return Reason.DOCUMENT_ATTACHED(**made)
        return Reason.DOCUMENT_ATTACHED_AS_ANOTHER(**made, because=wrong)

    def history_notice(self, tracker_id: int) -> Notice:
        """Return the notice for the ticket history."""
        made = {"attachment_id": tracker_id, "issue_id": self.issue_id}
        return What.DOCUMENT_ADDED(document_id=self.document.id, **made)


def _document(asking: Pending) -> Document:
    if asking.event.document is None:
        raise ValueError(f"event {asking.id} has no document")
    return asking.event.document


def _fetch(
    completion: Completion, ticket_id: int, document: Document, file: BinaryIO, most: int
) -> Download | DocumentRefused | Notice:
    """Fetch a document into a file; return the result, its refusal, or why the help desk cannot be queried."""

    def ask(lookup: HelpdeskLookup) -> Download | DocumentRefused:
        try:
            return lookup.withdrawn(ticket_id, document) or lookup.document(document, file, most)
        except DocumentRefused as refused:
            return refused

    return completion.ask(ask)
