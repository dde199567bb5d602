"""Corrects the author of time entries on the tracker on request; SPEC has no such call."""

from __future__ import annotations

import time
from dataclasses import dataclass

from producer.admin.people.misattributed import entries_of
from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError, NotFound, TrackerError, TrackerRejected
from shared.events.authors import author_of
from shared.events.config import PluginConfig
from shared.metadata.synchronisation import Connect
from shared.notices.access import AccessRefusal
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.notices.steps import What
from shared.store.configuration.matching import TrackerPerson
from shared.store.decisions import asked_by
from shared.store.journal.trace import Step
from shared.store.tables.ledger import LedgerRow, LedgerState
from shared.tracker.client import TrackerClient
from shared.tracker.lists import Listed, TrackerLists
from shared.values.identity import Identity
from shared.values.ids import id_in

AT_ONCE_S, MOST_AT_ONCE = 20.0, 500
"""Time limit, and maximum number of time entries, of one request."""


class NotCorrected(BridgeError):
    """The time entry keeps its author."""


class CorrectionOff(NotCorrected):
    """The settings do not allow corrections of authors."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A time entry with its author corrected."""

    ticket_id: int
    time_entry_id: int
    login: str


@dataclass(frozen=True, slots=True)
class Given:
    """The result for the time entries that were intended for one person.

    Attributes:
        given: the corrected ones.
        refused: ticket tasks whose time entries were not corrected, and why.
        left: how many were not tried.
    """

    given: list[Corrected]
    refused: list[tuple[int, Notice]]
    left: int


def correct_author(store: Store, connect: Connect, task_id: int) -> Corrected:
    """Change a time entry's author to the person intended now, and verify that the tracker did so.

    An issue's author cannot be changed: Redmine 5.0 and 6.0 answer such a PUT with 204 and keep the author.

    Args:
        store: the database.
        connect: returns the Redmine settings and the tracker's client.
        task_id: the ticket task.

    Raises:
        NotFound: if the ticket task has no time entry.
        CorrectionOff: if the settings do not allow it.
        NotCorrected: if the intended author is not known, or the tracker refused or ignored the change.
        TrackerError: if there was no clear answer; the call can be repeated.
    """
    config, client = connect()
    if not config.correct_authors:
        raise CorrectionOff(AccessRefusal.AUTHORS_NOT_CORRECTED_HERE())
    with store.transaction() as tx:
        row = _logged(tx, task_id)
        person = _meant(tx, row, config)
    entry_id = row.tracker_id or 0
    _give(client, row, entry_id, person)
    with store.transaction() as tx:
        tx.times.belongs_to(task_id, entry_id, person.tracker_user_id)
        tx.misattributed.remove(Kind.TICKET_TASK, task_id)
        done = {"time_entry_id": entry_id, "login": person.login}
        tx.trace.append([Step(row.ticket_id, What.ENTRY_GIVEN_TO(**done), task_id)])
        tx.changes.note(Did.AUTHOR_CORRECTED(**done), before=row.author_id, after=person.tracker_user_id)
    return Corrected(row.ticket_id, entry_id, person.login)


def correct_authors_of(store: Store, connect: Connect, whose: str, seconds: float = AT_ONCE_S) -> Given:
    """Correct each time entry that was intended for one person, as `correct_author` does, within a time limit.

    Args:
        store: the database.
        connect: returns the Redmine settings and the tracker's client.
        whose: `MisattributedByPerson.key` of the person.
        seconds: the time after which no further correction is started.

    Raises:
        CorrectionOff: if the settings do not allow it.
    """
    began, task_ids = time.monotonic(), entries_of(store, whose, MOST_AT_ONCE)
    given: list[Corrected] = []
    refused: list[tuple[int, Notice]] = []
    for task_id in task_ids:
        if time.monotonic() - began > seconds:
            break
        try:
            given.append(correct_author(store, connect, task_id))
        except CorrectionOff:
            raise
        except (NotCorrected, NotFound) as problem:
            refused.append((task_id, problem.notice))
        except TrackerError as problem:
            refused.append((task_id, problem.notice))
            break
    return Given(given, refused, len(task_ids) - len(given) - len(refused))


def _logged(tx: Transaction, task_id: int) -> LedgerRow:
    row = tx.times.get(task_id)
    if row is None or row.state != LedgerState.LINKED:
        raise NotFound(Refusal.TIME_ENTRY_UNKNOWN(task_id=task_id))
    return row


def _meant(tx: Transaction, row: LedgerRow, config: PluginConfig) -> TrackerPerson:
    event = asked_by(tx, row)
    if event is None or event.task is None:
        raise NotCorrected(Refusal.LOGGING_EVENT_PRUNED(task_id=row.key))
    author = author_of(event, config)
    match = tx.people.match(author, administrators=config.match_administrators)
    if match.person is None:
        if author is None:
            raise NotCorrected(Refusal.HOURS_OF_NOBODY())
        raise NotCorrected(Refusal.HOURS_OF_SOMEBODY_UNKNOWN(helpdesk_user_id=author.id))
    return match.person


def _give(client: TrackerClient, row: LedgerRow, entry_id: int, person: TrackerPerson) -> None:
    body = {Kind.TICKET_TASK.wire_name: {"user_id": person.tracker_user_id}}
    before = _listed(client, row, entry_id)
    made = Identity(created_on=row.created_on)
    if before is None or made.is_of_another_time(Identity.of(Kind.TICKET_TASK, before)):
        raise NotCorrected(Refusal.ENTRY_IS_ANOTHER(time_entry_id=entry_id, issue_id=row.issue_id))
    try:
        client.call("PUT", f"/time_entries/{entry_id}.json", body=body)
    except TrackerRejected as refused:
        raise NotCorrected(Refusal.AUTHOR_REFUSED(login=person.login, problem=refused.notice)) from None
    # the tracker answers 204 even to a change that it ignores
    after = _listed(client, row, entry_id)
    if after is None or id_in(after.get("user")) != person.tracker_user_id:
        raise NotCorrected(Refusal.AUTHOR_IGNORED(time_entry_id=entry_id, login=person.login))


def _listed(client: TrackerClient, row: LedgerRow, entry_id: int) -> Listed | None:
    """Return a time entry of the row's issue as the tracker lists it, or None if the issue does not have it."""
    kind = Kind.TICKET_TASK
    return TrackerLists(client).find(kind.path, kind.list_name, entry_id, {"issue_id": row.issue_id or 0})
