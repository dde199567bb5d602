"""Looks up objects of dry runs on the tracker: by their marks, never by the id alone.

A tracker on SQLite gives the id of the last issue or project, once it is deleted, to the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from shared.dryrun.marks import ObjectKind
from shared.errors import TrackerRejected
from shared.metadata.reading import find_project
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.tables.ledger import DryRunObject
from shared.tracker.answers import Answer
from shared.tracker.client import TrackerClient
from shared.tracker.lists import Listed, TrackerLists
from shared.values.ids import id_in

CLOCKS_APART = timedelta(days=1)
"""How far the tracker's clock may differ from the database's."""
ISSUES = ObjectKind.ISSUE.path


def look_up(client: TrackerClient, row: DryRunObject) -> int | None:
    """Return the tracker's id of a row's object, or None if nothing carries its mark.

    Raises:
        TrackerError: if the answer is not clear, or the key is refused (lists then answer as for anonymous users).
    """
    if row.kind == ObjectKind.PROJECT:
        project = find_project(client, row.mark)
        return project.tracker_id if project else None
    if row.tracker_id is not None:
        return _known_issue(client, row, row.tracker_id)
    since = row.begun_at - CLOCKS_APART

    def is_past(rows: list[Listed], _: Answer) -> bool:
        return bool(rows) and _is_before(rows[-1].get("created_on"), since)

    return _id_of([one for one in _issues_of_project(client, row, is_past) if carries(one, row.mark)])


def in_use(client: TrackerClient, row: DryRunObject, tracker_id: int) -> Notice | None:
    """Return what people have added below a leftover object and its deletion would delete, too, or None.

    Raises:
        TrackerError: as `look_up`.
    """

    def below(rows: list[Listed], _: Answer | None = None) -> bool:
        # a tracker that does not support the filter returns any issues
        return any(id_in(one.get("parent")) == tracker_id for one in rows)

    if row.kind == ObjectKind.PROJECT:
        projects = TrackerLists(client).read_all("/projects.json", "projects")
        return Reason.PROJECT_BELOW() if below(projects) else _issues_in(client, tracker_id)
    params: dict[str, str | int] = {"parent_id": tracker_id, "status_id": "*"}
    found = TrackerLists(client).search(ISSUES, "issues", params, enough=below)
    return Reason.ISSUE_BELOW() if below(found) else None


def carries(issue: dict[str, Any], mark: str) -> bool:
    """Return whether an issue carries a mark."""
    return mark in str(issue.get("subject") or "")


def _known_issue(client: TrackerClient, row: DryRunObject, tracker_id: int) -> int | None:
    params: dict[str, str | int] = {"issue_id": tracker_id, "status_id": "*"}
    found = TrackerLists(client).find(ISSUES, "issues", tracker_id, params)
    if found is None:
        # it may only be hidden: the issues of an archived project are in no list, and reading them is refused
        _issues_of_project(client, row, _one_page)
    return tracker_id if found is not None and carries(found, row.mark) else None


def _issues_of_project(
    client: TrackerClient, row: DryRunObject, enough: Callable[[list[Listed], Answer], bool]
) -> list[Listed]:
    """Read a project's issues, newest first; none if the project no longer exists.

    Raises:
        TrackerRejected: if the project is archived (403).
        TrackerError: as `TrackerLists.search`.
    """
    params: dict[str, str | int] = {
        "project_id": row.tracker_project_id or 0, "status_id": "*", "sort": "created_on:desc",
    }  # fmt: skip
    try:
        return TrackerLists(client).search(ISSUES, "issues", params, enough=enough)
    except TrackerRejected as refusal:
        if refusal.status == 404:
            return []
        raise


def _issues_in(client: TrackerClient, tracker_project_id: int) -> Notice | None:
    params: dict[str, str | int] = {"project_id": tracker_project_id, "status_id": "*"}
    try:
        rows = TrackerLists(client).search(ISSUES, "issues", params, enough=_one_page)
    except TrackerRejected as refusal:
        if refusal.status in (403, 404):  # without the issue module it has no list
            return None
        raise
    return Reason.ISSUES_WITHIN() if rows else None


def _one_page(_rows: list[Listed], _answer: Answer) -> bool:
    """Stop after the first page of a list."""
    return True


def _id_of(rows: list[dict[str, Any]]) -> int | None:
    """Return the id of the oldest issue, because a later one is someone's copy, including the mark."""
    return min((one["id"] for one in rows if isinstance(one.get("id"), int)), default=None)


def _is_before(created_on: Any, moment: datetime) -> bool:
    try:
        created = datetime.fromisoformat(str(created_on))
    except ValueError:
        return False
    return created.tzinfo is not None and created < moment
