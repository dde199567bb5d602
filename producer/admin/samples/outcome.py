"""Waits for the outcome of a sample, and returns it as data."""

from __future__ import annotations

import time
from dataclasses import dataclass

from producer.admin.presenters.shapes import Shape, reason_json
from producer.admin.queries.story import TicketTrace, trace_ticket
from producer.admin.records.transaction import Store
from shared.notices.authors import Misattribution
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState

LOOKS_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a sample.

    Attributes:
        state: the state of its event.
        notice: the reason for that state.
        trace: the history of its ticket.
        tracker_status_id: the status to which status_map maps the ticket's status, or None.
    """

    event_id: int
    state: str
    notice: Notice | None
    trace: TicketTrace
    tracker_status_id: int | None

    @property
    def waits(self) -> bool:
        """Whether something remains to be done for it."""
        state = self.trace.state
        return self.state == EventState.PENDING or bool(state and state.status_due and self.is_linked)

    @property
    def is_linked(self) -> bool:
        """Whether it has its issue."""
        return self.trace.link is not None and self.trace.link.state == LedgerState.LINKED

    @property
    def wrong_author(self) -> Notice | None:
        """Why the API user acted although the event names a person, or None if this is not so."""
        if self.notice is None or self.notice.code != Reason.TIME_LOGGED_AS_ANOTHER:
            return None
        wrong: Notice | None = self.notice.params.get("because") or self.notice.params.get("of_issue")
        return None if wrong and wrong.code == Misattribution.NOBODY_NAMED else wrong

    @property
    def is_as_expected(self) -> bool:
        """Whether issue and time entry exist under the right user, and nothing remains to be done."""
        logged = [one.state for one in self.trace.ticket_tasks]
        return (
            self.state == EventState.DONE
            and self.is_linked
            and logged == [LedgerState.LINKED]
            and not self.waits
            and self.wrong_author is None
        )

    @property
    def because(self) -> Notice:
        """What it waits for."""
        state = self.trace.state
        return self.notice or (state and state.status_notice) or Reason.NO_WORKER_TOOK_IT()


def wait_for(store: Store, event_id: int, ticket_id: int, seconds: float) -> Outcome:
    """Wait until a sample has ended or the time is over; return its outcome.

    Raises:
        NotFound: if a user has removed it in the meantime.
    """
    until = time.monotonic() + seconds
    while (found := outcome(store, event_id, ticket_id)).waits and time.monotonic() < until:
        time.sleep(LOOKS_EVERY_S)
    return found


def outcome(store: Store, event_id: int, ticket_id: int) -> Outcome:
    """Return the outcome of a sample so far.

    Raises:
        NotFound: if nothing is known of it.
    """
    with store.transaction() as tx:  # before the history, which is complete once the event has ended
        row = tx.journal.get(event_id)
        state, notice = (row.state, row.notice) if row else ("", None)
    trace = trace_ticket(store, ticket_id)
    status = trace.state.status if trace.state else None
    mapped = trace.config.status_map.get(status) if status is not None else None
    return Outcome(event_id, state, notice, trace, mapped)


def outcome_json(found: Outcome) -> Shape:
    """Return the outcome of a sample as JSON data, without what was removed."""
    link = found.trace.link
    return {
        "as_expected": found.is_as_expected,
        "event_id": found.event_id,
        "ticket_id": found.trace.ticket_id,
        "state": found.state,
        **reason_json(found.notice),
        "issue": {
            "id": link.tracker_issue_id,
            "tracker_project_id": link.tracker_project_id,
            "author": link.author,
            "tracker_status_id": found.tracker_status_id,
        }
        if link and link.tracker_issue_id
        else None,
        "time_entries": [
            {"id": one.time_entry_id, "hours": one.hours}
            for one in found.trace.ticket_tasks
            if one.time_entry_id
        ],
    }
