"""Project mappings, and replays of what was skipped because a mapping was missing (SPEC section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from producer.admin.naming.names import Names
from producer.admin.presenters import shapes
from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError, NotFound
from shared.events.place import place_of
from shared.metadata.confirming import confirm_mapping
from shared.metadata.synchronisation import Connect
from shared.notices.changes import Did
from shared.notices.reasons import Reason
from shared.notices.refusals import Refusal
from shared.notices.steps import What
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.configuration.metadata import MetadataKind
from shared.store.journal.tickets import AT_ONCE
from shared.store.journal.trace import Step
from shared.tracker.lists import TrackerLists
from shared.tracker.projects import NEEDED_MODULES, ProjectNow, ProjectState, project_now

NOT_CACHED = {
    ProjectState.CLOSED: Refusal.PROJECT_CLOSED_NOW,
    ProjectState.ARCHIVED: Refusal.PROJECT_ARCHIVED_NOW,
    ProjectState.ACTIVE: Refusal.PROJECT_NOT_READ_YET,
}
OF_THE_CATEGORY = (
    Refusal.CATEGORY_NOT_OF_PROJECT,
    Refusal.PROJECT_WITHOUT_CATEGORIES,
    Refusal.CATEGORY_NOT_READ_YET,
)
"""Refusals that concern a mapping's category, not its tracker project."""


