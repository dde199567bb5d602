"""The part of the metadata cache against which payloads are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from shared.notices.faults import Detail
from shared.notices.notice import Notice
from shared.notices.render import article, sentence
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.transaction import Transaction
from shared.tracker.projects import ProjectNow

Entries = Mapping[int, Entry]
EVERYWHERE = [kind for kind in MetadataKind if kind is not MetadataKind.CATEGORY]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One explanation of a refusal.

    Attributes:
        field: the path in the payload, such as `issue.category_id`; empty for the payload as a whole.
        why: what is wrong, and what would be right.
        checked: whether it was verified; otherwise it is one of several possible reasons.
    """

    field: str
    why: Notice
    checked: bool = True

    @property
    def record(self) -> str:
        """The knowledge article about it."""
        return article(self.why.code)

    @property
    def notice(self) -> Notice:
        """The explanation as a notice, with its path and article."""
        return Detail.EXPLAINED_BY(field=self.field or None, problem=self.why, record=self.record)

    def __str__(self) -> str:
        return sentence(self.notice)


@dataclass(frozen=True, slots=True)
class KnownMetadata:
    """The cache, for one project. An empty part neither confirms nor denies anything.

    Attributes:
        tracker_project_id: the project that the payload is for; None for a new one.
        projects: the active ones; closed and archived ones are not in the cache.
        issue_types, statuses, priorities, activities, roles: all that the tracker has.
        categories: those of the project.
        custom_fields: those of issues, time entries and projects.
        users: active users, id to login.
        project_now: the project's current state, or None if it was not read.
        is_issue_closed: whether the issue of a time entry is closed, or None if it was not read.
        today: the current day in UTC.
    """

    tracker_project_id: int | None = None
    projects: Entries = field(default_factory=dict)
    issue_types: Entries = field(default_factory=dict)
    statuses: Entries = field(default_factory=dict)
    priorities: Entries = field(default_factory=dict)
    activities: Entries = field(default_factory=dict)
    roles: Entries = field(default_factory=dict)
    categories: Entries = field(default_factory=dict)
    custom_fields: Entries = field(default_factory=dict)
    users: Mapping[int, str] = field(default_factory=dict)
    project_now: ProjectNow | None = None
    is_issue_closed: bool | None = None
    today: date | None = None


def known_of(tx: Transaction, tracker_project_id: int | None) -> KnownMetadata:
    """Return the cache for a payload.

    Args:
        tx: an open transaction.
        tracker_project_id: the project that a payload is for; None if it is not about one.
    """
    found = {
        kind: {one.tracker_id: one for one in entries}
        for kind, entries in tx.metadata.of_kinds(*EVERYWHERE).items()
    }
    categories: Entries = {}
    if tracker_project_id is not None:
        own = tx.metadata.of_kind(MetadataKind.CATEGORY, tracker_project_id=tracker_project_id)
        categories = {one.tracker_id: one for one in own}
    return KnownMetadata(
        tracker_project_id=tracker_project_id,
        projects=found[MetadataKind.PROJECT],
        issue_types=found[MetadataKind.ISSUE_TYPE],
        statuses=found[MetadataKind.STATUS],
        priorities=found[MetadataKind.PRIORITY],
        activities=found[MetadataKind.ACTIVITY],
        roles=found[MetadataKind.ROLE],
        categories=categories,
        custom_fields=found[MetadataKind.CUSTOM_FIELD],
        users=tx.people.logins(),
        today=tx.now().date(),
    )
