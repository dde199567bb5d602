"""Confirms ids against the cache of the tracker's metadata; an unknown one is refused with the choices there are."""

from __future__ import annotations

from collections.abc import Sequence

from shared.errors import NotFound
from shared.store import Transaction
from shared.store.links import Link
from shared.store.metadata import Entry, MetadataKind

MOST_NAMED = 10
NEWER = "new ones are known after `deskbridge sync-metadata`"
OF_SPEC = {
    "default_tracker_id": MetadataKind.ISSUE_TYPE,
    "default_priority_id": MetadataKind.PRIORITY,
    "default_activity_id": MetadataKind.ACTIVITY,
    "default_role_id": MetadataKind.ROLE,
}
"""Keys of the plugin config (SPEC 2.1) and what their ids are."""


def confirm(tx: Transaction, kind: MetadataKind, tracker_id: int) -> bool:
    """Confirm an id.

    Returns:
        False where the cache knows nothing of this kind and confirms nothing.

    Raises:
        NotFound: naming the choices, of which the id is none.
    """
    entry = tx.metadata.get(kind, tracker_id)
    if entry is not None and entry.details.get("active", True):
        return True
    if kind is MetadataKind.ACTIVITY and entry is None and _is_of_a_project(tx, tracker_id):
        return True
    choices = [one for one in tx.metadata.of_kind(kind) if one.details.get("active", True)]
    if entry is None and not choices:
        return False
    what = (
        f"{entry} is switched off on the tracker" if entry else f"the tracker has no {kind.noun} {tracker_id}"
    )
    raise NotFound(f"{what}; there are: {named(choices)} ({NEWER})")


def confirm_link(tx: Transaction, link: Link) -> bool:
    """Confirm that a link leads to an active tracker project, and its category to one of that project (SPEC 7).

    Returns:
        False where the cache is empty and confirms nothing.

    Raises:
        NotFound: naming the choices.
    """
    if not confirm(tx, MetadataKind.PROJECT, link.tracker_project_id):
        return False
    if link.default_category_id is None:
        return True
    choices = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=link.tracker_project_id)
    if link.default_category_id not in {one.tracker_id for one in choices}:
        there_are = f"it has: {named(choices)}" if choices else "it has none"
        raise NotFound(
            f"tracker project {link.tracker_project_id} has no issue category {link.default_category_id}; "
            f"{there_are} ({NEWER})"
        )
    return True


def named(choices: Sequence[Entry]) -> str:
    """Return some of the choices for a person, and how many more there are."""
    more = f" and {len(choices) - MOST_NAMED} more" if len(choices) > MOST_NAMED else ""
    return ", ".join(map(str, choices[:MOST_NAMED])) + more


def _is_of_a_project(tx: Transaction, activity_id: int) -> bool:
    """Tell whether a tracker project has an activity of its own with this id (where that was read)."""
    projects = tx.metadata.of_kind(MetadataKind.PROJECT)
    return any(activity_id in one.details.get("activity_ids", ()) for one in projects)
