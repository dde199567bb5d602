"""Refreshes the metadata that a refused payload refers to, because the cache may be an hour old."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.errors import TrackerRejected
from shared.metadata.synchronisation import refresh, refresh_categories, refresh_people
from shared.refusals.judging import blank
from shared.refusals.known import KnownMetadata, known_of
from shared.store.configuration.metadata import MetadataKind
from shared.store.transaction import Store
from shared.templating.operations import Operation
from shared.tracker.lists import TrackerLists
from shared.tracker.projects import project_now

KINDS: Mapping[Operation, tuple[MetadataKind, ...]] = {
    Operation.ISSUE_CREATE: (MetadataKind.CUSTOM_FIELD, MetadataKind.PRIORITY),
    Operation.TIME_ENTRY_CREATE: (MetadataKind.CUSTOM_FIELD, MetadataKind.ACTIVITY),
    Operation.ISSUE_UPDATE_STATUS: (),
    Operation.NOTE_CREATE: (),
}
PEOPLE = ("watcher_user_ids", "assigned_to_id")


def known_now(
    store: Store, lists: TrackerLists, operation: Operation, payload: Mapping[str, Any], project_id: int
) -> KnownMetadata:
    """Refresh the metadata that may be why a payload was refused; return what is known about the tracker then.

    Args:
        store: the store of the cache, which is updated.
        lists: the tracker's lists.
        operation: the operation of the payload.
        payload: the request body.
        project_id: the tracker project that it is for.

    Raises:
        TrackerError: if the metadata could not be read.
    """
    fields = payload.get(operation.top_key)
    named = [one for one, value in fields.items() if not blank(value)] if isinstance(fields, dict) else []
    categories = refresh_categories(store, lists, project_id) if "category_id" in named else []
    if any(one in named for one in PEOPLE) or any(one.details.get("assigned_to_id") for one in categories):
        refresh_people(store, lists)
    project = project_now(lists.get, project_id)
    refresh(
        store, lists, *KINDS[operation]
    )  # also checks whether the tracker is open: a REST API that is off answers 403
    is_closed = (
        _is_closed(lists, fields["issue_id"]) if "issue_id" in named and isinstance(fields, dict) else None
    )
    with store.transaction() as tx:
        return replace(known_of(tx, project_id), project_now=project, is_issue_closed=is_closed)


def _is_closed(lists: TrackerLists, issue_id: object) -> bool | None:
    """Return whether an issue is closed, or None if the tracker does not show it."""
    try:
        found = lists.get(f"/issues/{issue_id}.json").data
    except TrackerRejected:
        return None
    issue = found.get("issue") if isinstance(found, dict) else None
    status = issue.get("status") if isinstance(issue, dict) else None
    return status.get("is_closed") is True if isinstance(status, dict) else None
