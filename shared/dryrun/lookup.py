"""Asks the tracker whether something that a dry run made is there: by its mark, never by its id alone.

A tracker over SQLite gives the id of a deleted last issue or project to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from shared.dryrun.marks import Kind
from shared.errors import OutcomeUnknown, TrackerRejected
from shared.metadata.reading import find_project
from shared.store.models import DryRunObject
from shared.tracker.client import PAGE_SIZE, TrackerClient, rows_of

MOST_PAGES = 50
CLOCKS_APART = timedelta(days=1)
"""How far the tracker's clock may be from the database's."""
ISSUES = Kind.ISSUE.path


def look_up(client: TrackerClient, row: DryRunObject) -> int | None:
    """Return the tracker's id of what a row stands for, None where nothing carries its mark.

    Raises:
        TrackerError: the tracker did not say it clearly, or the key is refused (lists would answer as for anybody).
    """
    client.call("GET", "/users.json", params={"limit": 1})
    if row.kind == Kind.PROJECT:
        project = find_project(client, row.mark)
        return project.tracker_id if project else None
    if row.tracker_id is not None:
        return _known_issue(client, row, row.tracker_id)
    return _id_of([one for one in _issues_of_project(client, row) if carries(one, row.mark)])


def in_use(client: TrackerClient, row: DryRunObject, tracker_id: int) -> str | None:
    """Tell what people have put below something that was left, and that its deletion would take along.

    Raises:
        TrackerError: as `look_up`.
    """
    if row.kind == Kind.PROJECT:
        below = [one for one in _projects(client) if _reference(one.get("parent")) == tracker_id]
        return "somebody made a project below it" if below else _issues_in(client, tracker_id)
    params: dict[str, str | int] = {"parent_id": tracker_id, "status_id": "*", "limit": PAGE_SIZE}
    rows = rows_of(client.call("GET", ISSUES, params=params), "issues", ISSUES)
    # a tracker that does not know the filter gives any issues
    below = [one for one in rows if _reference(one.get("parent")) == tracker_id]
    return "somebody made an issue below it" if below else None


def carries(issue: dict[str, Any], mark: str) -> bool:
    """Tell whether an issue carries a mark."""
    return mark in str(issue.get("subject") or "")


def _known_issue(client: TrackerClient, row: DryRunObject, tracker_id: int) -> int | None:
    params: dict[str, str | int] = {"issue_id": tracker_id, "status_id": "*", "limit": 1}
    rows = rows_of(client.call("GET", ISSUES, params=params), "issues", ISSUES)
    same = [one for one in rows if one.get("id") == tracker_id]
    if not same:
        _ask_whether_readable(client, row)
    return _id_of([one for one in same if carries(one, row.mark)])


def _ask_whether_readable(client: TrackerClient, row: DryRunObject) -> None:
    """Make sure that an issue is not merely hidden: the issues of an archived project are in no list.

    Raises:
        TrackerRejected: 403, the project is archived.
    """
    next(_pages(client, row, limit=1), None)


def _issues_of_project(client: TrackerClient, row: DryRunObject) -> Iterator[dict[str, Any]]:
    since = row.begun_at - CLOCKS_APART
    for rows in _pages(client, row, limit=PAGE_SIZE):
        yield from rows
        if rows and _is_before(rows[-1].get("created_on"), since):
            return


def _pages(client: TrackerClient, row: DryRunObject, *, limit: int) -> Iterator[list[dict[str, Any]]]:
    """Read a project's issues, newest first, a page at a time; none where the project is gone and they with it.

    Raises:
        OutcomeUnknown: the list changed while it was read.
        TrackerRejected: 403, the project is archived.
    """
    total, seen = None, 0
    for page in range(MOST_PAGES):
        params: dict[str, str | int] = {
            "project_id": row.tracker_project_id or 0, "status_id": "*", "sort": "created_on:desc",
            "limit": limit, "offset": page * limit,
        }  # fmt: skip
        try:
            answer = client.call("GET", ISSUES, params=params)
        except TrackerRejected as refusal:
            if refusal.status == 404:
                return
            raise
        rows = rows_of(answer, "issues", ISSUES)
        if total is not None and answer.data.get("total_count") != total:
            raise OutcomeUnknown("GET", ISSUES, detail="the list changed while it was read")
        total, seen = answer.data.get("total_count"), seen + len(rows)
        yield rows
        if not rows or not isinstance(total, int) or seen >= total:
            return
    raise OutcomeUnknown("GET", ISSUES, detail=f"more than {MOST_PAGES} pages to look through")


def _issues_in(client: TrackerClient, tracker_project_id: int) -> str | None:
    params: dict[str, str | int] = {"project_id": tracker_project_id, "status_id": "*", "limit": 1}
    try:
        rows = rows_of(client.call("GET", ISSUES, params=params), "issues", ISSUES)
    except TrackerRejected as refusal:
        if refusal.status in (403, 404):  # without the module of issues it has none to list
            return None
        raise
    return "somebody made issues in it" if rows else None


def _projects(client: TrackerClient) -> Iterator[dict[str, Any]]:
    for answer in client.pages("/projects.json", "projects"):
        yield from rows_of(answer, "projects", "/projects.json")


def _id_of(rows: list[dict[str, Any]]) -> int | None:
    """Return the oldest: a later one is somebody's copy, marks and all."""
    return min((one["id"] for one in rows if isinstance(one.get("id"), int)), default=None)


def _reference(value: Any) -> Any:
    return value.get("id") if isinstance(value, dict) else None


def _is_before(created_on: Any, moment: datetime) -> bool:
    try:
        created = datetime.fromisoformat(str(created_on))
    except ValueError:
        return False
    return created.tzinfo is not None and created < moment
