"""Objects on the tracker that a creation on hold may have made, for a person to compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from producer.admin.review.adoption import additions_on, listed_as
from producer.admin.services import Services
from shared.errors import SettingsError, TrackerError
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.store.tables.ledger import LedgerRow
from shared.tracker.lists import PAGE_SIZE, Listed, Params, TrackerLists, rows_of

MOST_READ = 10
MOST_PAGES_READ = 3
MARGIN = timedelta(minutes=10)
"""An object that was created within this time before or after the send is a candidate."""

TOLERANCE = timedelta(minutes=1)
"""An object counts as older than the send only if it is earlier by more than this, by the tracker's clock."""

COMPARED = {
    Kind.TICKET: "subject",
    Kind.TICKET_TASK: "hours",
    Kind.FOLLOWUP: "notes",
    Kind.SOLUTION: "notes",
    Kind.DOCUMENT: "filename",
}
"""The field that a search compares, besides the place and the time."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object on the tracker that the creation may have made.

    Attributes:
        fields: the tracker's values, by their names in a request body.
        holder: id of the ticket, ticket task or other item that it is linked to already, unless it is the row's own.
        is_older: whether it was created before anything was sent for the row.
    """

    tracker_id: int
    there: bool
    author: str
    created_on: str
    fields: dict[str, Any]
    holder: int | None = None
    is_older: bool = False


def sent_fields(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sent fields by the names in the tracker's lists; empty if the body is of another kind."""
    sent = body.get(kind.wire_name)
    if not isinstance(sent, dict):
        return {}
    if kind is Kind.DOCUMENT:
        upload: Mapping[str, Any] = next(iter(sent.get("uploads") or ()), {})
        return {"filename": upload.get("filename"), "filesize": (body.get("document") or {}).get("size")}
    return sent


def known_candidates(row: LedgerRow) -> list[int]:
    """Return the tracker ids that a lookup recorded for a row, and the id that the row had before."""
    return list(dict.fromkeys([*(row.candidates or ()), *([row.tracker_id] if row.tracker_id else [])]))


def candidates_of(
    services: Services, kind: Kind, row: LedgerRow, also: Collection[int] = ()
) -> tuple[list[Candidate], Notice | None]:
    """Return the candidates of a row with the tracker's data, and why they could not be read, or None.

    If none is known, the tracker is searched for objects that are similar or were created at the time of the send.

    Args:
        services: the collaborators.
        kind: kind of the row.
        row: the row that waits for a person.
        also: further ids, such as one that a person has typed.
    """
    known = known_candidates(row)
    try:
        _, client = services.connector.connect()
        lists = TrackerLists(client)
        ids = list(dict.fromkeys([*known[:MOST_READ], *also]))
        found = [_read(lists, kind, row, one) for one in ids]
        if not known:
            found = [*_search(lists, kind, row, set(ids)), *found]
    except (SettingsError, TrackerError) as failure:
        ids = list(dict.fromkeys([*known, *also]))
        found, trouble = [Candidate(one, True, "", "", {}) for one in ids], failure.notice
        return _with_holders(services, kind, row, found), trouble
    return _with_holders(services, kind, row, found), None


def is_older_than_sent(row: LedgerRow, created_on: str) -> bool:
    """Return whether something was created before anything was sent for a row."""
    sent_at, created = row.first_claimed_at or row.claimed_at, _moment(created_on)
    return sent_at is not None and created is not None and created < sent_at - TOLERANCE


def _read(lists: TrackerLists, kind: Kind, row: LedgerRow, tracker_id: int) -> Candidate:
    found = listed_as(lists, kind, row, tracker_id)
    return Candidate(tracker_id, False, "", "", {}) if found is None else _candidate(row, found)


def _search(lists: TrackerLists, kind: Kind, row: LedgerRow, but: Collection[int]) -> list[Candidate]:
    """Return objects that are similar or were created at about the time of the send."""
    sent = sent_fields(kind, row.body or {})
    sent_at = row.first_claimed_at or row.claimed_at
    if not sent or sent_at is None:
        return []
    params: Params = {"issue_id": row.issue_id or 0}
    if kind is Kind.TICKET:
        params = {"status_id": "*", "sort": "created_on:desc"}
        if row.tracker_project_id:
            params["project_id"] = row.tracker_project_id
    alike = _alike(_newest(lists, kind, params, sent_at - MARGIN), COMPARED[kind], sent, sent_at)
    found = [_candidate(row, one) for one in alike]
    return [one for one in found if one.tracker_id not in but][:MOST_READ]


def _newest(lists: TrackerLists, kind: Kind, params: Params, since: datetime) -> Iterable[Listed]:
    """Yield the rows of a list's first pages that were created since a time; for an addition, all of the issue."""
    if kind.is_addition:
        yield from additions_on(lists, kind, int(params["issue_id"]))
        return
    for page in range(MOST_PAGES_READ):
        asked = {**params, "limit": PAGE_SIZE, "offset": page * PAGE_SIZE}
        rows = rows_of(lists.get(kind.path, asked), kind.list_name, kind.path)
        recent = [one for one in rows if (at := _moment(one.get("created_on"))) and at >= since]
        yield from recent
        if len(rows) < PAGE_SIZE or (kind is Kind.TICKET and len(recent) < len(rows)):
            return


def _alike(rows: Iterable[Listed], name: str, sent: dict[str, Any], sent_at: datetime) -> Iterable[Listed]:
    """Yield the rows that have the sent value of a field, and those that were created within minutes of the send."""
    for one in rows:
        created = _moment(one.get("created_on"))
        is_same = str(one.get(name, "")).strip() == str(sent.get(name, "")).strip()
        if is_same or (created is not None and abs(created - sent_at) <= MARGIN):
            yield one


def _candidate(row: LedgerRow, found: Listed) -> Candidate:
    author = found.get("author") or found.get("user") or {}
    fields = {name: value for name, value in found.items() if not isinstance(value, (dict, list))}
    for name, value in found.items():
        if isinstance(value, dict) and "id" in value:
            fields[f"{name}_id"] = value["id"]
    created_on = str(found.get("created_on", ""))
    return Candidate(
        found["id"],
        True,
        str(author.get("name", "")),
        created_on,
        fields,
        None,
        is_older_than_sent(row, created_on),
    )


def _with_holders(
    services: Services, kind: Kind, row: LedgerRow, found: Sequence[Candidate]
) -> list[Candidate]:
    with services.store.transaction() as tx:
        ledger = tx.ledger(kind)
        held = ledger.holders([{"id": one.tracker_id, "created_on": one.created_on} for one in found])
        holders = {tracker_id: ledger.holder(tracker_id) for tracker_id in held}
    return [
        replace(one, holder=holder.key)
        if (holder := holders.get(one.tracker_id)) and (holder.kind, holder.key) != (kind, row.key)
        else one
        for one in found
    ]


def _moment(text: Any) -> datetime | None:
    """Return a time of the tracker, or None if the text is no time with a zone."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
