"""The settings cache of a process: data that requests are built from, read again after any change (`Configs.basis`).

Each change is counted, and a claim that was built from an older version is invalid. Missing entries are not cached: a
new mapping or a newly matched person counts at once.

Memberships and seen users are not counted, so they may be outdated for `KEPT_S`. If a person is refused, their
membership is forgotten and ensured again. An e-mail address that another process has stored meanwhile is stored again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from shared.bodies.contexts import project_name
from shared.events.place import Place
from shared.events.snapshots import HelpdeskUser
from shared.store.configuration.mappings import ProjectMapping
from shared.store.configuration.matching import Match, who
from shared.store.configuration.people import Seen
from shared.store.configuration.templates import ActiveTemplate
from shared.store.transaction import Store, Transaction

KEPT_S = 60.0
"""The longest time, because memberships, seen users and role permissions change without being counted."""


@dataclass
class CachedSettings:
    """The cached data of one settings version; data that is not cached yet is read on demand.

    Args:
        basis: the settings version before any of the data was read; None: it is never reused.
        permissions: role id to the permissions of the tracker's role (`worker.ticket.rights`).
    """

    basis: int | None = None
    _read_at: float = field(default_factory=time.monotonic)
    _templates: Mapping[str, ActiveTemplate] | None = None
    _needed: tuple[tuple[int, ...], frozenset[int]] | None = None
    _mappings: dict[Place, ProjectMapping] = field(default_factory=dict)
    _people: dict[tuple[int, str | None], Match] = field(default_factory=dict)
    _project_names: dict[int, str] = field(default_factory=dict)
    _members: set[tuple[int, int]] = field(default_factory=set)
    _seen: dict[int, Seen] = field(default_factory=dict)
    permissions: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def is_old(self) -> bool:
        """Whether the data must be read again although no change was counted."""
        return time.monotonic() - self._read_at > KEPT_S

    def templates(self, tx: Transaction) -> Mapping[str, ActiveTemplate]:
        """Return the active templates, by operation."""
        if self._templates is None:
            self._templates = tx.templates.active()
        return self._templates

    def needed(self, tx: Transaction) -> tuple[tuple[int, ...], frozenset[int]]:
        """Return the tracker's administrators and statuses."""
        if self._needed is None:
            self._needed = tx.metadata.needed()
        return self._needed

    def project_name(self, store: Store, project_id: int) -> str | None:
        """Return the name of a tracker project, or None; if it is not cached, read it in a transaction of its own."""
        if project_id not in self._project_names:
            with store.transaction() as tx:
                name = project_name(tx, project_id)
            if name is None:
                return None
            self._project_names[project_id] = name
        return self._project_names[project_id]

    def note_seen(
        self, tx: Transaction, users: Iterable[HelpdeskUser], requesters: Collection[int] = ()
    ) -> None:
        """Store the help desk users that events name (`People.note_seen`), unless the cache has them."""
        tx.people.note_seen(users, self._seen, requesters)

    def members(
        self, tx: Transaction, projects: Collection[int], users: Collection[int]
    ) -> dict[tuple[int, int], bool]:
        """Return for each pair of tracker project and user whether the membership is known."""
        wanted = set(product(projects, users))
        if unknown := wanted - self._members:
            self._members |= tx.people.members({one for one, _ in unknown}, {one for _, one in unknown})
        return {one: one in self._members for one in wanted}

    def forget_member(self, project_id: int, user_id: int) -> None:
        """Forget a membership that the tracker's refusal made doubtful."""
        self._members.discard((project_id, user_id))

    def mappings(self, tx: Transaction, places: Collection[Place]) -> dict[Place, ProjectMapping | None]:
        """Return the project mapping of each place, or None."""
        if unknown := [one for one in places if one not in self._mappings]:
            found = tx.mappings.resolve_all(unknown)
            self._mappings |= {place: link for place, link in found.items() if link}
        return {one: self._mappings.get(one) for one in places}

    def people(
        self, tx: Transaction, users: Iterable[HelpdeskUser], *, administrators: bool
    ) -> dict[tuple[int, str | None], Match]:
        """Return the match of each help desk user on the tracker; new matches are pinned.

        Only matches that do not depend on this transaction's commit are cached: those that were pinned or confirmed
        before. If any match is new, none of this call is cached.
        """
        wanted = {who(user): user for user in users}
        unknown = [user for key, user in wanted.items() if key not in self._people]
        found = tx.people.pin_all(unknown, administrators=administrators)
        matched = {key: one for key, one in found.items() if one.person}
        if all(one.pinned or one.confirmed for one in matched.values()):
            self._people |= matched
        return {key: self._people.get(key) or found[key] for key in wanted}


class SettingsCache:
    """The cached data of the process, which is discarded once the settings version changes.

    Attributes:
        asked_addresses: e-mail addresses that the tracker was asked for, with the time by the monotonic clock.
    """

    def __init__(self) -> None:
        self._known = CachedSettings()
        self.asked_addresses: dict[str, float] = {}

    def as_of(self, basis: int | None) -> CachedSettings:
        """Return the cached data of a settings version; it is empty if the cache is too old or of another version."""
        known = self._known
        if basis is None or known.basis != basis or known.is_old:
            known = self._known = CachedSettings(basis)
        return known
