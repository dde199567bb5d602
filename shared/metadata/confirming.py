"""Confirms ids against the cache of the tracker's metadata; rejects an unknown one and names the choices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from shared.errors import NotFound
from shared.events.config import SETTINGS, PluginConfig
from shared.events.setting import Kind
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.metadata import MetadataKind
from shared.store.transaction import Transaction

MOST_NAMED = 10
CONFIRMED: Mapping[str, Kind] = {
    name: one.kind for name, one in SETTINGS.items() if one.kind and one.confirmed
}
"""The settings that accept only ids that exist in Redmine, with the kind of their ids."""
OF_A_CHECK_OF_ITS_OWN = ("status_map",)
"""Settings whose ids the doctor checks together with something else."""


def confirm(tx: Transaction, kind: MetadataKind, tracker_id: int) -> bool:
    """Confirm an id.

    Returns:
        False if the cache contains nothing of this kind and cannot confirm anything.

    Raises:
        NotFound: if the id is not one of the choices, which it names.
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


def confirm_mapping(tx: Transaction, mapping: ProjectMapping) -> bool:
    """Confirm that a project mapping names an active tracker project and a category of that project (SPEC 7).

    Returns:
        False if the cache is empty and cannot confirm anything.

    Raises:
        NotFound: if it does not; names the choices.
    """
    if not confirm(tx, MetadataKind.PROJECT, mapping.tracker_project_id):
        return False
    if mapping.default_category_id is None:
        return True
    choices = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=mapping.tracker_project_id)
    if mapping.default_category_id not in {one.tracker_id for one in choices}:
        asked = {"project_id": mapping.tracker_project_id, "category_id": mapping.default_category_id}
        if not choices:
            raise NotFound(Refusal.PROJECT_WITHOUT_CATEGORIES(**asked))
        raise NotFound(Refusal.CATEGORY_NOT_OF_PROJECT(**asked, **some_of(choices)))
    return True


def confirm_people(tx: Transaction, tracker_user_ids: Collection[int]) -> bool:
    """Confirm tracker user ids.

    Returns:
        False if the cache is empty and cannot confirm anything.

    Raises:
        NotFound: if the cache lacks some of the ids; names them, and some that it contains.
    """
    if not tx.people.cached_count():
        return False
    unknown = sorted({one for one in tracker_user_ids if not tx.people.is_cached(one)})
    if unknown:
        choices = [f"{one.tracker_user_id} ({one.login})" for one in tx.people.cached()]
        raise NotFound(Refusal.TRACKER_USERS_UNKNOWN(users=unknown, **some_of(choices)))
    return True


def confirm_setting(tx: Transaction, config: PluginConfig, name: str) -> bool:
    """Confirm the ids in a setting.

    Returns:
        False if the cache contains nothing of their kind and cannot confirm anything.

    Raises:
        NotFound: if an id is not one of the choices, which it names.
    """
    kind, ids = CONFIRMED[name], config.ids(name)
    if kind == "user":
        return confirm_people(tx, ids)
    return all(confirm(tx, MetadataKind(kind), tracker_id) for tracker_id in ids)


def unusable_defaults(tx: Transaction, config: PluginConfig) -> dict[str, Notice]:
    """Return the settings whose ids can no longer be used, with the reasons; empty if the cache is empty.

    Args:
        tx: the transaction.
        config: the Redmine settings.
    """
    held = {
        name: ids for name in CONFIRMED if name not in OF_A_CHECK_OF_ITS_OWN and (ids := config.ids(name))
    }
    kinds = {MetadataKind(kind) for name in held if (kind := CONFIRMED[name]) != "user"}
    known = tx.metadata.of_kinds(*kinds) if kinds else {}
    usable = {one.key for some in known.values() for one in some if one.details.get("active", True)}
    return {
        name: fault
        for name, ids in held.items()
        if not usable.issuperset((CONFIRMED[name], tracker_id) for tracker_id in ids)
        and (fault := fault_of(confirm_setting, tx, config, name))
    }


def fault_of(check: Callable[..., object], *arguments: object) -> Notice | None:
    """Return why a check fails, or None if it passes."""
    try:
        check(*arguments)
    except NotFound as unknown:
        return unknown.notice
    return None


def some_of(choices: Sequence[object], most: int = MOST_NAMED) -> dict[str, Any]:
    """Return the notice parameters `choices` (the first of them) and `more` (the number of the others)."""
    return {"choices": [str(one) for one in choices[:most]], "more": max(0, len(choices) - most) or None}


def _is_of_a_project(tx: Transaction, activity_id: int) -> bool:
    """Return whether a tracker project has its own activity with this id (if project activities were read)."""
    projects = tx.metadata.of_kind(MetadataKind.PROJECT)
    return any(activity_id in one.details.get("activity_ids", ()) for one in projects)
