"""Completes events with data that their help desk does not send, before any decision depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from shared.events.event import EMAIL_OF_USER, OTHER_PROJECTS, Event, Fact
from shared.events.snapshots import HelpdeskUser, Ticket
from shared.helpdesk.lookup import HelpdeskLookup, HelpdeskUnreachable, with_emails
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.redis.circuit_breaker import CircuitBreaker
from shared.store.journal.due import snapshot_of
from shared.store.journal.trace import Step
from shared.store.tables.journal import JournalEvent
from shared.store.transaction import Store, Transaction
from shared.telemetry.logs import get_logger, log_fields, reason_fields
from worker.ticket.plan import Pending
from worker.ticket.results import Result, Waiting

log = get_logger("completion")
AFTER_PAUSE_S = 2.0
T = TypeVar("T")


@dataclass(frozen=True)
class Completion:
    """Finds the data that events lack.

    Attributes:
        lookup: the client of the help desk's API, or None if there is none.
        circuit: the circuit breaker for queries to the help desk.
        wait_s: seconds that an event waits for an unreachable help desk before it continues without the data.
    """

    store: Store
    lookup: HelpdeskLookup | None
    circuit: CircuitBreaker
    wait_s: float

    def complete(self, ticket_id: int, events: Sequence[Pending]) -> list[Result]:
        """Find the data that a ticket's due events lack and store it with them, so that all decisions use the same.

        Args:
            ticket_id: the ticket.
            events: the events that lack data, oldest first.

        Returns:
            What they wait for; empty if they can be processed now.
        """
        told: dict[int, dict[str, Any]] = {}
        because, tell = Reason.HELPDESK_NOT_ASKED(), log.info
        if self.lookup is not None:
            answer = self.ask(lambda lookup: {one.id: _answers(lookup, one.event) for one in events})
            if not isinstance(answer, Notice):
                told, because = answer, Reason.HELPDESK_SILENT_ON_IT()
            elif waiting := self._wait(ticket_id, events, answer):
                return [waiting]
            else:
                because, tell = answer, log.warning
        with self.store.transaction() as tx:
            steps = _keep(tx, ticket_id, events, told, because)
            tx.trace.append(steps)
        for step in steps:
            tell(**log_fields(step.notice), ticket_id=ticket_id, task_id=step.task_id)
        return []

    def ask(self, ask: Callable[[HelpdeskLookup], T]) -> T | Notice:
        """Return the help desk's answer, or why it cannot be queried; a failure opens its circuit breaker.

        Args:
            ask: queries the help desk.
        """
        if self.lookup is None:
            return Reason.HELPDESK_NOT_ASKED()
        permit = self.circuit.enter()
        if permit.blocked_by:
            return permit.blocked_by.reason
        try:
            told = ask(self.lookup)
        except HelpdeskUnreachable as away:
            log.warning("the helpdesk cannot be asked", **reason_fields(away.notice))
            return self.circuit.begin(away.notice).reason
        if permit.probing:
            self.circuit.end()
        return told

    def paused_s(self) -> float:
        """Return the seconds until the help desk may be queried again."""
        paused = self.circuit.current()
        return self.circuit.left(paused) if paused else 0.0

    def _wait(self, ticket_id: int, events: Sequence[Pending], because: Notice) -> Waiting | None:
        """Make the events wait, unless the oldest has waited for long enough: then return None."""
        pause_s = self.paused_s() + AFTER_PAUSE_S
        with self.store.transaction() as tx:
            now = tx.now()
            since = min(waits_since(tx.journal.get(one.id), Reason.HELPDESK_AWAITED, now) for one in events)
            left = self.wait_s - (now - since).total_seconds()
            if left <= 0:
                return None
            awaited = Reason.HELPDESK_AWAITED(since=since.isoformat(), because=because)
            until = now + timedelta(seconds=min(left, pause_s))
            tx.journal.wait_due(ticket_id, until, awaited)
        return Waiting(awaited, until=until)


def _keep(
    tx: Transaction,
    ticket_id: int,
    events: Sequence[Pending],
    told: dict[int, dict[str, Any]],
    because: Notice,
) -> list[Step]:
    """Store with each event the data that is known now; return history steps for data that is still missing."""
    state = tx.statuses.get(ticket_id)
    newest = Ticket.model_validate(state.snapshot) if state else None
    steps = []
    for one in events:
        tx.journal.complete(one.id, _known_here(tx, one.event, newest) | told.get(one.id, {}))
        row = tx.journal.get(one.id)
        completed = (row and snapshot_of(row)) or one.event
        newest = completed.ticket
        if completed.incomplete:
            what = What.GOES_WITHOUT(event_id=one.id, facts=completed.incomplete, because=because)
            steps.append(Step(ticket_id, what, completed.task.id if completed.task else None))
    return steps


def _answers(lookup: HelpdeskLookup, event: Event) -> dict[str, Any]:
    """Return the missing facts that the help desk can provide; the value None means no person, or no address."""
    facts: dict[str, Any] = {}
    if "ticket.technician" in event.incomplete:
        technician = lookup.person_of(event.ticket.id, "technician")
        facts["ticket.technician"] = technician and with_emails(technician, lookup.emails_of(technician))
    if "ticket.requester" in event.incomplete:
        requester = lookup.person_of(event.ticket.id, "requester")
        facts["ticket.requester"] = requester and with_emails(requester, [])
    for fact, person in _without_email(event):
        addressed = with_emails(person.id, lookup.emails_of(person.id))
        facts[fact] = addressed["email"]
        if emails := addressed.get("emails"):
            facts[f"{fact}s"] = emails
    return facts


def _without_email(event: Event) -> Iterator[tuple[Fact, HelpdeskUser]]:
    """Yield the people whose e-mail addresses the event lacks."""
    people: dict[Fact, HelpdeskUser | None] = {
        "ticket.technician.email": event.ticket.technician,
        "task.technician.email": event.task.technician if event.task else None,
        **dict.fromkeys(EMAIL_OF_USER, event.user),
    }
    yield from ((fact, person) for fact, person in people.items() if person and fact in event.incomplete)


def _known_here(tx: Transaction, event: Event, newest: Ticket | None) -> dict[str, Any]:
    """Return the missing facts that earlier events contain about the same ticket and people."""
    before = newest.technician if newest else None
    address = before and (before.email or tx.people.email_of(before.id))
    known: dict[str, Any] = {
        "ticket.project_id": newest and newest.project_id,
        "ticket.other_project_ids": newest and newest.other_project_ids,
        "ticket.requester": newest and newest.requester and newest.requester.model_dump(),
        "ticket.technician": before and {"id": before.id, "email": address, "name": before.name},
        **{fact: tx.people.email_of(person.id) for fact, person in _without_email(event)},
    }
    asked = [*event.incomplete, *([OTHER_PROJECTS] if "ticket.project_id" in event.incomplete else [])]
    return {fact: value for fact, value in known.items() if fact in asked and value is not None}


def waits_since(row: JournalEvent | None, reason: Reason, now: datetime) -> datetime:
    """Return since when an event has waited for a reason that states it; now if it has not waited for it."""
    waits = row.notice if row and row.has_code(reason) else None
    try:
        return min(now, datetime.fromisoformat(waits.params["since"])) if waits else now
    except (KeyError, TypeError, ValueError):
        return now
