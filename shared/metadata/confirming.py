"""Confirms ids against the cache of the tracker's metadata; an unknown one is refused with the choices there are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from shared.errors import NotFound
from shared.events.config import PluginConfig
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.store.configuration.links import Link
from shared.store.configuration.metadata import MetadataKind
from shared.store.transaction import Transaction

MOST_NAMED = 10
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
        False if the cache knows nothing of this kind and confirms nothing.

    Raises:
        NotFound: naming the choices, of which the id is none.
    """
    entry = tx.metadata.get(kind, tracker_id)
    if entry is not None and entry.details.get("active", True):
        return True
    if kind is MetadataKind.ACTIVITY and entry is None and _is_of_a_project(tx, tracker_id):
        return True
    choices = [one for one in tx.metadata.of_kind(kind) if one.details.get("active", True)]
    if entry is not None:
        raise NotFound(Refusal.ID_SWITCHED_OFF(id=tracker_id, name=entry.name, **some_of(choices)))
    if not choices:
        return False
    raise NotFound(Refusal.ID_NOT_ON_TRACKER(kind=str(kind), id=tracker_id, **some_of(choices)))


def confirm_link(tx: Transaction, link: Link) -> bool:
    """Confirm that a link leads to an active tracker project, and its category to one of that project (SPEC 7).

    Returns:
        False if the cache is empty and confirms nothing.

    Raises:
        NotFound: naming the choices.
    """
    if not confirm(tx, MetadataKind.PROJECT, link.tracker_project_id):
        return False
    if link.default_category_id is None:
        return True
    choices = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=link.tracker_project_id)
    if link.default_category_id not in {one.tracker_id for one in choices}:
        asked = {"project_id": link.tracker_project_id, "category_id": link.default_category_id}
        if not choices:
            raise NotFound(Refusal.PROJECT_WITHOUT_CATEGORIES(**asked))
        raise NotFound(Refusal.CATEGORY_NOT_OF_PROJECT(**asked, **some_of(choices)))
    return True


def confirm_people(tx: Transaction, tracker_user_ids: Collection[int]) -> bool:
    """Check tracker user ids against the cache.

    Returns:
        False if the cache is empty and confirms nothing.

    Raises:
        NotFound: naming the ids that a filled cache does not hold, and some that it does.
    """
    if not tx.people.cached_count():
        return False
    unknown = sorted({one for one in tracker_user_ids if not tx.people.is_cached(one)})
    if unknown:
        choices = [f"{one.tracker_user_id} ({one.login})" for one in tx.people.cached()]
        raise NotFound(Refusal.TRACKER_USERS_UNKNOWN(users=unknown, **some_of(choices)))
    return True


def unusable_defaults(tx: Transaction, config: PluginConfig) -> dict[str, Notice]:
    """Return why a default cannot be chosen any more, by its key; nothing if the cache is empty.

    Args:
        tx: the transaction.
        config: the plugin config.
    """
    chosen = {name: tracker_id for name in OF_SPEC if (tracker_id := getattr(config, name))}
    known = tx.metadata.of_kinds(*{OF_SPEC[name] for name in chosen}) if chosen else {}
    usable = {one.key for some in known.values() for one in some if one.details.get("active", True)}
    faults = {
        name: fault
        for name, tracker_id in chosen.items()
        if (OF_SPEC[name], tracker_id) not in usable
        and (fault := fault_of(confirm, tx, OF_SPEC[name], tracker_id))
    }
    if config.default_watcher_ids and (fault := fault_of(confirm_people, tx, config.default_watcher_ids)):
        faults["default_watcher_ids"] = fault
    return faults


def fault_of(check: Callable[..., object], *arguments: object) -> Notice | None:
    """Return why a check refuses, None if it does not."""
    try:
        check(*arguments)
    except NotFound as unknown:
        return unknown.notice
    return None


def some_of(choices: Sequence[object], most: int = MOST_NAMED) -> dict[str, Any]:
    """Return the parameters `choices`, the first of them, and `more`, how many others there are."""
    return {"choices": [str(one) for one in choices[:most]], "more": max(0, len(choices) - most) or None}


def _is_of_a_project(tx: Transaction, activity_id: int) -> bool:
    """Return whether a tracker project has an activity of its own with this id (if that was read)."""
    projects = tx.metadata.of_kind(MetadataKind.PROJECT)
    return any(activity_id in one.details.get("activity_ids", ()) for one in projects)
