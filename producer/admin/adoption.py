"""Is what a person wants to adopt really there? Asked with the lists that a lookup reads, before anything is linked."""

from __future__ import annotations

from collections.abc import Mapping

from shared.errors import BridgeError
from shared.kinds import Kind
from shared.store.ledger import Row
from shared.tracker.client import TrackerClient, rows_of


class NotThere(BridgeError):
    """The tracker was asked and does not have it."""


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
    client.call("GET", "/users.json", params={"limit": 1})  # lists answer 200 to a refused key, too
    params: Mapping[str, str | int] = {"issue_id": tracker_id, "status_id": "*"}
    where = ""
    if kind is Kind.TICKET_TASK:
        params, where = {"issue_id": row.issue_id or 0}, f" on issue #{row.issue_id}"
    for page in client.pages(kind.path, kind.list_name, params):
        if any(one.get("id") == tracker_id for one in rows_of(page, kind.list_name, kind.path)):
            return
    raise NotThere(f"the tracker has no {kind.noun} #{tracker_id}{where}: look at its number again")
