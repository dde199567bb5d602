"""The port to a help desk that has an API, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, BinaryIO, Literal, Protocol

from shared.errors import BridgeError
from shared.events.snapshots import Document
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal

Role = Literal["technician", "requester"]
"""The role of a person in a ticket."""


class HelpdeskUnreachable(BridgeError):
    """The help desk gave no usable answer; it may give one later.

    Args:
        problem: the problem with the call.
    """

    def __init__(self, problem: Notice) -> None:
        self.problem = problem
        super().__init__(Refusal.HELPDESK_UNANSWERED(problem=problem))


class HelpdeskRefused(HelpdeskUnreachable):
    """The help desk refuses the credentials, or a permission is missing: a person must fix it."""


class DocumentRefused(HelpdeskUnreachable):
    """The help desk answers, but does not deliver this document, or delivers something else in its place."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A ticket, or one of its ticket tasks, in its current state in the help desk.

    Attributes:
        event: an event, as complete as the help desk's API allows.
        changed_at: when it was last changed there.
    """

    event: dict[str, Any]
    changed_at: datetime


class Download(Enum):
    """The result of downloading a document."""

    WHOLE = auto()
    TOO_LARGE = auto()
    GONE = auto()
    PRIVATE = auto()


class NoteState(Enum):
    """The present state of a follow-up or solution.

    Attributes:
        HIDDEN: it was deleted, or the API's user may not see it.
    """

    PUBLIC = auto()
    PRIVATE = auto()
    DELETED = auto()
    HIDDEN = auto()


ListedNotes = dict[tuple[int, Kind], dict[int, bool]]
"""The notes that the help desk lists, by ticket and kind: number to whether it is private."""


def with_emails(helpdesk_user_id: int, emails: list[str]) -> dict[str, Any]:
    """Return a user as events name them."""
    several = {"emails": emails} if len(emails) > 1 else {}
    return {"id": helpdesk_user_id, "email": emails[0] if emails else None, **several}


class HelpdeskLookup(Protocol):
    """A help desk that has an API."""

    def now(self) -> datetime:
        """Return the help desk's current time, to find out whether its API works.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def emails_of(self, helpdesk_user_id: int) -> list[str]:
        """Return a user's e-mail addresses, the default first; none if there is no such user.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def person_of(self, ticket_id: int, role: Role) -> int | None:
        """Return the id of a ticket's first technician or first requester, or None.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def changed_since(self, moment: datetime) -> Iterator[Changed]:
        """Yield every ticket that has changed since a moment, each followed by its ticket tasks.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer; changes yielded before are valid.
        """

    def parts_of(self, ticket_id: int, kind: Kind) -> dict[int, bool] | None:
        """Return the ticket's follow-ups, solutions or tasks that the API's user sees: number to whether it is private.

        Returns:
            The parts; None if there may be more than the help desk returns.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def unlisted(self, ticket_id: int, kind: Kind, number: int, *, also_private: bool) -> NoteState:
        """Return the state of a follow-up or solution that `parts_of` does not list.

        Args:
            ticket_id: its ticket.
            kind: its kind.
            number: its number.
            also_private: whether a private one would be sent, so that it must not be taken for a deleted one.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def withdrawn(self, ticket_id: int, document: Document) -> Download | None:
        """Return whether a document is gone from its ticket or private now; None if the help desk shows neither.

        Raises:
            HelpdeskUnreachable: if it gave no usable answer.
        """

    def document(self, document: Document, into: BinaryIO, most: int) -> Download:
        """Write a document's content to a file.

        Args:
            document: the document as it was announced; what is of another size or type may be a page in its place.
            into: the file; its content is valid only if `Download.WHOLE` is returned.
            most: the maximum number of bytes.

        Raises:
            DocumentRefused: if only this document is not delivered; others may be.
            HelpdeskUnreachable: if it gave no usable answer.
        """


def note_state(
    lookup: HelpdeskLookup, note: tuple[int, Kind, int], listed: ListedNotes, *, also_private: bool
) -> NoteState:
    """Return the present state of a note, by its ticket, kind and number; those of a ticket are listed once.

    Raises:
        HelpdeskUnreachable: if the help desk gave no usable answer.
    """
    ticket_id, kind, number = note
    if (ticket_id, kind) not in listed:
        listed[ticket_id, kind] = lookup.parts_of(ticket_id, kind) or {}
    is_private = listed[ticket_id, kind].get(number)
    if is_private is None:
        return lookup.unlisted(*note, also_private=also_private)
    return NoteState.PRIVATE if is_private else NoteState.PUBLIC