@dataclass(frozen=True, slots=True)
class MappingResult:
    """The result of adding a project mapping.

    Attributes:
        mapping: the mapping as it is now.
        before: the mapping that it replaced.
        tickets: tickets whose events were skipped, or whose status was dropped, because the mapping was missing.
        events: number of these events.
        replayed: whether they are sent now, so that the tickets must be notified.
        confirmed: whether the cached metadata has the tracker project; False if the cache is empty.
    """

    mapping: ProjectMapping
    before: ProjectMapping | None
    tickets: list[int] = field(default_factory=list)
    events: int = 0
    replayed: bool = False
    confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not sent because a mapping was missing.

    Attributes:
        tickets: tickets with skipped events, or with a dropped status.
        events: number of these events.
        oldest: when the first of these events occurred.
    """

    tickets: list[int]
    events: int
    oldest: datetime | None


def skipped_for(store: Store, kind: MappingKind, helpdesk_id: int) -> Skipped:
    """Return what was not sent because the mapping of a help desk project or entity was missing."""
    with store.transaction() as tx:
        return _skipped(tx, kind, helpdesk_id)


def _skipped(tx: Transaction, kind: MappingKind, helpdesk_id: int) -> Skipped:
    skipped = [
        one for one in tx.journal.skipped_tickets(Reason.NO_LINK) if _belongs(one.snapshot, kind, helpdesk_id)
    ]
    # a status may have been dropped without an event, if its own had ended before
    dropped = [
        ticket_id
        for ticket_id, snapshot in tx.statuses.dropped_for(Reason.NO_LINK)
        if _belongs(snapshot, kind, helpdesk_id)
    ]
    return Skipped(
        sorted({*(one.ticket_id for one in skipped), *dropped}),
        sum(one.events for one in skipped),
        min((one.oldest for one in skipped), default=None),
    )


def all_mappings(store: Store) -> Sequence[ProjectMapping]:
    """Return every project mapping, those of help desk projects first."""
    with store.transaction() as tx:
        return tx.mappings.all()


@dataclass(frozen=True, slots=True)
class NamedMappings:
    """Mappings of one kind, with the names of their tracker projects and categories by id."""

    mappings: list[ProjectMapping]
    projects: dict[int, str]
    categories: dict[int, str]


def named_mappings(store: Store, kind: MappingKind) -> NamedMappings:
    """Return the mappings of help desk projects, or of entities, with names."""
    with store.transaction() as tx:
        found = [one for one in tx.mappings.all() if one.kind is kind]
        project_ids = {one.tracker_project_id for one in found}
        category_ids = {one.default_category_id for one in found}
        names = tx.metadata.names_of({MetadataKind.PROJECT: project_ids, MetadataKind.CATEGORY: category_ids})
        return NamedMappings(found, names[MetadataKind.PROJECT], names[MetadataKind.CATEGORY])


def find_mapping(store: Store, kind: MappingKind, helpdesk_id: int) -> ProjectMapping | None:
    """Return the mapping of a help desk project or entity, or None."""
    with store.transaction() as tx:
        return tx.mappings.get(kind, helpdesk_id)


def named_mapping(names: Names, mapping: ProjectMapping) -> shapes.LinkNamed:
    """Return a mapping with the names that are known."""
    project = names.name("tracker_project", mapping.tracker_project_id)
    return shapes.LinkNamed.of(
        mapping, name=names.name(str(mapping.kind), mapping.helpdesk_id), project=project
    )


def mapping_with_project(store: Store, names: Names, kind: MappingKind, helpdesk_id: int) -> shapes.LinkShown:
    """Return the mapping of a help desk project or entity, with the tracker project's name and address if known.

    Raises:
        NotFound: if there is no such mapping.
    """
    with store.transaction() as tx:
        mapping = _existing(tx, kind, helpdesk_id)
        project = tx.metadata.get(MetadataKind.PROJECT, mapping.tracker_project_id)
        base_url = tx.configs.get()[0].base_url
    url = f"{base_url}/projects/{mapping.tracker_project_id}" if base_url else None
    return shapes.LinkShown.of(
        mapping,
        name=names.name(str(kind), helpdesk_id),
        project=project.name if project else None,
        url=url,
    )


def add_mapping(
    store: Store,
    mapping: ProjectMapping,
    *,
    replay: bool,
    keep_category: bool = False,
    connect: Connect | None = None,
) -> MappingResult:
    """Create or replace a project mapping.

    Args:
        store: the database.
        mapping: the mapping.
        keep_category: keep the category of the previous mapping if the tracker project is the same.
        replay: make events pending, and statuses due, that were skipped or dropped because the mapping was missing.
        connect: returns the tracker, to query the state of a project that is not cached.

    Raises:
        NotFound: if the tracker project is unknown or not active, or the category does not belong to it.
    """
    try:
        with store.transaction() as tx:
            made = put_mapping(tx, mapping, keep_category=keep_category)
    except NotFound as unknown:
        now = _now(connect, mapping.tracker_project_id) if connect else None
        category_id = unknown.notice.params.get("category_id", mapping.default_category_id)  # it may be kept
        if now is None or not _is_newer(now, category_id):
            raise
        if now.state is ProjectState.ACTIVE and unknown.notice.code in OF_THE_CATEGORY:
            newer = Refusal.CATEGORY_NOT_READ_YET(category_id=category_id, **now.named)
        else:
            newer = NOT_CACHED[now.state](**now.named)
        raise NotFound(newer) from None
    return replay_waiting(store, made, replay=replay)


def _is_newer(now: ProjectNow, category_id: int | None) -> bool:
    """Return whether the tracker's state differs from the cache."""
    if now.state is not ProjectState.ACTIVE:
        return now.state is not ProjectState.ABSENT
    return category_id is None or category_id in (now.categories or {})


def _now(connect: Connect, project_id: int) -> ProjectNow | None:
    """Return a project's current state, or None if unreadable: an uncached one may be closed, archived or new."""
    try:
        _, client = connect()
        lists = TrackerLists(client)
        project = project_now(lists.get, project_id)
        lists.check_access()
    except BridgeError:
        return None
    return project


def lacking_modules(connect: Connect, project_id: int) -> list[str]:
    """Return the modules for issues and time entries that a tracker project lacks; none if it cannot be queried.

    Args:
        connect: returns the tracker.
        project_id: the tracker project.
    """
    project = _now(connect, project_id)
    enabled = project.modules if project else None
    return [] if enabled is None else [one for one in NEEDED_MODULES if one not in enabled]


