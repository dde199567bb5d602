"""The simulated help desk: it serves documents, may lack one, and may be unreachable."""

from __future__ import annotations

from typing import BinaryIO

from shared.events.snapshots import Document
from shared.helpdesk.lookup import Download, HelpdeskUnreachable
from shared.notices.faults import HelpdeskFault
from tests.model.clock import Clock
from tests.model.stage import Stage

PRIVATE, GONE = 53, 54
"""Documents that are never sent: one is attached to a private item, the other was withdrawn in the help desk."""
NOT_SENT = (PRIVATE, GONE)


def content_of(document_id: int) -> bytes:
    """Return a document's content; all documents have the same size."""
    return f"document {document_id:04}".encode()


class SimulatedHelpdesk:
    """A stand-in for `HelpdeskLookup` that only serves documents.

    Args:
        clock: the simulated time.
        stage: knows the running actor.

    Attributes:
        away: how many of the next fetches get no answer.
    """

    def __init__(self, clock: Clock, stage: Stage) -> None:
        self._clock, self._stage = clock, stage
        self.away = 0

    def withdrawn(self, _ticket_id: int, document: Document) -> Download | None:
        """Return whether a document became private."""
        return Download.PRIVATE if document.id == GONE else None

    def document(self, document: Document, into: BinaryIO, _most: int) -> Download:
        """Write a document's content to a file."""
        self._stage.point(f"fetching document {document.id}")
        self._clock.now += 0.05
        if self.away:
            self.away -= 1
            raise HelpdeskUnreachable(HelpdeskFault.HELPDESK_TOO_SLOW(method="GET", path="/document"))
        into.seek(0)
        into.truncate()
        into.write(content_of(document.id))
        return Download.WHOLE
