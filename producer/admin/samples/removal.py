"""Removes a sample from the tracker and from deskbridge: only what the ledger lists and what carries the mark.

The ledger is the list of what to delete. Its rows are deleted last, so that whatever cannot be deleted now is still
known the next time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from producer.admin.samples.events import mark_of
from producer.admin.services import Services
from shared.dryrun.lookup import look_up
from shared.dryrun.marks import ObjectKind
from shared.errors import BridgeError, LockBusy, TrackerRejected
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.redis.locks import of_ticket
from shared.store.ledger.transitions import IN_FLIGHT
from shared.store.tables.ledger import DryRunObject, LedgerRow, LedgerState
from shared.tracker.client import TrackerClient
from shared.tracker.lists import Listed, Params, TrackerLists
from shared.values.ids import id_in

PATIENCE_S = 10.0
"""How long to wait for the lock, which a worker keeps for a moment after the ticket's event has ended."""
LOOKS_EVERY_S = 0.1
ISSUES, TIMES = Kind.TICKET, Kind.TICKET_TASK


class NotRemoved(BridgeError):
    """A sample that cannot be removed now; what was not deleted is still known."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed sample, and what was deleted on the tracker.

    Attributes:
        id: id of the sample.
        issue_ids: its issues; more than one only if a lost answer led to a duplicate.
        time_entry_ids: its time entries.
    """

    id: int
    issue_ids: list[int] = field(default_factory=list)
    time_entry_ids: list[int] = field(default_factory=list)


@contextmanager
def sending(services: Services, sample_id: int) -> Iterator[None]:
    """Keep other commands from removing a sample during the block.

    Raises:
        LockBusy: if another command uses it.
    """
    with services.locks.hold(f"sample:{sample_id}"):
        yield


def remove_left_over(services: Services) -> tuple[list[Removed], list[BridgeError]]:
    """Remove samples that no running command uses; return the removed ones, and why the others stay.

    Raises:
        RedisError: if Redis is down.
    """
    with services.store.transaction() as tx:
        left = tx.samples.tickets()
    removed: list[Removed] = []
    failed: list[BridgeError] = []
    for sample_id in left:
        try:
            with sending(services, sample_id):
                removed.append(remove(services, sample_id))
        except LockBusy:
            failed.append(NotRemoved(Refusal.SAMPLE_AT_WORK(id=sample_id)))
        except BridgeError as failure:
            failed.append(failure)
    return removed, failed


def remove(services: Services, sample_id: int) -> Removed:
    """Delete what a sample has created on the tracker, then forget the sample.

    Raises:
        NotRemoved: if it is being processed, or something prevents the removal; repeat it later.
        TrackerError, SettingsError: if the tracker cannot be queried, or does not delete it.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with services.locks.hold(of_ticket(sample_id)):
                return _remove(services, sample_id)
        except LockBusy:
            if time.monotonic() > until:
                raise NotRemoved(Refusal.SAMPLE_AT_WORK(id=sample_id)) from None
            time.sleep(LOOKS_EVERY_S)


def _remove(services: Services, sample_id: int) -> Removed:
    with services.store.transaction() as tx:
        made = tx.rows_of_ticket(sample_id)
    issue, times = next(iter(made[ISSUES]), None), made[TIMES]
    rows = [(ISSUES, issue)] if issue else []
    rows += [(TIMES, one) for one in times]
    for kind, row in rows:
        if row.state in IN_FLIGHT:
            raise NotRemoved(Refusal.SAMPLE_UNDER_WAY(id=sample_id, kind=kind))
    removed = Removed(sample_id)
    if any(row.state != LedgerState.FREE for _, row in rows):
        _, client = services.connector.connect()
        _delete(client, removed, issue, times)
    with services.store.transaction() as tx:
        tx.samples.delete(sample_id)
        tx.changes.note(
            Did.SAMPLE_REMOVED(
                id=sample_id,
                issue_ids=removed.issue_ids or None,
                time_entry_ids=removed.time_entry_ids or None,
            )
        )
    return removed


def _delete(
    client: TrackerClient, removed: Removed, issue: LedgerRow | None, times: Sequence[LedgerRow]
) -> None:
    """Delete a sample's issues, each after the time entries that the sample has logged there."""
    lists, mark = TrackerLists(client), mark_of(removed.id)
    linked = {one for one in [issue and issue.tracker_id, *(entry.issue_id for entry in times)] if one}
    perhaps = set(issue.candidates or ()) if issue else set()
    if issue and issue.state == LedgerState.ON_HOLD and (found := _found_by_mark(client, issue, mark)):
        perhaps.add(found)
    for issue_id in sorted(linked | perhaps):
        params: Params = {"issue_id": issue_id, "status_id": "*"}
        row = lists.find(ISSUES.path, ISSUES.list_name, issue_id, params)
        if row is None:
            continue
        if any(mark in str(row.get(name) or "") for name in ("subject", "description")):
            _delete_issue(client, lists, removed, issue_id, {one.tracker_id for one in times})
        elif issue_id in linked:
            raise NotRemoved(Refusal.SAMPLE_UNMARKED(id=removed.id, issue_id=issue_id, mark=mark))


def _delete_issue(
    client: TrackerClient, lists: TrackerLists, removed: Removed, issue_id: int, linked: set[int | None]
) -> None:
    mark, entries = mark_of(removed.id), lists.read_all(TIMES.path, TIMES.list_name, {"issue_id": issue_id})
    ours = [one["id"] for one in entries if one["id"] in linked or mark in str(one.get("comments") or "")]
    if len(ours) < len(entries) or _has_issues_below(lists, issue_id):
        raise NotRemoved(Refusal.SAMPLE_IN_USE(id=removed.id, issue_id=issue_id))
    for entry_id in ours:
        _call_delete(client, f"/time_entries/{entry_id}.json")
        removed.time_entry_ids.append(entry_id)
    _call_delete(client, f"/issues/{issue_id}.json")
    removed.issue_ids.append(issue_id)


def _found_by_mark(client: TrackerClient, issue: LedgerRow, mark: str) -> int | None:
    """Return the issue that carries the mark of a sample whose answer was lost, or None."""
    begun_at = issue.first_claimed_at or issue.changed_at
    asked = DryRunObject(
        kind=ObjectKind.ISSUE, mark=mark, tracker_project_id=issue.tracker_project_id, begun_at=begun_at
    )
    return look_up(client, asked)


def _has_issues_below(lists: TrackerLists, issue_id: int) -> bool:
    def below(rows: list[Listed], _: object = None) -> bool:
        # a tracker that does not know the filter returns unrelated issues
        return any(id_in(one.get("parent")) == issue_id for one in rows)

    params: Params = {"parent_id": issue_id, "status_id": "*"}
    return below(lists.search(ISSUES.path, ISSUES.list_name, params, enough=below))


def _call_delete(client: TrackerClient, path: str) -> None:
    """Delete an object; it is no error if it is gone already."""
    try:
        client.call("DELETE", path, expected=(404,))
    except TrackerRejected as refusal:
        if refusal.status != 404:
            raise
