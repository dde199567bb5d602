"""Checks before an adoption that the object exists on the tracker, with the same lists that a lookup reads."""

from __future__ import annotations

from collections.abc import Sequence

from shared.errors import BridgeError, TrackerRejected
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.store.tables.ledger import LedgerRow
from shared.tracker.client import TrackerClient
from shared.tracker.lists import (
    PAGE_SIZE,
    Listed,
    Params,
    TrackerLists,
    additions_in,
    listed_with_issue,
    project_of,
)


class NotThere(BridgeError):
    """The tracker answered that the object does not exist."""


def listed_as(lists: TrackerLists, kind: Kind, row: LedgerRow, tracker_id: int) -> Listed | None:
    """Return an issue, or an object of the row's issue, as the tracker lists it; None if it does not exist.

    Raises:
        TrackerError: if the tracker cannot be read.
    """
    if kind.is_addition:
        additions = additions_on(lists, kind, row.issue_id or 0)
        return next((one for one in additions if one.get("id") == tracker_id), None)
    params: Params = {"issue_id": tracker_id, "status_id": "*"}
    if kind.is_on_issue:
        params = {"issue_id": row.issue_id or 0}
    return lists.find(kind.path, kind.list_name, tracker_id, params)


def check_there(client: TrackerClient, kind: Kind, row: LedgerRow, tracker_id: int) -> Listed:
    """Check that an issue, or an object of the row's issue, exists.

    Args:
        client: the tracker.
        kind: kind of the row.
        row: the ledger row that would adopt it.
        tracker_id: the object's id.

    Returns:
        The object as the tracker lists it.

    Raises:
        NotThere: if it does not exist.
        TrackerError: if the tracker cannot be read.
    """
    found = listed_as(TrackerLists(client), kind, row, tracker_id)
    if found is None:
        issue_id = row.issue_id if kind.is_on_issue else None
        raise NotThere(Refusal.NOT_ON_TRACKER(kind=str(kind), tracker_id=tracker_id, issue_id=issue_id))
    return found


def additions_on(lists: TrackerLists, kind: Kind, issue_id: int) -> list[Listed]:
    """Return the notes or the attachments of an issue; empty if the issue does not exist.

    Raises:
        TrackerError: if the tracker cannot be read.
    """
    try:
        answer = lists.get(f"/issues/{issue_id}.json", {"include": kind.list_name})
    except TrackerRejected as refused:
        if refused.status != 404:
            raise
        return []
    return additions_in(listed_with_issue(answer, kind.list_name) or [], kind)


def projects_of(client: TrackerClient, issue_ids: Sequence[int]) -> dict[int, int]:
    """Return the tracker project of each issue that exists.

    Raises:
        TrackerError: if the tracker cannot be read.
    """
    kind, lists, found = Kind.TICKET, TrackerLists(client), dict[int, int]()
    for start in range(0, len(issue_ids), PAGE_SIZE):
        wanted = ",".join(map(str, issue_ids[start : start + PAGE_SIZE]))
        rows = lists.read_all(kind.path, kind.list_name, {"issue_id": wanted, "status_id": "*"})
        found |= {one["id"]: project for one in rows if (project := project_of(one))}
    return found
