"""The port to a helpdesk that can be asked, and the one for a helpdesk that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, BinaryIO, Protocol

from shared.errors import BridgeError
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal


class HelpdeskUnreachable(BridgeError):
    """The helpdesk gave no usable answer; it may give one later.

    Args:
        problem: what was the matter with the call.
    """

    def __init__(self, problem: Notice) -> None:
        self.problem = problem
        super().__init__(Refusal.HELPDESK_UNANSWERED(problem=problem))


class HelpdeskRefused(HelpdeskUnreachable):
    """The helpdesk refuses the credentials, or a right is missing: a person must set it up."""


class DocumentRefused(HelpdeskUnreachable):
    """The helpdesk answers, and does not give this document."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A ticket, or one of its ticket tasks, as the helpdesk has it now.

    Attributes:
        event: an event, complete as far as the helpdesk can tell.
        changed_at: when it was last changed there.
    """

    event: dict[str, Any]
    changed_at: datetime


class Download(Enum):
    """What came of asking for a document."""

    WHOLE = auto()
    TOO_LARGE = auto()
    GONE = auto()


class HelpdeskLookup(Protocol):
    """A helpdesk that can be asked."""

    def now(self) -> datetime:
        """Return the helpdesk's clock, to find out whether it can be asked.

        Raises:
            HelpdeskUnreachable: it could not be asked.
        """

    def email_of(self, helpdesk_user_id: int) -> str | None:
        """Return a user's default e-mail address, None if there is none or no such user.

        Raises:
            HelpdeskUnreachable: it could not be asked.
        """

    def technician_of(self, ticket_id: int) -> int | None:
        """Return the id of the user to whom a ticket is assigned first, None if there is none.

        Raises:
            HelpdeskUnreachable: it could not be asked.
        """

    def changed_since(self, moment: datetime) -> Iterator[Changed]:
        """Yield every ticket that has changed since, each with its ticket tasks.

        Raises:
            HelpdeskUnreachable: it could not be asked; what was yielded before is valid.
        """

    def document(self, document_id: int, into: BinaryIO, most: int) -> Download:
        """Write a document's content to a file.

        Args:
            document_id: the document.
            into: the file; what it holds afterwards counts only if the content is whole.
            most: bytes that are taken.

        Raises:
            DocumentRefused: others may be given.
            HelpdeskUnreachable: it could not be asked.
        """
