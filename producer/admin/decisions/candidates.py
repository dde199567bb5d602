"""What the tracker has of what a held creation may be: read for a person to compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from producer.admin.desk import Desk
from shared.codes.kinds import Kind
from shared.codes.notice import Notice
from shared.errors import SettingsError, TrackerError
from shared.store.tables.ledger import LedgerRow
from shared.tracker.lists import Params, TrackerLists

MOST_READ = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something on the tracker that may be it.

    Attributes:
        fields: as the request body calls them, of what the tracker told.
    """

    tracker_id: int
    there: bool
    author: str
    created_on: str
    fields: dict[str, Any]


def candidates_of(desk: Desk, kind: Kind, row: LedgerRow) -> tuple[list[Candidate], Notice | None]:
    """Return the candidates of a row as the tracker has them, and why they could not be read, where that is so."""
    ids = list(dict.fromkeys([*(row.candidates or ()), *([row.tracker_id] if row.tracker_id else [])]))
    try:
        _, client = desk.connector.connect()
        lists = TrackerLists(client)
        return [_candidate(lists, kind, row, one) for one in ids[:MOST_READ]], None
    except (SettingsError, TrackerError) as failure:
        return [Candidate(one, True, "", "", {}) for one in ids], failure.notice


def _candidate(lists: TrackerLists, kind: Kind, row: LedgerRow, tracker_id: int) -> Candidate:
    params: Params = {"issue_id": tracker_id, "status_id": "*"}
    if kind is Kind.TICKET_TASK:
        params = {"issue_id": row.issue_id or 0}
    found = lists.find(kind.path, kind.list_name, tracker_id, params)
    if found is None:
        return Candidate(tracker_id, False, "", "", {})
    author = found.get("author") or found.get("user") or {}
    fields = {name: value for name, value in found.items() if not isinstance(value, (dict, list))}
    for name, value in found.items():
        if isinstance(value, dict) and "id" in value:
            fields[f"{name}_id"] = value["id"]
    return Candidate(tracker_id, True, str(author.get("name", "")), str(found.get("created_on", "")), fields)
