"""Checks that the events of documents that must not arrive were skipped, each for its own reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from producer.admin.records.transaction import Store
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.drill.expect import TicketExpected, Unsent

UNSENT = (
    Reason.PRIVATE_DOCUMENT,
    Reason.DOCUMENT_TYPE_REFUSED,
    Reason.DOCUMENT_TOO_LARGE,
    Reason.DOCUMENT_GONE,
    Reason.DOCUMENT_IS_EMPTY,
)
"""Reasons why a document is never sent, however often its event is replayed."""
NOT_FETCHED = (Reason.NO_ISSUE_FOR_NOTE, Reason.NO_LINK)


@dataclass(frozen=True)
class Ended:
    """How an event ended."""

    state: str
    code: str


def read_documents(store: Store) -> dict[int, Ended]:
    """Return how each event of a document ended, by event id."""
    with store.transaction() as tx:
        rows = [row for row in tx.journal.find(limit=None) if row.event == "document.added"]
        return {row.id: Ended(str(row.state), str(row.notice.code if row.notice else "")) for row in rows}


def wrongly_ended(
    expected: Mapping[int, TicketExpected], ended: Mapping[int, Ended], deleted: Collection[int]
) -> Iterator[str]:
    """Yield in words the events of documents that must not arrive and that ended wrongly.

    Args:
        expected: the expected result for each ticket.
        ended: how each event of a document ended, by event id.
        deleted: tickets whose issue was deleted on the tracker; documents to be fetched are not checked for them.
    """
    for ticket in expected.values():
        has_issue = bool(ticket.tasks.keys() - ticket.undone)
        for event_id, unsent in ticket.unsent.items():
            found = ended.get(event_id)
            if found is None or not _is_right(found, unsent, has_issue, ticket.ticket_id in deleted):
                yield (
                    f"document of ticket {ticket.ticket_id}: event {event_id} is {found}, "
                    f"and not skipped as {unsent.code}"
                )


def _is_right(found: Ended, unsent: Unsent, has_issue: bool, is_deleted: bool) -> bool:
    if found == Ended(EventState.SKIPPED, unsent.code):
        return True
    if unsent.code == Reason.DOCUMENT_GONE and found == Ended(EventState.PENDING, Reason.DOCUMENT_MISSING):
        return True  # it is skipped after a day
    if not unsent.is_fetched:
        return False
    if found.state == EventState.SUPERSEDED:
        return unsent.is_double
    if found.state == EventState.ON_HOLD:
        return True  # `held` checks whether that is right
    return is_deleted or (not has_issue and found.state == EventState.SKIPPED and found.code in NOT_FETCHED)