def put_mapping(tx: Transaction, mapping: ProjectMapping, *, keep_category: bool = False) -> MappingResult:
    """Create or replace a mapping within a transaction, as `add_mapping`; after the commit, call `replay_waiting`."""
    tx.configs.lock_exclusive()
    before = tx.mappings.get(mapping.kind, mapping.helpdesk_id)
    if keep_category and before and before.tracker_project_id == mapping.tracker_project_id:
        mapping = replace(mapping, default_category_id=before.default_category_id)
    confirmed = confirm_mapping(tx, mapping)
    tx.mappings.put(mapping)
    if mapping != before:
        did = Did.LINK_CHANGED(
            kind=mapping.kind, id=mapping.helpdesk_id, tracker_project_id=mapping.tracker_project_id
        )
        tx.changes.note(did, before=_noted(before) if before else None, after=_noted(mapping))
    return MappingResult(mapping, before, confirmed=confirmed)


def replay_waiting(store: Store, made: MappingResult, *, replay: bool) -> MappingResult:
    """Return the result of a mapping with the events and statuses that waited for it; replay them if requested.

    Each batch has its own transaction, which may take long: nothing is decided by the old mappings any more.

    Args:
        store: the database.
        made: the result of `put_mapping`, after its commit.
        replay: as `add_mapping`.
    """
    mapping = made.mapping
    with store.transaction() as tx:
        skipped = _skipped(tx, mapping.kind, mapping.helpdesk_id)
        tickets, events = skipped.tickets, skipped.events
        if replay and events:
            tx.changes.note(Did.EVENTS_REPLAYED(count=events, which=mapping.notice))
    for start in range(0, len(tickets) if replay else 0, AT_ONCE):
        with store.transaction() as tx:
            _replay(tx, tickets[start : start + AT_ONCE], mapping)
    return replace(made, tickets=tickets, events=events, replayed=replay and bool(tickets))


def remove_mapping(store: Store, kind: MappingKind, helpdesk_id: int) -> ProjectMapping:
    """Remove a mapping; nothing more is sent for the tickets that depend on it.

    Returns:
        The removed mapping.

    Raises:
        NotFound: if there is no such mapping.
    """
    with store.transaction() as tx:
        mapping = _existing(tx, kind, helpdesk_id)
        tx.mappings.remove(kind, helpdesk_id)
        tx.changes.note(Did.LINK_REMOVED(kind=kind, id=helpdesk_id), before=_noted(mapping))
    return mapping


def _existing(tx: Transaction, kind: MappingKind, helpdesk_id: int) -> ProjectMapping:
    """Return a mapping, or raise NotFound."""
    mapping = tx.mappings.get(kind, helpdesk_id)
    if mapping is None:
        raise NotFound(Refusal.LINK_UNKNOWN(kind=str(kind), id=helpdesk_id))
    return mapping


def _noted(mapping: ProjectMapping) -> dict[str, Any]:
    """Return a mapping as the audit log stores it."""
    return shapes.Link.of(mapping).model_dump()


def _belongs(snapshot: Mapping[str, Any], kind: MappingKind, helpdesk_id: int) -> bool:
    place = place_of(snapshot)
    return helpdesk_id in (place.project_ids if kind is MappingKind.PROJECT else (place.entity_id,))


def _replay(tx: Transaction, tickets: list[int], mapping: ProjectMapping) -> None:
    tx.journal.replay_skipped(tickets, Reason.NO_LINK, Reason.LINK_WAS_MADE())
    tx.statuses.give(tickets)  # the status was dropped, too, even if its own event had ended before
    what = What.REPLAYED_FOR_LINK(link=mapping.notice, tracker_project_id=mapping.tracker_project_id)
    tx.trace.append([Step(ticket_id, what) for ticket_id in tickets])
