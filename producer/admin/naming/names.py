"""Names instead of numbers, for pages, commands and the API; names are cached for a minute."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from threading import Lock
from typing import Any

from producer.admin.records.transaction import Store
from shared.events.config import SETTINGS
from shared.notices.naming import with_name
from shared.store.configuration.metadata import MetadataKind
from shared.store.transaction import DatabaseFailed

KEPT_S = 60.0
SOON_S = 15.0
"""How long the cache is used if it lacks a name."""

OF_FIELDS: Mapping[str, str] = {
    "project_id": "tracker_project",
    "tracker_project_id": "tracker_project",
    "parent_id": "tracker_project",
    "tracker_id": MetadataKind.ISSUE_TYPE,
    "status_id": MetadataKind.STATUS,
    "priority_id": MetadataKind.PRIORITY,
    "category_id": MetadataKind.CATEGORY,
    "default_category_id": MetadataKind.CATEGORY,
    "activity_id": MetadataKind.ACTIVITY,
    "assigned_to_id": "user",
    "user_id": "user",
    "tracker_user_id": "user",
    **{name: one.kind for name, one in SETTINGS.items() if one.kind},
}
"""The kind of item to which the numbers in fields of bodies, mappings and settings belong."""


class Names:
    """Finds the names of items that have a number in GLPI or Redmine.

    Args:
        store: the database with events and cached metadata.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._known: dict[str, dict[int, str]] = {}
        self._read_at = float("-inf")

    def name(self, kind: str, number: int) -> str | None:
        """Return the name of an item, or None if it is unknown.

        Args:
            kind: `person`, `entity` or `project` of GLPI; `user`, `tracker_project` or a `MetadataKind` of Redmine.
            number: its number.
        """
        with self._lock:
            age = time.monotonic() - self._read_at
            found = self._known.get(kind, {}).get(number)
            if age < (KEPT_S if found else SOON_S):
                return found
            try:
                with self._store.transaction() as tx:
                    self._known = tx.known_names.all()
            except DatabaseFailed:  # the page that reports this must still be shown
                return found
            self._read_at = time.monotonic()
            return self._known.get(kind, {}).get(number)

    def titles(self, ticket_ids: Collection[int]) -> dict[int, str]:
        """Return the titles of some tickets, as far as they are known."""
        if not ticket_ids:
            return {}
        with self._store.transaction() as tx:
            return tx.known_names.titles(ticket_ids)

    def numbered(self, kind: str, number: int | None) -> str | None:
        """Return a number followed by its name, or None if there is no number."""
        return None if number is None else str(with_name(number, self.name(kind, number)))

    def value(self, field: str, value: Any) -> Any:
        """Return the value of a field, with names added to the numbers that it holds.

        Args:
            field: a field of a body, a mapping or the settings.
            value: a number, a list of numbers, or a map to numbers; anything else is returned unchanged.
        """
        kind = OF_FIELDS.get(field)
        if kind is None or isinstance(value, (bool, str)) or value is None:
            return value
        if isinstance(value, int):
            return with_name(value, self.name(kind, value))
        if isinstance(value, Mapping):
            return {key: self.value(field, one) for key, one in value.items()}
        return [self.value(field, one) for one in value]
