"""Is what a person wants to adopt really there? Asked with the lists that a lookup reads, before anything is linked."""

from __future__ import annotations

from shared.codes.refusals import Refusal
from shared.errors import BridgeError
from shared.kinds import Kind
from shared.store.ledger import Row
from shared.tracker.client import TrackerClient
from shared.tracker.lists import Params, TrackerLists


class NotThere(BridgeError):
    """The tracker was asked and does not have it."""

    otherwise = Refusal.NOT_ON_TRACKER


def check_there(client: TrackerClient, kind: Kind, row: Row, tracker_id: int) -> None:
    """Make sure that an issue, or a time entry of the row's issue, exists.

    Args:
        client: the tracker.
        kind: issue or time entry.
        row: the ledger row that is to adopt it.
        tracker_id: the object's id.

    Raises:
        NotThere: it does not exist.
        TrackerError: the tracker could not be asked.
    """
    params: Params = {"issue_id": tracker_id, "status_id": "*"}
    where = ""
    if kind is Kind.TICKET_TASK:
        params, where = {"issue_id": row.issue_id or 0}, f" on issue #{row.issue_id}"
    if TrackerLists(client).find(kind.path, kind.list_name, tracker_id, params) is None:
        raise NotThere(f"the tracker has no {kind.noun} #{tracker_id}{where}: check the number")
