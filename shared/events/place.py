"""A ticket's place in the help desk: its projects and its entity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A ticket's projects and entity in the help desk, which select the tracker project.

    Attributes:
        project_ids: the help desk projects; the first mapped one selects the tracker project.
        entity_id: selects the tracker project if no help desk project is mapped.
    """

    project_ids: tuple[int, ...]
    entity_id: int

    def __str__(self) -> str:
        return f"{','.join(map(str, self.project_ids))}/{self.entity_id}"


def place_of(snapshot: Mapping[str, Any]) -> Place:
    """Return the place in a ticket's snapshot."""
    projects = (snapshot.get("project_id"), *(snapshot.get("other_project_ids") or ()))
    return Place(tuple(dict.fromkeys(one for one in projects if one)), snapshot.get("entity_id") or 0)
